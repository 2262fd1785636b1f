//! EndpointSlices: those of users' Services and those imported.

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::{
    AddressType, Endpoint, EndpointPort, ObjectName, ResourceKind, annotations, kinds, labels,
};
use k8s_openapi::api::discovery::v1::{self as discovery, EndpointSlice};

wire! {
    /// An EndpointSlice on the wire; the kind has no spec.
    pub struct EndpointSliceWire as EndpointSlice {
        address_type: String,
        endpoints: Option<Vec<discovery::Endpoint>>,
        ports: Option<Vec<discovery::EndpointPort>>,
    }
}

/// What both exporting and importing need of an EndpointSlice.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointSliceRecord {
    /// Metadata.
    pub meta: Meta,
    /// Kind of the addresses.
    pub address_type: AddressType,
    /// The ready endpoints (`ready` true or absent), addresses only, in their order.
    pub ready: Vec<Endpoint>,
    /// Whether every endpoint is ready and carries nothing but addresses, as we write them.
    pub plain: bool,
    /// Ports, verbatim.
    pub ports: Vec<EndpointPort>,
}

/// How an EndpointSlice is found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SliceIndex {
    /// By the Service of its own cluster that it backs.
    Backs(ObjectName),
    /// By the Service of the fleet that it was imported for.
    ImportedFor(ObjectName),
}

impl EndpointSliceRecord {
    /// The Service of its own cluster that a slice of `namespace` backs.
    pub fn backs(&self, namespace: &str) -> Option<ObjectName> {
        let service = self.meta.label(labels::SERVICE_NAME).filter(|name| !name.is_empty())?;
        Some(ObjectName::new(namespace, service))
    }

    /// The Service of the fleet that it was imported for.
    pub fn imported_for(&self) -> Option<ObjectName> {
        ObjectName::parse(self.meta.annotation(annotations::FLEET_SERVICE)?)
    }

    /// Whether an importing agent, ours or a Go one, made it.
    pub fn is_imported(&self) -> bool {
        self.meta.label(labels::MANAGED_BY) == Some(labels::MANAGED_BY_IMPORT)
            || self.imported_for().is_some()
    }
}

impl Tracked for EndpointSliceRecord {
    const KIND: ResourceKind = kinds::ENDPOINT_SLICE;
    type Wire = EndpointSliceWire;
    type Index = SliceIndex;

    fn project(wire: EndpointSliceWire) -> Result<Self, String> {
        let endpoints = wire.endpoints.unwrap_or_default();
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            address_type: AddressType::from(wire.address_type.as_str()),
            plain: endpoints.iter().all(is_plain),
            ready: endpoints
                .into_iter()
                .filter(is_ready)
                .map(|endpoint| Endpoint { addresses: endpoint.addresses })
                .collect(),
            ports: wire.ports.unwrap_or_default().iter().map(EndpointPort::from).collect(),
        })
    }

    fn index(&self, name: &ObjectName) -> Vec<SliceIndex> {
        let backs = self.backs(&name.namespace).map(SliceIndex::Backs);
        backs.into_iter().chain(self.imported_for().map(SliceIndex::ImportedFor)).collect()
    }
}

/// An unset `ready` means ready (EndpointSlice API).
fn is_ready(endpoint: &discovery::Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true)
}

fn is_plain(endpoint: &discovery::Endpoint) -> bool {
    let addresses = endpoint.addresses.clone();
    let bare = discovery::Endpoint { addresses, ..Default::default() };
    let unset = discovery::EndpointConditions::default();
    *endpoint == bare || *endpoint == discovery::Endpoint { conditions: Some(unset), ..bare }
}
