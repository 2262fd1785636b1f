//! The members that a change affects.

use std::fmt;
use std::sync::Arc;

use fleet_accumulator::{Tracked, View};
use fleet_api::ObjectName;
use fleet_api::names::{member_namespace, member_of_namespace};
use fleet_model::changes::each_touched;
use fleet_model::objects::traffic::FleetTraffic;
use fleet_plan::Affected;

use crate::snapshot::HubSnapshot;

/// A member, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member(pub Arc<str>);

impl Member {
    /// The member that a namespace belongs to.
    pub fn of_namespace(namespace: &str) -> Option<Self> {
        member_of_namespace(namespace).map(|name| Self(name.into()))
    }

    /// The member's namespace on the hub.
    pub fn namespace(&self) -> String {
        member_namespace(&self.0)
    }

    /// Name of the member's `MemberCluster`.
    pub fn cluster(&self) -> ObjectName {
        ObjectName::cluster(Arc::clone(&self.0))
    }

    /// Name of the member's `InternalMemberCluster` and of its `ClusterReport`.
    pub fn internal(&self) -> ObjectName {
        ObjectName::new(self.namespace(), Arc::clone(&self.0))
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Adds the members whose plan may differ.
pub(super) fn affected(old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Member>) {
    each_touched(&old.member_clusters, &new.member_clusters, |cluster| {
        keys.add(Member(Arc::clone(&cluster.name.name)));
    });
    // Deletion timestamps count only in a live view, and so do heartbeats.
    if becomes_live(&old.member_clusters, &new.member_clusters)
        || becomes_live(&old.internal_members, &new.internal_members)
    {
        let leaving = new.member_clusters.iter().filter(|cluster| cluster.deleted.is_some());
        leaving.for_each(|cluster| keys.add(Member(Arc::clone(&cluster.name.name))));
    }
    each_touched(&old.internal_members, &new.internal_members, |member| {
        if let Some(member) = Member::of_namespace(&member.name.namespace) {
            keys.add(member);
        }
    });
    each_touched(&old.cluster_reports, &new.cluster_reports, |report| {
        // Members that state to be one cluster are reported to each other.
        let same = new.cluster_reports.by(&report.cluster_uid).map(|other| &other.name);
        for name in same.chain([&report.name]) {
            if let Some(member) = Member::of_namespace(&name.namespace) {
                keys.add(member);
            }
        }
    });
    // The epoch is part of what members are answered.
    let epoch = |snapshot: &HubSnapshot| {
        FleetTraffic::of(&snapshot.fleet_traffics).map(|fleet| fleet.status.epoch)
    };
    if epoch(old) != epoch(new) {
        let reports = new.cluster_reports.iter();
        let members = reports.filter_map(|report| Member::of_namespace(&report.name.namespace));
        members.for_each(|member| keys.add(member));
    }
    each_touched(&old.member_policies, &new.member_policies, |policy| {
        if let Some(member) = Member::of_namespace(&policy.name.namespace) {
            keys.add(member);
        }
    });
    // Copies of slices change often; only those of members that leave matter.
    let leaves = |member: &Member| {
        let cluster = new.member_clusters.get(&member.cluster());
        cluster.is_some_and(|cluster| cluster.deleted.is_some())
    };
    each_touched(&old.slice_imports, &new.slice_imports, |copy| {
        if let Some(member) = Member::of_namespace(&copy.name.namespace).filter(leaves) {
            keys.add(member);
        }
    });
}

fn becomes_live<T: Tracked>(old: &View<T>, new: &View<T>) -> bool {
    !old.state().is_live() && new.state().is_live()
}
