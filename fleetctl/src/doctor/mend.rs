//! Commands that mend what was found.

use std::fmt::Write as _;

use fleet_api::names::SYSTEM_NAMESPACE;

use super::seen::{Base, Hub, Install, Kind};
use crate::shell::quoted;

/// The chart of the member agent.
pub(super) const MEMBER_CHART: &str = "member-agent";
/// The chart of the hub agent.
pub(super) const HUB_CHART: &str = "hub-agent";

/// The command that gives a release of a chart these values; without any it brings the release to the chart's version. A release
/// that is not known is taken to be named as the documentation names it.
pub(super) fn helm(chart: &str, context: &str, base: &Base, values: &[&str]) -> String {
    let install = of_chart(base);
    let release = install.map_or(chart, |it| &it.release);
    let namespace = install.map_or(SYSTEM_NAMESPACE, |it| &it.namespace);
    let mut command = format!(
        "helm upgrade {} charts/{chart} --kube-context {} -n {} --reset-then-reuse-values",
        quoted(release),
        quoted(context),
        quoted(namespace)
    );
    for value in values {
        let _ = write!(command, " --set {}", quoted(value));
    }
    command
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
pub(super) fn hub_helm(hub: &Hub, values: &[&str]) -> String {
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
            hub_helm(world.seen.hub.as_ref().unwrap(), &["multicluster.mode=on"])
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
}
