//! What the Lease `fleet-member` of a member carries for traffic. It is renewed anyway, so that nothing is written for it alone.

use std::collections::BTreeMap;

/// Annotation: the highest serial up to which the member has applied every `MemberTraffic`, as a decimal number.
pub const APPLIED: &str = "traffic.networking.fleet.azure.com/applied";

/// Annotation: the incarnation of the hub that has all that the member exports, and has had it for a while; empty while none has.
pub const PUBLISHED: &str = "traffic.networking.fleet.azure.com/published";

/// Annotation beside it: how many `EndpointSliceExports` the member has there, as a decimal number. A hub agent that sees fewer has
/// not seen all of it.
pub const PUBLISHED_SLICES: &str = "traffic.networking.fleet.azure.com/published-slices";

/// Annotation: the incarnation of the hub that the member had seen before the hub's API server went back in its history.
pub const WENT_BACK: &str = "traffic.networking.fleet.azure.com/went-back";

/// Annotation of the Lease by which a member's agents elect a leader, in the member: the incarnation of the hub that the member
/// follows. What another one lacks was not necessarily withdrawn.
pub const FOLLOWED: &str = "traffic.networking.fleet.azure.com/followed";

/// Annotation of the same Lease: the drains that the member applies, as JSON.
pub const DRAINS: &str = "traffic.networking.fleet.azure.com/drains";

/// Annotation of the same Lease: the verdicts on silent members that the member applies, and for how many seconds it has, as JSON.
pub const VERDICTS: &str = "traffic.networking.fleet.azure.com/verdicts";

/// Annotation of the same Lease: up to which version of the hub each source has come, as `source=version` with commas between. A hub
/// that is behind that was restored from a backup.
pub const REACHED: &str = "traffic.networking.fleet.azure.com/reached";

/// Annotation: properties of the member that selectors see, as a JSON object of texts. Names that are not in
/// [`OWN_PROPERTIES`] are ignored.
pub const PROPERTIES: &str = "traffic.networking.fleet.azure.com/properties";

/// Property with the name of the member. The hub agent sets it.
pub const CLUSTER_PROPERTY: &str = "cluster.clusterset.k8s.io";

/// Names of properties that a member sets itself. All others are set by the administrators of the hub.
pub const OWN_PROPERTIES: [&str; 2] =
    ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

/// Longest value of a property.
const LONGEST_VALUE: usize = 128;

/// Properties that a member may set itself, of those in the annotation of its Lease. One that cannot be read has none.
pub fn own_properties(annotation: &str) -> BTreeMap<String, String> {
    let all: BTreeMap<String, String> = serde_json::from_str(annotation).unwrap_or_default();
    let allowed = |(name, value): &(String, String)| {
        OWN_PROPERTIES.contains(&name.as_str()) && value.len() <= LONGEST_VALUE
    };
    all.into_iter().filter(allowed).collect()
}
