//! The imported endpoints.

use std::collections::BTreeMap;

use fleet_accumulator::Object;
use fleet_api::{ObjectName, events, kinds, labels};
use fleet_model::objects::{EndpointSlice, SliceIndex};
use member_agent::multicluster::import;

use crate::explain::words::{count, named};
use crate::picture::{Member, Picture};
use crate::story::{Cause, Crossing, Hop};

/// Adds what became of the endpoints, and returns those of other clusters.
pub(super) fn hops(
    picture: &Picture,
    name: &str,
    member: &Member,
    service: &ObjectName,
    hops: &mut Vec<Hop>,
) -> Option<Crossing> {
    let object = kinds::ENDPOINT_SLICE.label();
    hops.extend(refused(picture, name, member, service));
    let ready = by_cluster(member, service);
    let total: usize = ready.values().sum();
    if total > 0 {
        let from: Vec<_> =
            ready.iter().filter(|(_, count)| **count > 0).map(|(it, _)| *it).collect();
        let reason = format!("{} from {}", count(total, "ready endpoint"), named(&from));
        hops.push(Hop::ok(name, object, reason));
    } else if !hops.iter().any(Hop::stops) {
        hops.push(Hop::stop(
            name,
            object,
            Cause::NoEndpoints,
            "the import has no ready endpoint, since no exporter has one",
            "see the steps of the exporters",
        ));
    }
    let others = ready.into_iter().filter(|(cluster, count)| *cluster != name && *count > 0);
    let (from, endpoints): (Vec<_>, Vec<_>) =
        others.map(|(cluster, count)| (cluster.to_owned(), count)).unzip();
    let (to, api) = (name.to_owned(), Some(kinds::MCS_SERVICE_IMPORT.group));
    (!from.is_empty()).then(|| Crossing { from, to, endpoints: endpoints.iter().sum(), api })
}

/// Ready endpoints by the cluster that they are from.
fn by_cluster<'a>(member: &'a Member, service: &ObjectName) -> BTreeMap<&'a str, usize> {
    let slices = member.snapshot.endpoint_slices.by(&SliceIndex::ImportedFor(service.clone()));
    let mut counts = BTreeMap::new();
    for slice in slices.filter(|slice| slice.is_imported_by_standard()) {
        *counts.entry(cluster(slice)).or_default() += in_use(slice);
    }
    counts
}

/// Ready endpoints that clients reach: behind a derived Service, those without a port in force get no traffic.
fn in_use(slice: &Object<EndpointSlice>) -> usize {
    let is_behind_service = slice.backs(&slice.name.namespace).is_some();
    if is_behind_service && slice.ports.is_empty() { 0 } else { slice.ready.len() }
}

fn cluster(slice: &EndpointSlice) -> &str {
    slice.meta.label(labels::MULTICLUSTER_SOURCE_CLUSTER).unwrap_or("an unknown cluster")
}

/// Endpoints that the agent skips.
fn refused(picture: &Picture, name: &str, member: &Member, service: &ObjectName) -> Vec<Hop> {
    let plan = import::plan(&member.settings, service, &member.snapshot, picture.now);
    let refused = plan.events.into_iter().filter(|event| event.reason == events::ENDPOINTS_REFUSED);
    let hop = |note: String| {
        Hop::stop(
            name,
            kinds::ENDPOINT_SLICE.label(),
            Cause::EndpointsRefused,
            note,
            "export endpoints whose addresses are not in use in this cluster; if they are right, the agent takes them with \
             --allowed-reserved-cidrs",
        )
    };
    refused.map(|event| hop(event.note)).collect()
}
