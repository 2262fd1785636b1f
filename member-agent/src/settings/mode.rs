//! Which Services the agent makes EndpointSlices for.

use fleet_api::labels;
use fleet_endpointslice::MANAGER;

/// Of which Services slices are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// Of none.
    #[default]
    Off,
    /// Of those with the annotation networking.fleet.azure.com/endpoint-network, from the pods'
    /// addresses on that network.
    OptIn,
    /// Of all, in the place of kube-controller-manager's endpointslice-controller, and of those
    /// with the annotation as before.
    All,
}

impl Mode {
    /// The managers of the slices that are made.
    pub fn managers(self) -> &'static [&'static str] {
        match self {
            Self::Off => &[],
            Self::OptIn => &[labels::MANAGED_BY_NETWORK],
            Self::All => &[MANAGER, labels::MANAGED_BY_NETWORK],
        }
    }

    /// Whether Services can ask for endpoints on a network.
    pub fn serves_networks(self) -> bool {
        self != Self::Off
    }
}
