//! `PodExport`.

use std::sync::Arc;

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::offload::{self, PodExportSpec, PodExportStatus};
use fleet_api::{ObjectName, ResourceKind, kinds};

use super::shared_spec::share;
use crate::objects::missing::MISSING;

wire! {
    /// A `PodExport` on the wire.
    pub struct PodExportWire as offload::PodExport {
        spec: Option<PodExportSpec>,
        status: Option<PodExportStatus>,
    }
}

/// A Pod that its origin gives to an executor.
#[derive(Clone, Debug, PartialEq)]
pub struct PodExport {
    /// Metadata.
    pub meta: Meta,
    /// What crosses; nothing if it cannot be decoded.
    pub spec: Arc<PodExportSpec>,
    /// What the hub agent has reported, within its bound.
    pub status: PodExportStatus,
    /// Why its spec cannot be decoded. Such an export is refused, and is released when it is deleted.
    pub unreadable: Option<Box<str>>,
}

impl Tracked for PodExport {
    const KIND: ResourceKind = kinds::POD_EXPORT;
    type Wire = PodExportWire;
    type Index = Arc<str>;

    fn project(wire: PodExportWire) -> Result<Self, String> {
        Self::salvage(wire, MISSING)
    }

    fn salvage(wire: PodExportWire, defect: &str) -> Result<Self, String> {
        let unreadable = wire.spec.is_none().then(|| defect.into());
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            spec: share(wire.spec.unwrap_or_default()),
            status: wire.status.unwrap_or_default().bounded(),
            unreadable,
        })
    }

    /// By its executor.
    fn index(&self, _: &ObjectName) -> Vec<Arc<str>> {
        vec![self.spec.executor.as_str().into()]
    }

    /// By the namespace of its origin.
    fn tally(&self, name: &ObjectName) -> Option<Arc<str>> {
        Some(Arc::clone(&name.namespace))
    }
}
