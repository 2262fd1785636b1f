//! Flags of the leader election.

use std::time::Duration;

use clap::{ArgAction, Args};
use fleet_api::names;

use super::duration::duration;
use crate::lease::{Timing, TimingError};

/// Flags of the leader election, and of what it depends on.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct LeaseArgs {
    /// Use leader election, so that only one of several replicas of this agent writes.
    #[arg(
        long,
        env = "LEADER_ELECT",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true"
    )]
    pub leader_elect: bool,

    /// Namespace of the Lease, in the agent's own cluster.
    #[arg(
        long,
        env = "LEADER_ELECTION_NAMESPACE",
        default_value = names::SYSTEM_NAMESPACE,
        value_name = "NAMESPACE"
    )]
    pub leader_election_namespace: String,

    /// Time after the last observed renewal after which another replica may take the Lease.
    #[arg(
        long,
        env = "LEADER_ELECTION_LEASE_DURATION",
        default_value = "30s",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub leader_election_lease_duration: Duration,

    /// Time after its last renewal during which the leader may still write.
    #[arg(
        long,
        env = "LEADER_ELECTION_RENEW_DEADLINE",
        default_value = "10s",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub leader_election_renew_deadline: Duration,

    /// Interval at which the leader renews the Lease, and others check it.
    #[arg(
        long,
        env = "LEADER_ELECTION_RETRY_PERIOD",
        default_value = "2s",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub leader_election_retry_period: Duration,

    /// Time to wait for the response to a write.
    #[arg(
        long,
        env = "WRITE_TIMEOUT",
        default_value = "10s",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub write_timeout: Duration,
}

impl LeaseArgs {
    /// The times of the election; `None` if there is none.
    ///
    /// # Errors
    /// One line that names the flags.
    pub fn timing(&self) -> Result<Option<Timing>, TimingError> {
        let timing = Timing {
            duration: self.leader_election_lease_duration,
            renew_deadline: self.leader_election_renew_deadline,
            retry_period: self.leader_election_retry_period,
            write_timeout: self.write_timeout,
        };
        self.leader_elect.then(|| timing.check()).transpose()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Agent {
        #[command(flatten)]
        lease: LeaseArgs,
    }

    fn timing(flags: &[&str]) -> Result<Option<Timing>, TimingError> {
        let flags = std::iter::once("agent").chain(flags.iter().copied());
        Agent::try_parse_from(flags).unwrap().lease.timing()
    }

    #[test]
    fn by_default_there_is_an_election() {
        assert_eq!(timing(&[]), Ok(Some(Timing::default())));
        assert_eq!(timing(&["--leader-elect"]), Ok(Some(Timing::default())));
        assert_eq!(timing(&["--leader-elect=false"]), Ok(None));
    }

    #[test]
    fn times_that_allow_two_writers_are_refused() {
        let error = timing(&["--leader-election-lease-duration=15s"]).unwrap_err().to_string();
        assert!(error.contains("--leader-election-lease-duration"), "{error}");
        // Without an election they do not matter.
        let off = ["--leader-elect=false", "--leader-election-lease-duration=15s"];
        assert_eq!(timing(&off), Ok(None));
    }
}
