//! Namespaces, by metadata only.

use fleet_accumulator::{Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, kinds};
use k8s_openapi::api::core::v1::Namespace;

wire! {
    /// The metadata of a Namespace.
    pub struct NamespaceWire as metadata of Namespace {}
}

/// Whether a namespace is there and can take new objects.
#[derive(Clone, Debug, PartialEq)]
pub struct NamespaceRecord {
    /// Whether it is being deleted.
    pub terminating: bool,
}

impl Tracked for NamespaceRecord {
    const KIND: ResourceKind = kinds::NAMESPACE;
    type Wire = NamespaceWire;
    type Index = ();

    fn project(wire: NamespaceWire) -> Result<Self, String> {
        Ok(Self { terminating: wire.metadata.deletion_timestamp.is_some() })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}
