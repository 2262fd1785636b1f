//! Flags of the hub agent.

use clap::Parser;
use fleet_runtime::args::RuntimeArgs;

use crate::Settings;

/// Resolves, grants and distributes the Services of a fleet. Runs in the hub cluster.
///
/// The hub is reached through KUBECONFIG, or as the Pod's service account.
#[derive(Clone, Debug, Parser)]
#[command(name = "hub-agent", version)]
pub struct Args {
    /// Flags of the process.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
    /// Let one member at a time import a Service, the first that asks, as the original does.
    #[arg(
        long,
        env = "EXCLUSIVE_IMPORTS",
        value_name = "BOOL",
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub exclusive_imports: bool,
}

impl Args {
    /// What the rooms are told.
    pub fn settings(&self) -> Settings {
        Settings { exclusive_imports: self.exclusive_imports }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_take_a_value_or_none() {
        for (argument, wanted) in [
            ("--exclusive-imports", true),
            ("--exclusive-imports=true", true),
            ("--exclusive-imports=false", false),
        ] {
            let args = Args::try_parse_from(["hub-agent", argument]).unwrap();
            assert_eq!(args.settings().exclusive_imports, wanted, "{argument}");
        }
        assert!(!Args::try_parse_from(["hub-agent"]).unwrap().settings().exclusive_imports);
    }
}
