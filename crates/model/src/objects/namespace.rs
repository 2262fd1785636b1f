//! Namespaces, by metadata only.

use fleet_accumulator::{Tracked, wire};
use fleet_api::labels::OFFLOAD_ORIGIN;
use fleet_api::{ObjectName, ResourceKind, annotations, kinds};
use k8s_openapi::api::core::v1 as core;

wire! {
    /// The metadata of a Namespace.
    pub struct NamespaceWire as metadata of core::Namespace {}
}

/// A Namespace, and whether it accepts new objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Namespace {
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Set if it is for Pods of another member.
    pub offload: Option<OffloadNamespace>,
}

/// What a namespace for Pods of another member is marked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadNamespace {
    /// The member.
    pub origin: Box<str>,
    /// What was set up in it, as a hash.
    pub equipment: Option<Box<str>>,
}

impl Tracked for Namespace {
    const KIND: ResourceKind = kinds::NAMESPACE;
    type Wire = NamespaceWire;
    type Index = ();

    fn project(wire: NamespaceWire) -> Result<Self, String> {
        let metadata = wire.metadata;
        let origin = metadata.labels.as_ref().and_then(|labels| labels.get(OFFLOAD_ORIGIN));
        let noted = metadata.annotations.as_ref();
        let equipment = noted.and_then(|noted| noted.get(annotations::OFFLOAD_EQUIPMENT));
        let offload = origin.map(|origin| OffloadNamespace {
            origin: origin.as_str().into(),
            equipment: equipment.map(|hash| hash.as_str().into()),
        });
        Ok(Self { terminating: metadata.deletion_timestamp.is_some(), offload })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}
