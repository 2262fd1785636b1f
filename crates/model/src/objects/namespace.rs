//! Namespaces, by metadata only.

use fleet_accumulator::{Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, kinds};
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
}

impl Tracked for Namespace {
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
