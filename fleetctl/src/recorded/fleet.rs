//! The objects of all clusters of a fleet at one moment.

use std::collections::BTreeMap;

use fleet_accumulator::{ClusterId, Snapshot as _};
use jiff::Timestamp;

use super::cluster::ClusterObjects;
use super::views::OfCluster;
use crate::picture::{Own, Picture};
use crate::reach::snapshot::ReachSnapshot;

/// The objects of all clusters at one moment. A clone shares the texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetObjects {
    /// When they were read.
    pub at: Timestamp,
    /// Context of the hub, for the commands that are proposed.
    pub hub_context: Option<String>,
    /// The hub.
    pub hub: ClusterObjects,
    /// The members that are known by name.
    pub members: BTreeMap<String, MemberObjects>,
}

/// The objects of a member's own cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberObjects {
    /// Context of its cluster.
    pub context: Option<String>,
    /// Why its cluster could not be read.
    pub unseen: Option<String>,
    /// Whether it serves ServiceImports in the version that CoreDNS reads; `None` if that is not known.
    pub names_served: Option<bool>,
    /// Its objects.
    pub objects: ClusterObjects,
}

impl FleetObjects {
    /// Nothing yet.
    pub fn new(at: Timestamp) -> Self {
        let (hub, members) = (ClusterObjects::default(), BTreeMap::new());
        Self { at, hub_context: None, hub, members }
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        let members = self.members.values().map(|member| member.objects.len());
        self.hub.len() + members.sum::<usize>()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What all commands that only read make of it.
    pub fn picture(&self) -> Picture {
        let hub = hub_agent::snapshot::HubSnapshot::of(&OfCluster::new(&self.hub, ClusterId::Hub));
        let own = self.members.iter().map(|(name, member)| {
            let views = OfCluster::new(&member.objects, ClusterId::Local);
            let seen = match &member.unseen {
                None => Ok(member_agent::snapshot::MemberSnapshot::of(&views)),
                Some(reason) => Err(reason.clone()),
            };
            let (context, names_served) = (member.context.clone(), member.names_served);
            (name.clone(), Own { context, seen, names_served })
        });
        let picture = Picture::new(self.at, hub, own.collect());
        let reach = ReachSnapshot::of(&OfCluster::new(&self.hub, ClusterId::Hub)).reach_reports;
        Picture { hub_context: self.hub_context.clone(), reach, ..picture }
    }
}
