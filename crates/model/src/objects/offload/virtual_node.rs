//! `VirtualNode`.

use std::sync::Arc;

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::offload::{self, VirtualNodeSpec, VirtualNodeStatus};
use fleet_api::{ObjectName, ResourceKind, kinds};

use crate::objects::missing::MISSING;

wire! {
    /// A `VirtualNode` on the wire.
    pub struct VirtualNodeWire as offload::VirtualNode {
        spec: Option<VirtualNodeSpec>,
        status: Option<VirtualNodeStatus>,
    }
}

/// An executor as one origin sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualNode {
    /// Metadata.
    pub meta: Meta,
    /// What the hub agent wrote.
    pub spec: VirtualNodeSpec,
    /// What origin and hub agent have reported.
    pub status: VirtualNodeStatus,
}

impl Tracked for VirtualNode {
    const KIND: ResourceKind = kinds::VIRTUAL_NODE;
    type Wire = VirtualNodeWire;
    type Index = Arc<str>;

    fn project(wire: VirtualNodeWire) -> Result<Self, String> {
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            spec: wire.spec.ok_or(MISSING)?,
            status: wire.status.unwrap_or_default(),
        })
    }

    /// A status that does not decode is written anew.
    fn salvage(wire: VirtualNodeWire, defect: &str) -> Result<Self, String> {
        if wire.spec.is_none() { Err(defect.to_owned()) } else { Self::project(wire) }
    }

    /// By its executor.
    fn index(&self, _: &ObjectName) -> Vec<Arc<str>> {
        vec![self.spec.executor.as_str().into()]
    }
}
