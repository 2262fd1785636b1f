//! Flags that both agents share.

mod duration;
mod lease;
mod legacy_flags;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::admin::Addresses;
pub use duration::{duration, interval, watch_seconds};
pub use lease::LeaseArgs;
pub use legacy_flags::{LegacyFlags, Unsupported};

/// Flags of the process itself; flatten them into an agent's own.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct RuntimeArgs {
    /// Address that serves /metrics. ":8080" means all addresses, "0" none.
    #[arg(long, env = "METRICS_BIND_ADDRESS", default_value = ":8080", value_name = "ADDRESS")]
    pub metrics_bind_address: String,

    /// Address that serves /livez and /readyz. ":8081" means all addresses, "0" none.
    #[arg(
        long,
        env = "HEALTH_PROBE_BIND_ADDRESS",
        default_value = ":8081",
        value_name = "ADDRESS"
    )]
    pub health_probe_bind_address: String,

    /// Log level, or a filter such as `info,fleet_runtime=debug`. Defaults to `RUST_LOG`, else to `info`.
    #[arg(long, env = "LOG_LEVEL", value_name = "FILTER")]
    pub log_level: Option<String>,

    /// Base URL of an OpenTelemetry collector (OTLP over HTTP) that receives traces of endpoint changes, such as
    /// `http://collector:4318`. If not set, no traces are sent.
    // Checked where it is used: an empty variable is as good as none, which the parser would refuse.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    pub otlp_endpoint: Option<String>,

    /// Maximum number of concurrent writes per API server.
    #[arg(
        long,
        env = "WRITES_IN_FLIGHT",
        default_value_t = 16,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    pub writes_in_flight: u16,

    /// Time after which the API server of the agent's own cluster ends a watch, at most 290s. A broken connection is
    /// detected 5 s later at the latest.
    #[arg(
        long,
        env = "WATCH_TIMEOUT",
        default_value = "290s",
        value_name = "DURATION",
        value_parser = watch_seconds
    )]
    pub watch_timeout: u32,

    /// Interval at which all watched objects are listed again, in case an event was lost.
    #[arg(
        long,
        env = "RELIST_INTERVAL",
        default_value = "30m",
        value_name = "DURATION",
        value_parser = interval
    )]
    pub relist_interval: Duration,

    /// The leader election.
    #[command(flatten)]
    pub lease: LeaseArgs,

    /// Flags that are taken for the sake of the original's arguments.
    #[command(flatten)]
    pub legacy_flags: LegacyFlags,

    /// Kubeconfig of the agent's own cluster. Defaults to KUBECONFIG, else to the service account of the Pod.
    #[arg(long, env = "OWN_KUBECONFIG", value_name = "PATH")]
    pub kubeconfig: Option<PathBuf>,

    /// Addresses of an agent's own flags.
    #[arg(skip)]
    pub also: Addresses,
}

impl RuntimeArgs {
    /// Where to listen.
    pub fn addresses(&self) -> Addresses {
        let mut addresses = self.also.clone();
        addresses.metrics.insert(0, ("--metrics-bind-address", self.metrics_bind_address.clone()));
        let health = ("--health-probe-bind-address", self.health_probe_bind_address.clone());
        addresses.health.insert(0, health);
        addresses
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Agent {
        #[command(flatten)]
        runtime: RuntimeArgs,
    }

    #[test]
    fn defaults_are_those_of_the_original() {
        let agent = Agent::try_parse_from(["agent"]).unwrap();
        assert_eq!(agent.runtime.metrics_bind_address, ":8080");
        assert_eq!(agent.runtime.health_probe_bind_address, ":8081");
        assert_eq!(agent.runtime.writes_in_flight, 16);
        assert_eq!(agent.runtime.log_level, None);
    }

    #[test]
    fn watches_and_lists_have_sensible_times() {
        assert_eq!(watch_seconds("45s"), Ok(45));
        assert_eq!(watch_seconds("4m50s"), Ok(290));
        for wrong in ["0s", "291s", "1500ms", "45", ""] {
            assert!(watch_seconds(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(interval("30m"), Ok(Duration::from_mins(30)));
        assert!(interval("0s").is_err());
    }

    #[test]
    fn no_writes_in_flight_is_refused() {
        assert!(Agent::try_parse_from(["agent", "--writes-in-flight", "0"]).is_err());
    }

    #[test]
    fn every_flag_is_an_environment_variable_too() {
        use clap::CommandFactory;
        for flag in Agent::command()
            .get_arguments()
            .filter(|arg| arg.get_id() != "help" && !arg.is_hide_set())
        {
            assert!(flag.get_env().is_some(), "{}", flag.get_id());
        }
    }
}
