use std::time::Duration;

use fleet_traffic::DataPlane;

/// For how long an exporter may fail to come back to a hub that was built anew, after most have.
pub(crate) const MISSING_AFTER: Duration = Duration::from_mins(10);

/// How traffic of imported Services is directed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Whether policies, drains and verdicts decide which endpoints get new connections. If not, all do.
    pub enabled: bool,
    /// Whether derived Services of the standard API may have the selector of the exported Service, so that
    /// kube-controller-manager writes their own endpoints.
    pub derived_selectors: bool,
    /// What programs the nodes of this cluster.
    pub data_plane: DataPlane,
    /// How long after a hub was rebuilt an exporter that has not come back to it counts as silent.
    pub missing_after: Duration,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            enabled: false,
            derived_selectors: false,
            data_plane: DataPlane::default(),
            missing_after: MISSING_AFTER,
        }
    }
}
