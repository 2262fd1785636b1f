//! Slices of other clusters' endpoints: one for each that the hub has, of its name.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::{ExportedSliceSpec, events};
use fleet_model::objects::multicluster::FleetSlice;
use fleet_model::objects::{EndpointSlice, ManagedSlice, SliceIndex};
use fleet_model::steps::LOCAL;
use fleet_model::weight;
use fleet_plan::Event;
use k8s_openapi::api::discovery::v1 as discovery;

use super::bound::{Bound, Wanted};
use super::budget::Beyond;
use super::in_force::InForce;
use super::marks::{Mark, Origin};
use super::names::Names;
use super::outcome::Outcome;
use super::{content, marks};
use crate::measurement::Plan;
use crate::multicluster::import::derived;
use crate::multicluster::import::hub::Hub;
use crate::multicluster::import::state::ServiceState;
use crate::multicluster::import::trust::{SliceFate, Source, Trust, slice_fate};
use crate::reserved::Reservations;
use crate::sanitize::{Sanitized, sanitize};

/// How soon refused endpoints are looked at again: what is reserved does not affect the key.
const REFUSED_RETRY: Duration = Duration::from_mins(1);

/// Adds what becomes of the slices that other clusters have on the hub.
pub(super) fn collect<'a>(
    state: &'a ServiceState<'a>,
    bound: Bound<'_>,
    outcome: &mut Outcome,
    plan: &mut Plan,
) {
    let Some(hub) = state.hub else { return };
    let reserved = reservations(state);
    let slices: Vec<_> = hub.slices(state.service).collect();
    let names = Names::of(state, &slices);
    let in_force = InForce::of(state);
    let beyond = Beyond::of(&slices, |slice| names.same(slice).is_some());
    let is_exporter =
        |cluster: &str| state.resolved.is_some_and(|resolved| resolved.exporter(cluster).is_some());
    let too_much = beyond.by_cluster.iter().filter(|(cluster, _)| is_exporter(cluster));
    plan.events.extend(too_much.map(|(cluster, count)| {
        let note = format!(
            "skipped {count} EndpointSlices from cluster {cluster:?}: it exports too many endpoints of this Service"
        );
        LOCAL.warning(bound.import, events::ENDPOINTS_REFUSED, note)
    }));
    for slice in slices.into_iter().filter(|slice| !beyond.has(slice)) {
        let Some(cluster) = slice.cluster().filter(|cluster| *cluster != state.cluster()) else {
            continue;
        };
        let is_listed = match state.resolved {
            Some(resolved) => resolved.exporter(cluster).is_some(),
            // The hub states nothing about the Service: the import shows who exports it.
            None => bound.target.lists(cluster),
        };
        let source = if slice.terminating { Source::Ending } else { Source::Present };
        let trust = bound.trust(state);
        let fate = slice_fate(trust, is_listed, source, state.may_remove(cluster));
        let Some(name) = names.of_slice(state, outcome, slice, cluster) else {
            derived::wait(plan);
            continue;
        };
        let same = names.same(slice);
        match fate {
            SliceFate::Keep => {
                outcome.kept.insert(name);
            }
            SliceFate::Follow if waits(state, hub, trust, (cluster, slice), same) => {
                outcome.kept.insert(name);
            }
            SliceFate::Follow if bound.takes(&slice.address_type) => {
                if let Some(excess) = &slice.excess {
                    plan.events.push(skipped(bound, slice, cluster, excess.as_ref()));
                    outcome.kept.insert(name);
                } else {
                    let wanted = wanted(state, bound, &reserved, slice, same, &in_force, plan);
                    outcome.wanted.extend(wanted.map(|wanted| (name, wanted)));
                }
            }
            _ => {
                outcome.removed.insert(name);
            }
        }
    }
}

/// Whether a slice has to wait that is not here yet, or is of an earlier generation than what is here: the hub may have it from an
/// earlier time.
fn waits(
    state: &ServiceState<'_>,
    hub: Hub<'_>,
    trust: Trust,
    (cluster, slice): (&str, &Object<FleetSlice>),
    same: Option<&Object<ManagedSlice>>,
) -> bool {
    match same {
        // What an old view shows may have been removed since.
        None => trust < Trust::Known || state.resolved.is_none() || hub.is_awaited(cluster),
        Some(same) => {
            marks::is_later(&same.slice, slice.slice_generation) && hub.is_outdated(cluster)
        }
    }
}

