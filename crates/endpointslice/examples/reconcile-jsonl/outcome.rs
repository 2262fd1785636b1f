//! The result of a reconcile, without arbitrary choices such as the order of lists.

use std::collections::{BTreeMap, BTreeSet};

use fleet_endpointslice::{Cause, Event, Measures};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde::Serialize;

use crate::reconciling::World;
use crate::store::Call;
use crate::views::{self, EndpointView, PortView, SliceView, text};

#[derive(Serialize)]
pub(crate) struct Outcome {
    seen: usize,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    errors: BTreeSet<Failure>,
    counts: Counts,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<EventView>,
    packing: Vec<Packing>,
    groups: Vec<Group>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    doomed: BTreeMap<String, Doomed>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    hints: BTreeMap<String, HintTotal>,
    tracker: TrackerView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settle: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Metrics>,
}

/// An error without its wording.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Failure {
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) subject: String,
}

#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Counts {
    create: usize,
    update: usize,
    delete: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventView {
    r#type: &'static str,
    reason: &'static str,
    cause: &'static str,
    address_type: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Packing {
    address_type: String,
    ports: Vec<PortView>,
    sizes: Vec<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    address_type: String,
    ports: Vec<PortView>,
    slices: Vec<SliceView>,
    endpoints: Vec<EndpointView>,
    #[serde(skip)]
    sizes: Vec<usize>,
}

#[derive(Default, Serialize)]
struct Doomed {
    names: Vec<String>,
    deleted: usize,
    recycled: usize,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct HintTotal {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    by_zone: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    by_node: BTreeMap<String, usize>,
    cross_zone: usize,
    ready_without: usize,
    unready_with: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TrackerView {
    tracked: usize,
    expecting_deletion: usize,
    stale_now: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metrics {
    endpoints_added: usize,
    endpoints_removed: usize,
    endpoints_desired: usize,
    slices: usize,
    slices_desired: usize,
    changes: Counts,
    slices_changed: BTreeMap<String, usize>,
    traffic_services: BTreeMap<&'static str, usize>,
}

impl Counts {
    pub(crate) fn of(calls: &[Call]) -> Self {
        let mut counts = Self::default();
        for call in calls {
            match call {
                Call::Create { .. } => counts.create += 1,
                Call::Update { .. } => counts.update += 1,
                Call::Delete { .. } => counts.delete += 1,
            }
        }
        counts
    }
}

/// Describes a world after its first pass.
pub(crate) fn describe(world: &World<'_>) -> Outcome {
    let scenario = world.scenario;
    let finals = world.store.list();
    let groups = groups(world, &finals);
    let refs: Vec<&EndpointSlice> = finals.iter().collect();
    let (tracked, expecting_deletion) = world.tracker.count(scenario.namespace(), scenario.name());
    let mut events: Vec<EventView> = world.events.iter().map(event).collect();
    events.sort_by_key(text);
    Outcome {
        seen: 1,
        errors: world.failures.clone(),
        counts: Counts::of(&world.store.calls),
        events,
        packing: groups.iter().map(packing).collect(),
        groups,
        doomed: doomed(world),
        hints: hints(&finals),
        tracker: TrackerView {
            tracked,
            expecting_deletion,
            stale_now: world.tracker.is_stale(&scenario.service, &refs),
        },
        settle: None,
        metrics: scenario.config.metrics.then(|| metrics(world)),
    }
}

fn groups(world: &World<'_>, finals: &[EndpointSlice]) -> Vec<Group> {
    let (mut updated, mut recycled) = (BTreeSet::new(), BTreeSet::new());
    for call in &world.store.calls {
        if let Call::Update { sent, recycled: again } = call {
            (if *again { &mut recycled } else { &mut updated }).insert(&sent.metadata.name);
        }
    }
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for slice in finals {
        let ports = views::ports(slice.ports.as_deref().unwrap_or_default());
        let address_type = slice.address_type.clone();
        let group =
            groups.entry(format!("{address_type}{}", text(&ports))).or_insert_with(|| Group {
                address_type,
                ports,
                slices: Vec::new(),
                endpoints: Vec::new(),
                sizes: Vec::new(),
            });
        let name = &slice.metadata.name;
        let before = world.scenario.slices.iter().find(|old| old.metadata.name == *name);
        let before = before.filter(|_| !recycled.contains(name));
        group.slices.push(views::slice(
            &world.scenario.service,
            slice,
            before,
            updated.contains(name),
        ));
        group.endpoints.extend(slice.endpoints.iter().map(views::endpoint));
        group.sizes.push(slice.endpoints.len());
    }
    for group in groups.values_mut() {
        group.slices.sort_by_key(text);
        group.endpoints.sort_by_cached_key(text);
        group.sizes.sort_unstable_by(|a, b| b.cmp(a));
    }
    groups.into_values().collect()
}

fn packing(group: &Group) -> Packing {
    Packing {
        address_type: group.address_type.clone(),
        ports: group.ports.clone(),
        sizes: group.sizes.clone(),
    }
}

fn doomed(world: &World<'_>) -> BTreeMap<String, Doomed> {
    let mut all: BTreeMap<String, Doomed> = BTreeMap::new();
    for call in &world.store.calls {
        let (name, recycled) = match call {
            Call::Delete { name } => (name.clone(), false),
            Call::Update { sent, recycled: true } => {
                (sent.metadata.name.clone().unwrap_or_default(), true)
            }
            _ => continue,
        };
        let old =
            world.scenario.slices.iter().find(|old| old.metadata.name.as_ref() == Some(&name));
        let doomed =
            all.entry(old.map(|old| old.address_type.clone()).unwrap_or_default()).or_default();
        *(if recycled { &mut doomed.recycled } else { &mut doomed.deleted }) += 1;
        doomed.names.push(name);
        doomed.names.sort();
    }
    all
}

fn hints(finals: &[EndpointSlice]) -> BTreeMap<String, HintTotal> {
    let mut all: BTreeMap<String, HintTotal> = BTreeMap::new();
    for slice in finals {
        for endpoint in &slice.endpoints {
            let ready =
                endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) == Some(true);
            let total = all.entry(slice.address_type.clone()).or_default();
            let Some(hints) = &endpoint.hints else {
                total.ready_without += usize::from(ready);
                continue;
            };
            total.unready_with += usize::from(!ready);
            for zone in hints.for_zones.iter().flatten() {
                *total.by_zone.entry(zone.name.clone()).or_default() += 1;
                total.cross_zone += usize::from(endpoint.zone.as_ref() != Some(&zone.name));
            }
            for node in hints.for_nodes.iter().flatten() {
                *total.by_node.entry(node.name.clone()).or_default() += 1;
            }
        }
    }
    all
}

fn event(event: &Event) -> EventView {
    let cause = match event.cause {
        Cause::Enabled => "enabled",
        Cause::Disabled => "disabled",
        Cause::NodeInfo => "node-info",
        Cause::OneZone => "one-zone",
        Cause::TooFewEndpoints => "too-few-endpoints",
        Cause::OverloadThreshold => "overload-threshold",
        Cause::EndpointWithoutZone => "endpoint-without-zone",
        Cause::NoHintsAllocated => "no-hints-allocated",
    };
    EventView {
        r#type: if event.is_warning() { "Warning" } else { "Normal" },
        reason: event.reason(),
        cause,
        address_type: event.address_type.to_string(),
    }
}

fn metrics(world: &World<'_>) -> Metrics {
    let totals = world.efficiency.totals();
    let sum = |of: fn(&Measures) -> usize| world.measured.iter().map(of).sum();
    let mut slices_changed = BTreeMap::new();
    for measures in &world.measured {
        let topology = if measures.topology { "Auto" } else { "Disabled" };
        let key = format!("{topology},{}", measures.traffic_distribution.unwrap_or_default());
        *slices_changed.entry(key).or_default() += measures.changed;
    }
    slices_changed.retain(|_, changed| *changed > 0);
    Metrics {
        endpoints_added: sum(|measures| measures.added),
        endpoints_removed: sum(|measures| measures.removed),
        endpoints_desired: totals.endpoints,
        slices: totals.slices,
        slices_desired: totals.desired_slices,
        changes: Counts::of(&world.store.calls),
        slices_changed,
        traffic_services: world.efficiency.traffic_distributions().clone(),
    }
}
