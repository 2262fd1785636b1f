//! What counts in the end: the contents of all objects, without what servers number and date.

use std::collections::BTreeMap;

use fleet_api::{ResourceKind, annotations, kinds};
use serde_json::Value;

use crate::convergence::fleet::Fleet;
use crate::convergence::trace::without;

/// All that agents of the standard API write, and users beside them.
const KINDS: [ResourceKind; 9] = [
    kinds::CLUSTER_REPORT,
    kinds::EXPORTED_SERVICE,
    kinds::RESOLVED_SERVICE,
    kinds::ENDPOINT_SLICE_EXPORT,
    kinds::CLUSTER_PROPERTY,
    kinds::MCS_SERVICE_EXPORT,
    kinds::MCS_SERVICE_IMPORT,
    kinds::SERVICE,
    kinds::ENDPOINT_SLICE,
];

/// What depends on the order of writes, and on their number, alone.
const LEFT_OUT: [&str; 12] = [
    "uid",
    "serviceUid",
    "resourceVersion",
    "generation",
    "observedGeneration",
    "creationTimestamp",
    "lastTransitionTime",
    "exportedSince",
    "withdrawnAt",
    annotations::SLICE_EXPORT_UID,
    annotations::SLICE_UID,
    annotations::LAST_OBSERVED_GENERATION,
];

/// Contents of all objects of a fleet, by cluster, kind and name.
pub(super) fn of(fleet: &Fleet) -> BTreeMap<String, Value> {
    let members = fleet
        .members
        .iter()
        .filter_map(|member| Some((member.identity.cluster.as_str(), member.server.as_ref()?)));
    let mut contents = BTreeMap::new();
    for (cluster, server) in members.chain([("hub", &fleet.hub)]) {
        for kind in KINDS {
            for (name, object) in server.objects(kind) {
                let key = format!("{cluster}: {} {name}", kind.label());
                contents.insert(key, without(object, &LEFT_OUT));
            }
        }
    }
    contents
}
