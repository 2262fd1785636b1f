//! The state of all clusters of a fleet at one moment: the input of all commands that only read. Pure.

use std::collections::{BTreeMap, BTreeSet};

use fleet_accumulator::{Object, Snapshot as _, Tracked, View};
use fleet_api::{annotations, labels, names};
use fleet_model::objects::EndpointSliceExport;
use fleet_model::objects::multicluster::{FleetSlice, ReachReport, ResolvedService};
use hub_agent::snapshot::HubSnapshot;
use jiff::Timestamp;
use member_agent::snapshot::MemberSnapshot;
use member_agent::{Multicluster, ReservedAddresses};

use crate::{denied, limits, modes, reserved};

/// A fleet as its agents would see it.
#[derive(Clone, Debug)]
pub struct Picture {
    /// When it was taken.
    pub now: Timestamp,
    /// Until when the hub has answered: what members write there was that old then, and is not seen to get older.
    pub heard: Timestamp,
    /// Context of the hub, for the commands that are proposed.
    pub hub_context: Option<String>,
    /// The hub agent's settings, as far as the hub's objects show them.
    pub settings: hub_agent::Settings,
    /// The hub.
    pub hub: HubSnapshot,
    /// The members, by name.
    pub members: BTreeMap<String, Member>,
    /// What members have reported to reach of what they import.
    pub reach: View<ReachReport>,
    /// What agents have recently reported to block them, by cluster (`hub` or the member).
    pub blocked: BTreeMap<String, String>,
}

/// One member of a fleet.
#[derive(Clone, Debug)]
pub struct Member {
    /// Context of its cluster.
    pub context: Option<String>,
    /// The member agent's settings, as far as objects show them.
    pub settings: member_agent::Settings,
    /// Its cluster, and its namespace on the hub.
    pub snapshot: MemberSnapshot,
    /// Why its cluster could not be read, in which case the snapshot shows the hub alone.
    pub blind: Option<String>,
    /// Whether its API server serves ServiceImports in the version that CoreDNS reads; `None` if that is not known.
    pub names_served: Option<bool>,
}

/// What is known of a member's own cluster.
#[derive(Clone, Debug)]
pub struct Own {
    /// Its context.
    pub context: Option<String>,
    /// What it showed, or why it showed nothing.
    pub seen: Result<MemberSnapshot, String>,
    /// Whether it serves ServiceImports in the version that CoreDNS reads; `None` if that is not known.
    pub names_served: Option<bool>,
}

impl Picture {
    /// Combines what the hub and the members' own clusters showed.
    pub fn new(now: Timestamp, hub: HubSnapshot, own: BTreeMap<String, Own>) -> Self {
        let held =
            |meta: &fleet_accumulator::Meta| meta.annotation(annotations::IMPORT_HELD_BY).is_some();
        let settings = hub_agent::Settings {
            // No object shows the flag, but requests that wait for another importer do.
            exclusive_imports: hub.internal_imports.iter().any(|request| held(&request.meta)),
            denied_namespaces: denied::by_hub(&hub),
            ..modes::by_hub(&hub, limits::by_hub(&hub))
        };
        let mut own = own;
        let shared = Shared::of(&hub);
        let known = members_on(&hub).chain(own.keys().cloned()).collect::<BTreeSet<_>>();
        let members = known.into_iter().map(|name| {
            let own = own.remove(&name);
            let settings = member_agent::Settings::new(name.as_str());
            (name, Member::new(settings, own, &hub, &shared))
        });
        let members = members.collect();
        let (reach, blocked) = (View::default(), BTreeMap::new());
        Self { now, heard: now, hub_context: None, settings, hub, members, reach, blocked }
    }

    /// How to call kubectl for a cluster of the fleet.
    pub fn kubectl(&self, cluster: &str) -> String {
        let member = self.members.get(cluster);
        let context = member.map_or(&self.hub_context, |member| &member.context);
        crate::shell::kubectl(context.as_deref().unwrap_or(cluster))
    }
}

