//! Objects of a fleet: the hub, and two of its members.

use fleet_api::{ObjectName, ResourceKind, kinds};
use serde_json::Value;

/// Kinds of the corpus.
pub(crate) const KINDS: [ResourceKind; 32] = [
    kinds::SERVICE,
    kinds::NAMESPACE,
    kinds::POD,
    kinds::NODE,
    kinds::CONFIG_MAP,
    kinds::SECRET,
    kinds::SERVICE_CIDR,
    kinds::ENDPOINT_SLICE,
    kinds::SERVICE_EXPORT,
    kinds::SERVICE_IMPORT,
    kinds::MULTI_CLUSTER_SERVICE,
    kinds::INTERNAL_SERVICE_EXPORT,
    kinds::INTERNAL_SERVICE_IMPORT,
    kinds::ENDPOINT_SLICE_EXPORT,
    kinds::ENDPOINT_SLICE_IMPORT,
    kinds::CLUSTER_REPORT,
    kinds::EXPORTED_SERVICE,
    kinds::RESOLVED_SERVICE,
    kinds::REACH_REPORT,
    kinds::OFFLOAD_OFFER,
    kinds::VIRTUAL_NODE,
    kinds::POD_EXPORT,
    kinds::POD_IMPORT,
    kinds::SERVICE_TRAFFIC,
    kinds::FLEET_TRAFFIC,
    kinds::MEMBER_TRAFFIC,
    kinds::MCS_SERVICE_EXPORT,
    kinds::MCS_SERVICE_IMPORT,
    kinds::CLUSTER_PROPERTY,
    kinds::INTERNAL_MEMBER_CLUSTER,
    kinds::EXTERNAL_WORKLOAD,
    kinds::LEASE,
];

/// An object of the corpus.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// The hub is 0, members follow.
    pub(crate) cluster: usize,
    pub(crate) kind: ResourceKind,
    pub(crate) object: Value,
}

impl Sample {
    pub(crate) fn name(&self) -> ObjectName {
        let metadata = &self.object["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        ObjectName::new(text("namespace"), text("name"))
    }
}

/// All of it.
pub(crate) fn samples() -> Vec<Sample> {
    include_str!("../../corpus/fleet.jsonl").lines().map(sample).collect()
}

/// Objects that were once not read right.
pub(crate) fn once() -> Vec<Sample> {
    include_str!("../../corpus/once.jsonl").lines().map(sample).collect()
}

fn sample(line: &str) -> Sample {
    let line: Value = serde_json::from_str(line).unwrap();
    let kind = line["kind"].as_str().unwrap();
    let (plural, group) = kind.split_once('.').unwrap_or((kind, ""));
    let others = [kinds::MEMBER_CLUSTER];
    let kind = KINDS.into_iter().chain(others).find(|it| it.plural == plural && it.group == group);
    let cluster = usize::try_from(line["at"].as_u64().unwrap()).unwrap();
    Sample { cluster, kind: kind.unwrap(), object: line["object"].clone() }
}

#[test]
fn each_kind_has_an_object() {
    let samples = samples();
    for kind in KINDS {
        assert!(samples.iter().any(|sample| sample.kind == kind), "{}", kind.label());
    }
}
