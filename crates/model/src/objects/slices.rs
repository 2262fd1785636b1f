//! EndpointSliceExport and EndpointSliceImport.

use std::sync::{Arc, LazyLock};

use fleet_accumulator::{Meta, Shared, Tracked, shared_name, wire};
use fleet_api::{
    ExportedSliceSpec, ObjectName, ResourceKind, TraceContext, annotations, kinds, names,
};
use parking_lot::Mutex;

use super::address_hashes::{AddressHashes, Wanted};
use super::missing::MISSING;
use crate::limits::{self, Excess};

wire! {
    /// An EndpointSliceExport on the wire.
    pub struct EndpointSliceExportWire as fleet_api::v1alpha1::EndpointSliceExport {
        spec: Option<ExportedSliceSpec>,
    }
}

wire! {
    /// An EndpointSliceImport on the wire.
    pub struct EndpointSliceImportWire as fleet_api::v1alpha1::EndpointSliceImport {
        spec: Option<ExportedSliceSpec>,
    }
}

/// A slice that a member exports to the hub.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointSliceExport {
    /// Metadata.
    pub meta: Meta,
    /// The exported slice.
    pub spec: Arc<ExportedSliceSpec>,
    /// What exceeds a bound, if anything does.
    pub excess: Option<Excess>,
    /// Why its spec cannot be decoded; its references name nothing then.
    pub unreadable: Option<Box<str>>,
}

/// A slice that the hub hands to an importer.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointSliceImport {
    /// Metadata.
    pub meta: Meta,
    /// The exported slice.
    pub spec: Arc<ExportedSliceSpec>,
    /// Of its endpoints.
    hashes: AddressHashes,
}

/// Contents of exported slices, shared with their copies.
static CONTENTS: LazyLock<Mutex<Shared<ExportedSliceSpec>>> = LazyLock::new(Mutex::default);

/// Returns the content in one allocation with all equal copies.
fn share(mut spec: ExportedSliceSpec) -> Arc<ExportedSliceSpec> {
    let reference = &spec.endpoint_slice_reference;
    // Uids are unique within a cluster, not across clusters.
    let key = (reference.cluster_id.clone(), reference.uid.clone(), reference.generation);
    // Decoding leaves spare capacity in the lists.
    for list in [&mut spec.endpoints, &mut spec.draining_endpoints] {
        for endpoint in list.iter_mut() {
            endpoint.addresses.shrink_to_fit();
        }
        list.shrink_to_fit();
    }
    spec.ports.shrink_to_fit();
    CONTENTS.lock().get(&key, spec)
}

/// Index of all exported slices of one name in all namespaces, and of their copies. It has an empty namespace, which no Service has.
pub fn named(name: &Arc<str>) -> ObjectName {
    ObjectName::cluster(Arc::clone(name))
}

macro_rules! tracked_slice {
    ($object:ident, $wire:ident, $kind:expr, |$spec:ident, $defect:ident| { $($field:ident: $value:expr),* }) => {
        impl Tracked for $object {
            const KIND: ResourceKind = $kind;
            type Wire = $wire;
            type Index = ObjectName;

            fn project(wire: $wire) -> Result<Self, String> {
                Self::salvage(wire, MISSING)
            }

            fn salvage(wire: $wire, defect: &str) -> Result<Self, String> {
                let $defect = wire.spec.is_none().then(|| Box::<str>::from(defect));
                let $spec = wire.spec.unwrap_or_default();
                Ok(Self {
                    $($field: $value,)*
                    meta: Meta::from_object(&wire.metadata),
                    spec: share($spec),
                })
            }

            /// By the Service whose endpoints it carries, and by [`named`] with the name of the exported slice.
            fn index(&self, name: &ObjectName) -> Vec<ObjectName> {
                let service = self.spec.owner_service_reference.object();
                let slice = named(&self.slice_name(name));
                service.as_ref().map(shared_name).into_iter().chain([slice]).collect()
            }
        }

        impl $object {
            /// Trace of the write that led to its current content.
            pub fn trace_context(&self) -> Option<TraceContext> {
                TraceContext::parse(self.meta.annotation(annotations::TRACEPARENT)?)
            }
        }
    };
}

tracked_slice!(
    EndpointSliceExport,
    EndpointSliceExportWire,
    kinds::ENDPOINT_SLICE_EXPORT,
    |spec, defect| { excess: limits::of_slice(&spec), unreadable: defect }
);
tracked_slice!(
    EndpointSliceImport,
    EndpointSliceImportWire,
    kinds::ENDPOINT_SLICE_IMPORT,
    |spec, _defect| { hashes: AddressHashes::default() }
);

impl EndpointSliceExport {
    /// Its name.
    pub fn slice_name(&self, name: &ObjectName) -> Arc<str> {
        Arc::clone(&name.name)
    }
}

impl EndpointSliceImport {
    /// Name of the `EndpointSliceExport` that it copies, which is its own unless that was taken.
    pub fn slice_name(&self, name: &ObjectName) -> Arc<str> {
        let recorded = self.meta.annotation(annotations::SLICE_EXPORT_NAME);
        recorded.map_or_else(|| Arc::clone(&name.name), Arc::from)
    }

    /// The member whose endpoints the import carries. The hub agent annotates its namespace; an import that a Go hub
    /// agent made has only the `clusterId` that the exporter claims.
    pub fn origin(&self) -> &str {
        let origin = self.meta.annotation(annotations::ORIGIN_NAMESPACE);
        let origin = origin.and_then(names::member_of_namespace);
        origin.unwrap_or(&self.spec.endpoint_slice_reference.cluster_id)
    }

    /// The addresses of its endpoints.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let endpoints = self.spec.endpoints.iter().chain(&self.spec.draining_endpoints);
        endpoints.flat_map(|endpoint| endpoint.addresses.iter().map(String::as_str))
    }

    /// The members that run endpoints of it in place of the exporter; one can be among them more than once.
    pub fn executors(&self) -> impl Iterator<Item = &str> {
        let endpoints = self.spec.endpoints.iter().chain(&self.spec.draining_endpoints);
        endpoints.filter_map(|endpoint| endpoint.executor.as_deref())
    }

    /// Whether it has an endpoint with one of these addresses, or, very rarely, with one of the same hash. Reads the endpoints of an
    /// object once.
    pub fn has_any(&self, wanted: &Wanted) -> bool {
        self.hashes.find(wanted, || self.addresses())
    }
}
