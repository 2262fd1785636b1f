//! Commands that mend what was found.

use std::fmt::Write as _;

use fleet_api::names::SYSTEM_NAMESPACE;

use super::seen::{Base, Hub, Install, Kind};
use crate::shell::quoted;

/// The chart of the member agent.
pub(super) const MEMBER_CHART: &str = "member-agent";
/// The chart of the hub agent.
pub(super) const HUB_CHART: &str = "hub-agent";

/// The release of this program, of which the charts beside it are, too.
pub(super) const RELEASE: &str = env!("CARGO_PKG_VERSION");
/// Where the charts of a checkout have their images from.
const REPOSITORY: &str = "localhost/fleet-networking";

/// The command that gives a release of a chart these values; without any it brings the release to the chart's version. A release
/// that is not known is taken to be named as the documentation names it.
///
/// # Errors
/// What to do instead where that would take a newer release back: its rights and policies go in another order then, and some of what it
/// does has to be switched off first.
pub(super) fn helm(
    chart: &str,
    context: &str,
    base: &Base,
    values: &[&str],
) -> Result<String, String> {
    let install = of_chart(base);
    if let Some(newer) = install.filter(|it| is_newer(&it.version)) {
        return Err(format!(
            "examine this fleet with the fleetctl of release {}, which is installed here: this one knows less",
            newer.version
        ));
    }
    let release = install.map_or(chart, |it| &it.release);
    let namespace = install.map_or(SYSTEM_NAMESPACE, |it| &it.namespace);
    let mut command = format!(
        "helm upgrade {} charts/{chart} --kube-context {} -n {} --reset-then-reuse-values",
        quoted(release),
        quoted(context),
        quoted(namespace)
    );
    // Charts that were published have a repository of their own, which those of the checkout do not know.
    let usual = format!("{REPOSITORY}/{chart}");
    let other = install.and_then(|it| it.repository.as_ref()).filter(|it| **it != usual);
    let image = other.map(|repository| format!("image.repository={repository}"));
    for value in values.iter().copied().chain(image.as_deref()) {
        let _ = write!(command, " --set {}", quoted(value));
    }
    Ok(command)
}

/// Whether a release of this project is newer than this program.
pub(super) fn is_newer(version: &str) -> bool {
    let numbers = |version: &str| {
        let core = version.split(['-', '+']).next().unwrap_or_default();
        let numbers: Result<Vec<u64>, _> = core.split('.').map(str::parse).collect();
        numbers.ok()
    };
    // One that cannot be read is not.
    numbers(version).zip(numbers(RELEASE)).is_some_and(|(there, here)| there > here)
}

fn of_chart(base: &Base) -> Option<&Install> {
    base.install.as_ref().ok().and_then(Option::as_ref).filter(|it| it.is_of_chart)
}

/// Whether the release of the agent has installed a definition. Another one is taken over only by who has decided it.
pub(super) fn owns(base: &Base, kind: &Kind) -> bool {
    let own = of_chart(base).map(|install| format!("{}/{}", install.namespace, install.release));
    own.is_some() && own == kind.owner
}

/// The command that gives the chart of the hub agent these values.
///
/// # Errors
/// As [`helm`].
pub(super) fn hub_helm(hub: &Hub, values: &[&str]) -> Result<String, String> {
    helm(HUB_CHART, &hub.context, &hub.base, values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::sound;

    #[test]
    fn a_release_is_named_as_it_is_installed() {
        let mut world = sound();
        let command = |world: &crate::doctor::testing::World| {
            hub_helm(world.seen.hub.as_ref().unwrap(), &["multicluster.mode=on"]).unwrap()
        };
        assert_eq!(
            command(&world),
            "helm upgrade hub-agent charts/hub-agent --kube-context hub -n fleet-system \
             --reset-then-reuse-values --set multicluster.mode=on"
        );
        let install = Install {
            release: "my hub".to_owned(),
            namespace: "net".to_owned(),
            is_of_chart: true,
            ..Install::default()
        };
        world.hub().base.install = Ok(Some(install));
        assert!(command(&world).starts_with("helm upgrade 'my hub' charts/hub-agent"));
        assert!(command(&world).contains("-n net "));
    }

    #[test]
    fn the_charts_of_a_checkout_have_their_images_from_there() {
        let hub = include_str!("../../../charts/hub-agent/values.yaml");
        let member = include_str!("../../../charts/member-agent/values.yaml");
        for (chart, values) in [(HUB_CHART, hub), (MEMBER_CHART, member)] {
            assert!(values.contains(&format!("\n  repository: {REPOSITORY}/{chart}\n")), "{chart}");
        }
    }

    #[test]
    fn an_image_from_elsewhere_stays_from_there() {
        let mut world = sound();
        for (repository, expected) in [
            (None, ""),
            (Some("localhost/fleet-networking/hub-agent"), ""),
            (Some("registry:5000/hub-agent"), " --set image.repository=registry:5000/hub-agent"),
        ] {
            let install = world.hub().base.install.as_mut().unwrap().as_mut().unwrap();
            install.repository = repository.map(str::to_owned);
            let command = hub_helm(world.seen.hub.as_ref().unwrap(), &["a=b"]).unwrap();
            let (_, values) = command.split_once(" --set a=b").unwrap();
            assert_eq!(values, expected);
        }
    }

    #[test]
    fn no_command_takes_a_newer_release_back() {
        let mut world = sound();
        for (version, is_newer) in [
            ("999.0.0", true),
            ("999.0.0-rc.1", true),
            (RELEASE, false),
            ("0.0.9", false),
            ("", false),
        ] {
            let install = world.hub().base.install.as_mut().unwrap().as_mut().unwrap();
            install.version = version.to_owned();
            let command = hub_helm(world.seen.hub.as_ref().unwrap(), &[]);
            assert_eq!(command.is_err(), is_newer, "{version}");
            let advice = command.err().unwrap_or_default();
            assert_eq!(advice.contains(&format!("release {version},")), is_newer, "{advice}");
        }
    }
}
