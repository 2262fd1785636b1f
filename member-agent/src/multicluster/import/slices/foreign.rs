//! Slices of other clusters' endpoints: one for each that the hub has, of its name.

use std::collections::HashSet;
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::multicluster::Exporter;
use fleet_api::{ExportedSliceSpec, events, names};
use fleet_model::objects::multicluster::FleetSlice;
use fleet_model::objects::{EndpointSlice, SliceIndex};
use fleet_model::steps::LOCAL;
use fleet_plan::Event;
use k8s_openapi::api::discovery::v1 as discovery;

use super::bound::{Bound, Wanted};
use super::marks::Origin;
use super::outcome::Outcome;
use super::{content, marks};
use crate::measurement::Plan;
use crate::multicluster::import::state::ServiceState;
use crate::multicluster::import::trust::{SliceFate, Source, slice_fate};
use crate::multicluster::import::{derived, source};
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
    let uids: HashSet<_> = slices.iter().map(|slice| slice.uid.to_string()).collect();
    for slice in slices {
        let Some(cluster) = slice.cluster().filter(|cluster| *cluster != state.cluster()) else {
            continue;
        };
        let exporter = state.resolved.and_then(|resolved| resolved.exporter(cluster));
        let source = if slice.terminating { Source::Ending } else { Source::Present };
        let fate =
            slice_fate(bound.trust(state), exporter.is_some(), source, state.may_remove(cluster));
        let Some(name) = name(state, outcome, &uids, slice, cluster) else {
            derived::wait(plan);
            continue;
        };
        match (fate, exporter) {
            (SliceFate::Keep, _) => {
                outcome.kept.insert(name);
            }
            (SliceFate::Follow, Some(exporter)) if bound.takes(&slice.address_type) => {
                if let Some(excess) = &slice.excess {
                    plan.events.push(skipped(bound, slice, cluster, &excess.to_string()));
                    outcome.kept.insert(name);
                } else {
                    let wanted = wanted(state, bound, &reserved, slice, exporter, plan);
                    outcome.wanted.extend(wanted.map(|wanted| (name, wanted)));
                }
            }
            _ => {
                outcome.removed.insert(name);
            }
        }
    }
}

/// The name of the imported slice. Members choose the names of what they export, so one can take that of another member's slice;
/// the second name is made from the hub's choice.
fn name(
    state: &ServiceState<'_>,
    outcome: &Outcome,
    uids: &HashSet<String>,
    slice: &Object<FleetSlice>,
    cluster: &str,
) -> Option<String> {
    let uid = slice.uid.to_string();
    let is_from = |ours: &discovery::EndpointSlice| source::cluster(ours) == Some(cluster);
    let mut imported = state.imported.iter();
    let same = imported
        .find(|ours| marks::export(&ours.slice) == Some(uid.as_str()) && is_from(&ours.slice));
    if let Some(same) = same {
        return Some(same.name.name.to_string());
    }
    let is_free = |name: &String| {
        let taken = state.snapshot.endpoint_slices.get(&state.beside(name.as_str())).is_some();
        // A slice of this cluster that the hub has no more.
        let mut ours = state.imported.iter().filter(|ours| *ours.name.name == **name);
        let adopts = ours.any(|ours| {
            let is_there = marks::export(&ours.slice).is_some_and(|uid| uids.contains(uid));
            is_from(&ours.slice) && !is_there
        });
        (!taken || adopts) && !outcome.has(name)
    };
    names::slice_import_candidates(&slice.name, &uid).into_iter().find(is_free)
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
    exporter: &Exporter,
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
    let uid = slice.uid.to_string();
    let generation = slice.slice_generation;
    let origin = Origin { cluster, export: Some(&uid), generation };
    let zones = state.settings.multicluster.zones;
    let is_withheld = |name: &str| exporter.withheld.iter().any(|withheld| withheld == name);
    Some(Wanted {
        slice: discovery::EndpointSlice {
            metadata: marks::metadata(state, bound, origin),
            address_type: slice.address_type.as_str().to_owned(),
            endpoints: content::endpoints(&content.ready, &content.draining, zones),
            ports: Some(content::ports(&content.ports, &bound.target.spec.ports, |port, of| {
                let name = port.name.as_deref().unwrap_or_default();
                name == of.name && !is_withheld(name)
            })),
        },
        cluster: cluster.to_owned(),
        generation,
        trace: slice.trace.clone(),
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
