//! `OffloadOffer`.

use std::sync::Arc;

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::offload::{self, OffloadOfferSpec, OffloadOfferStatus};
use fleet_api::{ObjectName, ResourceKind, kinds};

use crate::objects::missing::MISSING;

wire! {
    /// An `OffloadOffer` on the wire.
    pub struct OffloadOfferWire as offload::OffloadOffer {
        spec: Option<OffloadOfferSpec>,
        status: Option<OffloadOfferStatus>,
    }
}

/// What an executor offers.
#[derive(Clone, Debug, PartialEq)]
pub struct OffloadOffer {
    /// Metadata.
    pub meta: Meta,
    /// The offer.
    pub spec: OffloadOfferSpec,
    /// What the hub agent has reported.
    pub status: OffloadOfferStatus,
}

impl Tracked for OffloadOffer {
    const KIND: ResourceKind = kinds::OFFLOAD_OFFER;
    type Wire = OffloadOfferWire;
    type Index = ();

    fn project(wire: OffloadOfferWire) -> Result<Self, String> {
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            spec: wire.spec.ok_or(MISSING)?,
            status: wire.status.unwrap_or_default(),
        })
    }

    /// A status that does not decode is written anew.
    fn salvage(wire: OffloadOfferWire, defect: &str) -> Result<Self, String> {
        if wire.spec.is_none() { Err(defect.to_owned()) } else { Self::project(wire) }
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }

    /// By the namespace of its executor.
    fn tally(&self, name: &ObjectName) -> Option<Arc<str>> {
        Some(Arc::clone(&name.namespace))
    }
}
