use fleet_traffic::DataPlane;

/// How traffic of imported Services is directed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Whether policies, drains and verdicts decide which endpoints get new connections. If not, all do.
    pub enabled: bool,
    /// Whether derived Services of the standard API may have the selector of the exported Service, so that
    /// kube-controller-manager writes their own endpoints.
    pub derived_selectors: bool,
    /// What programs the nodes of this cluster.
    pub data_plane: DataPlane,
}
