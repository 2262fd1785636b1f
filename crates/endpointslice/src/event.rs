//! Events about topology hints.

use std::fmt;

use crate::AddressType;

/// Why topology hints were enabled or disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Endpoints got hints.
    Enabled,
    /// The annotation no longer requests hints.
    Disabled,
    /// A node has no zone or no capacity, or all ready nodes are in one zone.
    NodeInfo,
    /// Fewer than two zones are known.
    OneZone,
    /// There are more zones than ready endpoints.
    TooFewEndpoints,
    /// A zone would be overloaded.
    OverloadThreshold,
    /// A ready endpoint has no zone.
    EndpointWithoutZone,
    /// No zone got an endpoint.
    NoHintsAllocated,
}

/// An Event about a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Why it is emitted.
    pub cause: Cause,
    /// Address type of the endpoints.
    pub address_type: AddressType,
    /// Number of endpoints and of zones, where these are the reason.
    pub sizes: Option<(usize, usize)>,
}

impl Event {
    /// Whether it is a warning.
    pub fn is_warning(&self) -> bool {
        self.cause != Cause::Enabled
    }

    /// Its machine-readable reason.
    pub fn reason(&self) -> &'static str {
        if self.is_warning() { "TopologyAwareHintsDisabled" } else { "TopologyAwareHintsEnabled" }
    }
}

impl Cause {
    fn sentence(self) -> &'static str {
        match self {
            Self::Enabled => "Topology Aware Hints has been enabled",
            Self::Disabled => "Topology Aware Hints has been disabled",
            Self::NodeInfo => "The nodes' zones and capacity do not allow hints",
            Self::OneZone => "All ready nodes are in one zone",
            Self::TooFewEndpoints => "There are fewer endpoints than zones",
            Self::OverloadThreshold => "Hints would overload a zone",
            Self::EndpointWithoutZone => "An endpoint has no zone",
            Self::NoHintsAllocated => "No zone got any endpoint",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.cause.sentence())?;
        if let Some((endpoints, zones)) = self.sizes {
            write!(f, " ({endpoints} endpoints, {zones} zones)")?;
        }
        write!(f, ", addressType: {}", self.address_type)
    }
}
