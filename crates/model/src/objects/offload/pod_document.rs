//! Whole Pods: those on virtual nodes of this cluster, and those that this cluster runs for others.

use std::sync::Arc;

use fleet_accumulator::{Feed, Meta, SourceSpec, Tracked, Uid, selectable, wire};
use fleet_api::labels::{OFFLOAD_ORIGIN, OFFLOAD_ORIGIN_UID};
use fleet_api::offload::PodPhase;
use fleet_api::{ObjectName, ResourceKind, kinds};
use k8s_openapi::api::core::v1 as core;
use serde_json::{Map, Value};

use crate::objects::document::document_metadata;

wire! {
    /// A Pod on the wire, whole but for `managedFields`.
    pub struct PodDocumentWire as core::Pod {
        spec: Option<Map<String, Value>>,
        status: Option<Map<String, Value>>,
    }
}

/// A Pod. Of its metadata, the resource version is not in the document: a version alone is no change.
#[derive(Clone, Debug, PartialEq)]
pub struct PodDocument {
    /// Metadata.
    pub meta: Meta,
    /// `metadata`, `spec` and `status`, as the API server has them.
    pub document: Value,
}

/// How Pods are found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodIndex {
    /// By their own uid.
    Uid(Uid),
    /// By the node that they are bound to.
    Node(Arc<str>),
    /// By the member that they come from, and their uid there.
    Origin(Arc<str>, Uid),
}

impl PodDocument {
    /// The node that it is bound to.
    pub fn node(&self) -> Option<&str> {
        self.document["spec"]["nodeName"].as_str().filter(|name| !name.is_empty())
    }

    /// Whether all its containers have ended for good.
    pub fn has_ended(&self) -> bool {
        let phase = self.document["status"]["phase"].as_str().and_then(PodPhase::parse);
        phase.is_some_and(PodPhase::is_terminal)
    }

    /// The member that it comes from and its uid there, if this cluster runs it for another one.
    pub fn origin(&self) -> Option<(&str, &str)> {
        Some((self.meta.label(OFFLOAD_ORIGIN)?, self.meta.label(OFFLOAD_ORIGIN_UID)?))
    }
}

impl Tracked for PodDocument {
    const KIND: ResourceKind = kinds::POD;
    type Wire = PodDocumentWire;
    type Index = PodIndex;

    fn project(wire: PodDocumentWire) -> Result<Self, String> {
        let mut document = Map::new();
        document.insert("metadata".to_owned(), document_metadata(&wire.metadata));
        document.insert("spec".to_owned(), Value::Object(wire.spec.unwrap_or_default()));
        document.insert("status".to_owned(), Value::Object(wire.status.unwrap_or_default()));
        Ok(Self { meta: Meta::from_object(&wire.metadata), document: Value::Object(document) })
    }

    fn index(&self, _: &ObjectName) -> Vec<PodIndex> {
        let uid = self.document["metadata"]["uid"].as_str().unwrap_or_default();
        let node = self.node().map(|node| PodIndex::Node(node.into()));
        let origin = self.origin().map(|(member, uid)| PodIndex::Origin(member.into(), uid.into()));
        [PodIndex::Uid(uid.into())].into_iter().chain(node).chain(origin).collect()
    }

    fn feed(spec: SourceSpec) -> Box<dyn Feed<PodDocumentWire>> {
        selectable(spec)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(object: Value) -> PodDocument {
        PodDocument::project(serde_json::from_value(object).unwrap()).unwrap()
    }

    #[test]
    fn a_field_that_nobody_knows_is_kept() {
        let pod = read(json!({
            "metadata": {
                "name": "web-0", "namespace": "shop", "uid": "u", "resourceVersion": "7",
                "labels": { OFFLOAD_ORIGIN: "east", OFFLOAD_ORIGIN_UID: "1" },
                "deletionTimestamp": "2026-01-02T03:04:05Z", "deletionGracePeriodSeconds": 30,
                "managedFields": [{ "manager": "kubectl" }],
            },
            "spec": { "nodeName": "fleet-west", "newInTheYear2031": { "a": [1] } },
            "status": { "phase": "Running", "alsoNew": true },
        }));
        assert_eq!(pod.document["spec"]["newInTheYear2031"], json!({ "a": [1] }));
        assert_eq!(pod.document["status"]["alsoNew"], true);
        assert!(!pod.has_ended());
        let metadata = &pod.document["metadata"];
        assert_eq!(metadata["deletionGracePeriodSeconds"], 30);
        assert_eq!(metadata["deletionTimestamp"], "2026-01-02T03:04:05Z");
        assert!(metadata["managedFields"].is_null() && metadata["resourceVersion"].is_null());
        let expected = [
            PodIndex::Uid("u".into()),
            PodIndex::Node("fleet-west".into()),
            PodIndex::Origin("east".into(), "1".into()),
        ];
        assert_eq!(pod.index(&ObjectName::new("shop", "web-0")), expected);
    }

    #[test]
    fn a_version_alone_is_no_change() {
        let at = |version: &str| {
            read(json!({ "metadata": { "name": "a", "uid": "u", "resourceVersion": version } }))
        };
        assert_eq!(at("1"), at("2"));
        assert_eq!(at("1").node(), None);
    }
}