/// What is reserved here, with the exception of what serves already.
fn reservations<'a>(state: &'a ServiceState<'a>) -> Reservations<'a> {
    Reservations::new(state.settings, state.snapshot, || {
        let imported = SliceIndex::ImportedFor(state.service.clone());
        let slices = state.snapshot.endpoint_slices.by(&imported);
        slices.filter_map(|slice| Some((cluster_of(slice)?, slice))).collect()
    })
}

fn cluster_of(slice: &Object<EndpointSlice>) -> Option<&str> {
    let is_ours = slice.is_imported_by_standard();
    slice.meta.label(fleet_api::labels::MULTICLUSTER_SOURCE_CLUSTER).filter(|_| is_ours)
}

fn wanted<'a>(
    state: &'a ServiceState<'a>,
    bound: Bound<'_>,
    reserved: &Reservations<'a>,
    slice: &'a Object<FleetSlice>,
    same: Option<&Object<ManagedSlice>>,
    in_force: &InForce<'_>,
    plan: &mut Plan,
) -> Option<Wanted> {
    let cluster = slice.cluster()?;
    let (endpoints, draining_endpoints) = slice.endpoints();
    let spec = ExportedSliceSpec {
        address_type: slice.address_type.clone(),
        endpoints,
        draining_endpoints,
        ports: slice.ports.to_vec(),
        ..ExportedSliceSpec::default()
    };
    let content = sanitize(&spec, |address| reserved.verdict(cluster, address))?;
    report(bound, slice, cluster, &content, &spec, plan);
    let uid = slice.slice_uid.to_string();
    let generation = slice.slice_generation;
    // One that an earlier release has marked keeps that: another mark alone is no reason to write.
    let mark = same.and_then(|same| Mark::of(&same.slice)).unwrap_or(Mark::Slice(&uid));
    // Where traffic is not directed, slices are as they were.
    let weight = if state.ground.is_some() { slice.weight } else { weight::USUAL };
    let origin = Origin { cluster, mark: Some(mark), generation, weight };
    let zones = state.settings.multicluster.zones;
    let mut endpoints = content::endpoints(&content.ready, &content.draining, zones);
    if state.ground.is_none() {
        for endpoint in &mut endpoints {
            endpoint.node_name = None;
        }
    }
    Some(Wanted {
        slice: discovery::EndpointSlice {
            metadata: marks::metadata(state, bound, origin),
            address_type: slice.address_type.as_str().to_owned(),
            endpoints,
            ports: Some(content::ports(
                &content.ports,
                &bound.target.spec.ports,
                bound.binding,
                |of| in_force.has(cluster, of),
            )),
        },
        source: None,
        cluster: cluster.to_owned(),
        generation,
        exported: slice.exported_since.map(|since| (slice.uid.clone(), since)),
        trace: slice.trace,
    })
}

/// The Events about entries that are not imported.
fn report(
    bound: Bound<'_>,
    slice: &Object<FleetSlice>,
    cluster: &str,
    content: &Sanitized<'_>,
    spec: &ExportedSliceSpec,
    plan: &mut Plan,
) {
    let skips = content.skipped(spec);
    plan.events.extend(skips.map(|what| skipped(bound, slice, cluster, &what)));
    if let Some(which) = content.refused.described() {
        let (count, name) = (content.refused.count, &slice.name.name);
        let note = format!(
            "skipped {count} endpoints of EndpointSlice {name} from cluster {cluster:?}: {which}; if the addresses are \
             that cluster's, an administrator of this cluster can allow them with --allowed-reserved-cidrs"
        );
        plan.events.push(LOCAL.warning(bound.import, events::ENDPOINTS_REFUSED, note));
        plan.wake_within(REFUSED_RETRY);
    }
}

/// The Event about invalid entries of a slice.
fn skipped(bound: Bound<'_>, slice: &Object<FleetSlice>, cluster: &str, what: &str) -> Event {
    let name = &slice.name.name;
    let note = format!(
        "skipped invalid entries of EndpointSlice {name} from cluster {cluster:?} ({what})"
    );
    LOCAL.warning(bound.import, events::ENDPOINTS_REFUSED, note)
}
