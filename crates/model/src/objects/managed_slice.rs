//! Complete EndpointSlices, for those that the member agent manages.

use std::sync::Arc;

use fleet_accumulator::{Tracked, wire};
use fleet_api::{ObjectName, ResourceKind, kinds, labels};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};

wire! {
    /// An EndpointSlice on the wire, with all fields.
    pub struct ManagedSliceWire as EndpointSlice {
        address_type: String,
        endpoints: Option<Vec<Endpoint>>,
        ports: Option<Vec<EndpointPort>>,
    }
}

/// An EndpointSlice with all fields but the resource version, for the few slices that the member agent itself manages.
///
/// [`EndpointSlice`](super::EndpointSlice) holds the few fields that exporting and importing need of every slice of the
/// cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct ManagedSlice {
    /// The slice, without resource version.
    pub slice: EndpointSlice,
}

/// Index key: the manager of a slice, and the Service that it backs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ManagedIndex {
    /// Name of the manager.
    pub manager: Arc<str>,
    /// The Service.
    pub service: ObjectName,
}

impl ManagedSlice {
    /// Its manager, and the Service of `namespace` that it backs or, for an imported one, that it was imported for: that of the
    /// clusterset, since a headless import has no derived Service.
    pub fn managed(&self, namespace: &Arc<str>) -> Option<ManagedIndex> {
        let labels = self.slice.metadata.labels.as_ref()?;
        let label = |key: &str| labels.get(key).map(String::as_str);
        let manager = label(labels::MANAGED_BY).filter(|name| !name.is_empty())?;
        let service = match manager {
            labels::MANAGED_BY_MULTICLUSTER => label(labels::MULTICLUSTER_SERVICE_NAME),
            _ => labels::backed_service(label),
        };
        let service = ObjectName::new(namespace.clone(), service?);
        Some(ManagedIndex { manager: manager.into(), service })
    }

    /// Whether it is being deleted.
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
