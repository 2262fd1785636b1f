//! Which Services the agent makes EndpointSlices for.

use fleet_api::labels;
use fleet_endpointslice::MANAGER;

/// For which Services EndpointSlices are made of pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// No Service.
    #[default]
    Off,
    /// Services with the annotation networking.fleet.azure.com/endpoint-network, from the pods' addresses on
    /// that network.
    OptIn,
    /// All Services, instead of kube-controller-manager's endpointslice-controller; those with the annotation
    /// as with `opt-in`.
    All,
}

impl Mode {
    /// The value of the flag.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::OptIn => "opt-in",
            Self::All => "all",
        }
    }

    /// The managers of the slices that are made.
    pub fn managers(self) -> &'static [&'static str] {
        match self {
            Self::Off => &[],
            Self::OptIn => &[labels::MANAGED_BY_NETWORK],
            Self::All => &[MANAGER, labels::MANAGED_BY_NETWORK],
        }
    }

    /// Whether Services can request endpoints on a network.
    pub fn serves_networks(self) -> bool {
        self != Self::Off
    }
}
