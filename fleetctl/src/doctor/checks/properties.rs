//! The names of a cluster and of its clusterset, in its ClusterProperties.

use fleet_api::multicluster::standard::{CLUSTER_ID, CLUSTERSET_ID};

use crate::doctor::finding::{Finding, Outcome, known};
use crate::doctor::subject::Subject;

/// Whether the properties have the values that the fleet knows.
pub(super) fn values(member: &Subject<'_>) -> Outcome {
    let properties = known(&member.own.properties)?;
    let value = |name: &str| properties.iter().find(|it| it.name == name).map(|it| &*it.value);
    let mut findings = Vec::new();
    if let Some(id) = value(CLUSTER_ID).filter(|id| *id != member.name) {
        let name = member.name;
        let what = format!(
            "the ClusterProperty {CLUSTER_ID} has the value {id:?}, and the hub knows the cluster as {name}: the agent exports and \
             imports nothing new, since names would lead to another cluster"
        );
        let advice = format!(
            "if no other program needs the value: {} delete clusterproperty {CLUSTER_ID}; the agent creates it again",
            member.kubectl()
        );
        findings.push(Finding::failure(what, advice));
    }
    let Some(report) = member.report()? else { return Ok(findings) };
    let clusterset = report.clusterset_id.as_deref();
    let other =
        value(CLUSTERSET_ID).zip(clusterset).filter(|(value, clusterset)| value != clusterset);
    if let Some((value, clusterset)) = other {
        let what = format!(
            "the ClusterProperty {CLUSTERSET_ID} has the value {value:?}, and the hub's clusterset is {clusterset:?}"
        );
        let advice = format!(
            "if no other program needs the value: {} delete clusterproperty {CLUSTERSET_ID}; the agent creates it again",
            member.kubectl()
        );
        findings.push(Finding::failure(what, advice));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{levels, sound, unread};

    #[test]
    fn another_name_stops_the_agent() {
        let mut world = sound();
        assert_eq!(world.examine(values), []);
        world.own().properties.as_mut().unwrap()[0].value = "paris".to_owned();
        let found = world.examine(values);
        assert_eq!(levels(&found), ["failure"]);
        assert!(
            found[0].what.contains("\"paris\", and the hub knows the cluster as west"),
            "{found:?}"
        );
    }

    #[test]
    fn another_clusterset_is_a_failure() {
        let mut world = sound();
        world.own().properties.as_mut().unwrap()[1].value = "old".to_owned();
        let found = world.examine(values);
        assert_eq!(levels(&found), ["failure"]);
        assert!(
            found[0].what.contains("\"old\", and the hub's clusterset is \"fleet\""),
            "{found:?}"
        );
        world.report().clusterset_id = None;
        assert_eq!(world.examine(values), [], "the hub names none");
    }

    #[test]
    fn properties_that_are_not_there_yet_are_no_fault() {
        let mut world = sound();
        world.own().properties = Ok(Vec::new());
        assert_eq!(world.examine(values), []);
        world.own().properties = Err(unread());
        assert_eq!(world.try_examine(values), Err(unread()));
    }
}
