//! The flag of the proof of reachability.

use std::fmt;

use clap::ValueEnum;

use crate::Reachability;

/// What is dialled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReachabilityMode {
    /// Nothing.
    #[default]
    Off,
    /// Endpoints and addresses.
    Addresses,
    /// Endpoints, addresses and names.
    Names,
}

impl fmt::Display for ReachabilityMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Addresses => "addresses",
            Self::Names => "names",
        })
    }
}

impl From<ReachabilityMode> for Reachability {
    fn from(mode: ReachabilityMode) -> Self {
        match mode {
            ReachabilityMode::Off => Self::Off,
            ReachabilityMode::Addresses => Self::Addresses,
            ReachabilityMode::Names => Self::Names,
        }
    }
}