impl Member {
    fn new(
        settings: member_agent::Settings,
        own: Option<Own>,
        hub: &HubSnapshot,
        shared: &Shared,
    ) -> Self {
        let unknown =
            || Own { context: None, seen: Err(no_context(&settings)), names_served: None };
        let own = own.unwrap_or_else(unknown);
        let (snapshot, blind) = match own.seen {
            Ok(snapshot) => (snapshot, None),
            Err(reason) => (MemberSnapshot::default(), Some(reason)),
        };
        let denied_namespaces = denied::by_member(&snapshot);
        let snapshot = with_hub(snapshot, hub, shared, &settings.identity.hub_namespace);
        let traffic = modes::traffic_by_hub(&settings.identity, hub);
        let cidrs = reserved::by_member(&settings.identity, traffic.enabled, &snapshot);
        let reserved_addresses = ReservedAddresses { cidrs, ..ReservedAddresses::default() };
        let multicluster =
            Multicluster { mode: modes::by_member(&snapshot), ..Multicluster::default() };
        let settings = member_agent::Settings {
            denied_namespaces,
            reserved_addresses,
            multicluster,
            traffic,
            ..settings
        };
        Self { context: own.context, settings, snapshot, blind, names_served: own.names_served }
    }
}

fn no_context(settings: &member_agent::Settings) -> String {
    let name = &settings.identity.cluster;
    format!("no context of that name: use --member {name}=CONTEXT")
}

/// The members that the hub knows.
fn members_on(hub: &HubSnapshot) -> impl Iterator<Item = String> {
    let homes = hub.namespaces.iter().map(|namespace| &namespace.name.name);
    homes.filter_map(|name| names::member_of_namespace(name)).map(str::to_owned)
}

/// What the member's own watches of the hub would show. Nothing is listed twice.
fn with_hub(
    own: MemberSnapshot,
    hub: &HubSnapshot,
    shared: &Shared,
    namespace: &str,
) -> MemberSnapshot {
    MemberSnapshot {
        seq: hub.seq() + own.seq,
        internal_exports: part(&hub.internal_exports, namespace),
        slice_exports: part(&hub.slice_exports, namespace),
        internal_imports: part(&hub.internal_imports, namespace),
        slice_imports: part(&hub.slice_imports, namespace),
        memberships: part(&hub.internal_members, namespace),
        cluster_reports: part(&hub.cluster_reports, namespace),
        exported_services: part(&hub.exported_services, namespace),
        resolved_services: shared.resolved_services.clone(),
        fleet_slices: shared.fleet_slices.clone(),
        fleet_reports: hub.cluster_reports.clone(),
        schema: hub.schema.clone(),
        // Where endpoints belong depends on what an agent remembers: as long as their nodes are not known, they stay.
        nodes: View::default(),
        ..own
    }
}

fn part<T: Tracked>(view: &View<T>, namespace: &str) -> View<T> {
    View::of(view.in_namespace(namespace).cloned()).in_state(view.state().clone())
}

/// What all members read of the API of multicluster.x-k8s.io.
struct Shared {
    resolved_services: View<ResolvedService>,
    fleet_slices: View<FleetSlice>,
}

impl Shared {
    fn of(hub: &HubSnapshot) -> Self {
        Self {
            resolved_services: resolved_services(hub),
            fleet_slices: fleet_slices(&hub.slice_exports),
        }
    }
}

/// What all members read of what is in force. Nothing is concluded from the absence of what could not be read.
fn resolved_services(hub: &HubSnapshot) -> View<ResolvedService> {
    let namespace = names::SYSTEM_NAMESPACE;
    let defects = hub.resolved_services.defects().map(|(name, _)| name);
    let defects = defects.filter(|name| *name.namespace == *namespace).cloned();
    defects.fold(part(&hub.resolved_services, namespace), View::with_defect)
}

/// The exported slices that all members read.
fn fleet_slices(view: &View<EndpointSliceExport>) -> View<FleetSlice> {
    let is_read = |slice: &&Object<EndpointSliceExport>| {
        slice.meta.label(labels::MULTICLUSTER_NAMESPACE).is_some()
    };
    let kept = |slice: &Object<EndpointSliceExport>| {
        let (name, uid, version) = (slice.name.clone(), slice.uid.clone(), slice.version.clone());
        Object::new(name, uid, version, FleetSlice::of(slice))
    };
    View::of(view.iter().filter(is_read).map(kept)).in_state(view.state().clone())
}
