//! Flags of the hub agent.

use clap::Parser;
use fleet_runtime::args::RuntimeArgs;

/// Resolves, grants and distributes the Services of a fleet. Runs in the hub cluster.
///
/// The hub is reached through KUBECONFIG, or as the Pod's service account.
#[derive(Clone, Debug, Parser)]
#[command(name = "hub-agent", version)]
pub struct Args {
    /// Flags of the process.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
}
