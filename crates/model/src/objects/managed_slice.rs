//! EndpointSlices that the agent makes out of what Services select, whole.

use std::sync::Arc;

use fleet_accumulator::{Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, kinds, labels};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};

wire! {
    /// An EndpointSlice on the wire, with all of it.
    pub struct ManagedSliceWire as EndpointSlice {
        address_type: String,
        endpoints: Option<Vec<Endpoint>>,
        ports: Option<Vec<EndpointPort>>,
    }
}

/// An EndpointSlice as a reconciler looks at it: everything but its version.
///
/// Beside [`EndpointSlice`](super::EndpointSlice), which holds the little that exporting
/// and importing need of every slice of the cluster, for the few that the agent itself manages.
#[derive(Clone, Debug, PartialEq)]
pub struct ManagedSlice {
    /// The slice, without resource version.
    pub slice: EndpointSlice,
}

/// By who manages a slice and by the Service that it backs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ManagedIndex {
    /// Name of the manager.
    pub manager: Arc<str>,
    /// The Service.
    pub service: ObjectName,
}

impl ManagedSlice {
    /// Who manages it, and which Service of `namespace` it backs.
    pub fn managed(&self, namespace: &Arc<str>) -> Option<ManagedIndex> {
        let labels = self.slice.metadata.labels.as_ref()?;
        let label = |key: &str| labels.get(key).map(String::as_str);
        let service = ObjectName::new(namespace.clone(), labels::backed_service(label)?);
        let manager = label(labels::MANAGED_BY).filter(|name| !name.is_empty())?;
        Some(ManagedIndex { manager: manager.into(), service })
    }

    /// Whether its deletion was asked for.
    pub fn is_terminating(&self) -> bool {
        self.slice.metadata.deletion_timestamp.is_some()
    }
}

impl Tracked for ManagedSlice {
    const KIND: ResourceKind = kinds::ENDPOINT_SLICE;
    type Wire = ManagedSliceWire;
    type Index = ManagedIndex;

    fn project(wire: ManagedSliceWire) -> Result<Self, String> {
        let ManagedSliceWire { mut metadata, address_type, endpoints, ports } = wire;
        metadata.resource_version = None;
        let endpoints = endpoints.unwrap_or_default();
        Ok(Self { slice: EndpointSlice { metadata, address_type, endpoints, ports } })
    }

    fn index(&self, name: &ObjectName) -> Vec<ManagedIndex> {
        self.managed(&name.namespace).into_iter().collect()
    }
}
