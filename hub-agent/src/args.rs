//! Flags of the hub agent.

use std::time::Duration;

use clap::Parser;
use fleet_runtime::args::{RuntimeArgs, duration};

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

    /// How long a member whose MemberCluster was deleted may take to leave. Then the hub lets go of
    /// the slices that it imported.
    #[arg(
        long,
        env = "FORCE_DELETE_WAIT_TIME",
        default_value = "15m",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub force_delete_wait_time: Duration,

    /// How long a member may be silent before that is reported. Without it five heartbeats, but at
    /// least 60 s.
    #[arg(
        long,
        env = "MEMBER_HEARTBEAT_TTL",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub member_heartbeat_ttl: Option<Duration>,
}

impl Args {
    /// What the controllers are told.
    pub fn settings(&self) -> Settings {
        Settings {
            exclusive_imports: self.exclusive_imports,
            force_delete_wait: self.force_delete_wait_time,
            heartbeat_ttl: self.member_heartbeat_ttl,
        }
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
    }

    #[test]
    fn the_defaults_of_flags_and_settings_are_the_same() {
        let args = Args::try_parse_from(["hub-agent"]).unwrap();
        assert_eq!(args.settings(), Settings::default());
    }

    #[test]
    fn durations_are_written_as_for_the_original() {
        let flags = ["hub-agent", "--force-delete-wait-time=2m0s", "--member-heartbeat-ttl=90s"];
        let settings = Args::try_parse_from(flags).unwrap().settings();
        assert_eq!(settings.force_delete_wait, Duration::from_mins(2));
        assert_eq!(settings.heartbeat_ttl, Some(Duration::from_secs(90)));
    }
}
