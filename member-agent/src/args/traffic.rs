//! Flags of traffic policies.

use std::fmt;
use std::time::Duration;

use clap::{ArgAction, ValueEnum};
use fleet_runtime::args::duration;
use fleet_traffic::DataPlane;

use crate::Traffic;

/// How traffic of imported Services is directed.
#[derive(clap::Args, Clone, Debug)]
pub struct TrafficArgs {
    /// Let policies, drains and silence of members decide which endpoints of imported Services get new connections. Requires
    /// definitions of traffic policies on the hub and in this cluster.
    #[arg(
        long,
        env = "TRAFFIC",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub traffic: bool,

    /// Let policies ask for own endpoints by Kubernetes (localEndpoints: Kubernetes): derived Services of multicluster.x-k8s.io get the
    /// selector of the exported Service. The admission policies of the chart have to allow it.
    #[arg(
        long,
        env = "DERIVED_SELECTORS",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub derived_selectors: bool,

    /// What the nodes of this cluster follow: kube-proxy 1.34 or later, with zone hints, or conditions of endpoints alone.
    #[arg(long, env = "DATA_PLANE", value_name = "NAME", default_value_t)]
    pub data_plane: NodeProxy,

    /// Time after a hub was rebuilt or restored, and its agent has stopped waiting for members, until an exporter that has not come back
    /// to it counts as silent: what is kept of it is last resort then, and goes with `fleetctl forget` alone.
    #[arg(
        long,
        env = "MISSING_EXPORTER_AFTER",
        default_value = "10m",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub missing_exporter_after: Duration,
}

/// What the nodes of this cluster follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum NodeProxy {
    /// Zone hints and conditions.
    #[default]
    KubeProxy,
    /// Conditions.
    Conditions,
}

impl fmt::Display for NodeProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KubeProxy => "kube-proxy",
            Self::Conditions => "conditions",
        })
    }
}

impl TrafficArgs {
    /// The settings that the flags give.
    pub(super) fn settings(&self) -> Traffic {
        Traffic {
            enabled: self.traffic,
            derived_selectors: self.derived_selectors,
            data_plane: match self.data_plane {
                NodeProxy::KubeProxy => DataPlane::KubeProxy,
                NodeProxy::Conditions => DataPlane::Conditions,
            },
            missing_after: self.missing_exporter_after,
        }
    }
}
