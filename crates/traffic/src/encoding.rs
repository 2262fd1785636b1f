use std::collections::BTreeSet;

use crate::zones::MAX_ZONES;

/// What programs the nodes of the importing cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataPlane {
    /// kube-proxy, which follows zone hints.
    #[default]
    KubeProxy,
    /// Cilium with its Service topology turned on.
    Cilium,
    /// One that ignores hints.
    Conditions,
}

/// How an order of endpoints is written into EndpointSlices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Zone hints make two ranks, conditions a third.
    Hints,
    /// Conditions alone make two.
    Conditions,
}

impl Encoding {
    /// That of a Service, from the data plane, the zones of the cluster's nodes (`""` for nodes without one), and whether
    /// Kubernetes itself writes the own slices, which have no hints of ours.
    pub fn new(
        data_plane: DataPlane,
        zones: &BTreeSet<String>,
        kubernetes_writes_own: bool,
    ) -> Self {
        let ignores_hints = data_plane == DataPlane::Conditions;
        if ignores_hints || kubernetes_writes_own || zones.len() > MAX_ZONES {
            Self::Conditions
        } else {
            Self::Hints
        }
    }

    /// Ranks that failures alone bring into use while endpoints are ready, without a write.
    pub(crate) fn native_ranks(self) -> usize {
        match self {
            Self::Hints => 2,
            Self::Conditions => 1,
        }
    }
}
