use fleet_traffic::DataPlane;

/// How traffic of imported Services is directed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Whether policies, drains and verdicts decide which endpoints get new connections. If not, all do.
    pub enabled: bool,
    /// What programs the nodes of this cluster.
    pub data_plane: DataPlane,
}
