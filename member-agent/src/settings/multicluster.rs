//! How the standard API of SIG Multicluster is served.

use std::time::Duration;

use fleet_model::multicluster::mode::Mode;

use super::import_namespaces::ImportNamespaces;

/// Default time for which the hub's kinds must have been watched without a break before their absence counts.
const MULTICLUSTER_SETTLE: Duration = Duration::from_mins(1);

/// How the standard API is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multicluster {
    /// Whether it is.
    pub mode: Mode,
    /// For how long the hub's kinds must have been watched without a break before their absence counts.
    pub settle: Duration,
    /// Whether labels and annotations that ServiceExports ask for are exported.
    pub exported_metadata: bool,
    /// Which Services are imported.
    pub import_namespaces: ImportNamespaces,
    /// Whether imported endpoints carry the zones of their clusters.
    pub zones: bool,
}

impl Default for Multicluster {
    fn default() -> Self {
        let (mode, settle) = (Mode::Off, MULTICLUSTER_SETTLE);
        let import_namespaces = ImportNamespaces::default();
        Self { mode, settle, exported_metadata: true, import_namespaces, zones: true }
    }
}

impl Multicluster {
    /// Whether the kinds of the API are read at all.
    pub fn is_watched(&self) -> bool {
        self.mode != Mode::Off
    }
}
