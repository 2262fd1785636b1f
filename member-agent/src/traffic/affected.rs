//! The Services that a change of policies, drains, verdicts or zones concerns.

use std::collections::BTreeSet;

use fleet_api::ObjectName;
use fleet_api::traffic::FleetTrafficSpec;
use fleet_model::changes::each_touched;
use fleet_model::objects::traffic::FleetTraffic;
use fleet_traffic::Properties;

use super::ground::{is_known, zones};
use crate::executing::Executing;
use crate::settings::Settings;
use crate::snapshot::MemberSnapshot;

/// What a change concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Concerned {
    /// Every Service.
    All,
    /// These Services, and those that these clusters export or run endpoints of.
    Some {
        /// Services.
        services: BTreeSet<ObjectName>,
        /// Clusters.
        clusters: BTreeSet<String>,
    },
}

/// What the difference of two snapshots concerns.
pub(crate) fn concerned(
    settings: &Settings,
    old: &MemberSnapshot,
    new: &MemberSnapshot,
) -> Concerned {
    let nothing = Concerned::Some { services: BTreeSet::new(), clusters: BTreeSet::new() };
    if !settings.traffic.enabled {
        return nothing;
    }
    if concerns_all(settings, old, new) {
        return Concerned::All;
    }
    let (mut services, mut clusters) = (BTreeSet::new(), BTreeSet::new());
    each_touched(&old.service_traffics, &new.service_traffics, |policy| {
        services.insert(policy.name.clone());
    });
    each_touched(&old.hub_service_traffics, &new.hub_service_traffics, |policy| {
        services.insert(policy.name.clone());
    });
    each_touched(&old.member_traffics, &new.member_traffics, |member| {
        clusters.insert(member.name.name.to_string());
    });
    let own = &settings.identity.cluster;
    // The properties of this cluster stand in the selectors of all.
    if clusters.contains(own) && properties(own, old) != properties(own, new) {
        return Concerned::All;
    }
    Concerned::Some { services, clusters }
}

fn concerns_all(settings: &Settings, old: &MemberSnapshot, new: &MemberSnapshot) -> bool {
    let [before, now] = [old, new].map(|snapshot| Executing::of(settings, snapshot));
    let mut has_other_nodes = false;
    each_touched(&old.nodes, &new.nodes, |_| has_other_nodes = true);
    is_known(old) != is_known(new)
        || fleet(old) != fleet(new)
        || before != now
        || (has_other_nodes && zones(&before, old) != zones(&now, new))
}

fn fleet(snapshot: &MemberSnapshot) -> Option<&FleetTrafficSpec> {
    FleetTraffic::of(&snapshot.fleet_traffics).map(|fleet| &fleet.object.spec)
}

fn properties<'a>(cluster: &str, snapshot: &'a MemberSnapshot) -> Option<&'a Properties> {
    let member = snapshot.member_traffics.get(&ObjectName::cluster(cluster))?;
    Some(&member.object.status.properties)
}
