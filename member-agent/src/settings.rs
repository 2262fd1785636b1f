//! What the member agent was told, as its controllers see it.

mod mode;

use std::time::Duration;

pub use mode::Mode;

use crate::Identity;

/// How long a derived Service outlives its last exporter unless a flag says otherwise.
pub(crate) const DERIVED_SERVICE_GRACE: Duration = Duration::from_mins(1);

/// Most endpoints of a slice unless a flag says otherwise, as the built-in controller has it.
pub(crate) const MAX_ENDPOINTS_PER_SLICE: usize = 100;

/// Settings of the controllers. Plans are functions of these and of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which member this is.
    pub identity: Identity,
    /// How long a derived Service, and with it its address, outlives its last exporter.
    pub derived_service_grace: Duration,
    /// Whether anything is exported and imported. Without, the agent only reports to the hub, and
    /// leaves a fleet without looking for what others may have left.
    pub networking: bool,
    /// Whether Services get endpoints from ExternalWorkloads, where that kind is served.
    pub external_workloads: bool,
    /// Of which Services EndpointSlices are made.
    pub endpointslices: Mode,
    /// Most endpoints of such a slice.
    pub max_endpoints_per_slice: usize,
    /// How long a change of pods waits for others before such slices follow.
    pub endpointslice_batch_period: Duration,
}

impl Settings {
    /// The member `cluster` with everything else as the flags' defaults have it.
    pub fn new(cluster: impl Into<String>) -> Self {
        Self {
            identity: Identity::new(cluster),
            derived_service_grace: DERIVED_SERVICE_GRACE,
            networking: true,
            external_workloads: false,
            endpointslices: Mode::Off,
            max_endpoints_per_slice: MAX_ENDPOINTS_PER_SLICE,
            endpointslice_batch_period: Duration::ZERO,
        }
    }
}
