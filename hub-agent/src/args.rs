//! Flags of the hub agent.

use std::time::Duration;

use clap::Parser;
use fleet_api::names::is_dns1123_label;
use fleet_model::denied_namespaces::DeniedNamespaces;
use fleet_model::multicluster::mode::Mode;
use fleet_runtime::args::{RuntimeArgs, duration};
use fleet_virtual_node::life::NOTICED;

use crate::Settings;

/// A renewal and a half.
const SHORTEST_SILENCE: Duration = Duration::from_secs(15);

/// Runs in the hub cluster of a fleet: resolves the Services that members export, grants imports, and distributes
/// EndpointSlices.
///
/// Connects to the hub with KUBECONFIG, or with the service account of its Pod.
#[derive(Clone, Debug, Parser)]
#[command(name = "hub-agent", version)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Args {
    /// Flags that both agents have.
    #[command(flatten)]
    pub runtime: RuntimeArgs,

    /// Allow only one member at a time to import a Service: the first that requests it, as with the Go hub agent
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

    /// Namespaces whose Services are neither exported nor imported, as `name` or `beginning*`. Exports and imports in force
    /// stay. The namespace of the Lease is always one of them
    #[arg(
        long,
        env = "DENIED_NAMESPACES",
        default_value = DeniedNamespaces::DEFAULT,
        value_name = "PATTERNS"
    )]
    pub denied_namespaces: DeniedNamespaces,

    /// Withdraw exports and imports of Services that the member policy of their member does not list, or no longer lists. A
    /// policy that is missing or cannot be read withdraws nothing
    #[arg(
        long,
        env = "ENFORCE_MEMBER_POLICIES",
        value_name = "BOOL",
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true"
    )]
    pub enforce_member_policies: bool,

    /// Maximum number of endpoints that a member exports for one Service. EndpointSlices beyond it are not distributed, the
    /// youngest first. Those that importers have stay, up to ten times as many endpoints
    #[arg(
        long,
        env = "MAX_ENDPOINTS_PER_SERVICE",
        default_value_t = 10_000,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub max_endpoints_per_service: u32,

    /// Maximum number of Services that a member exports, by each of the two APIs. Further exports are rejected. Those in force stay
    #[arg(
        long,
        env = "MAX_SERVICES_PER_MEMBER",
        default_value_t = 5_000,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub max_services_per_member: u32,

    /// Time a member has to leave after its MemberCluster is deleted. After that, the hub agent removes the
    /// member's finalizers from its EndpointSliceImports that are being deleted, unless it sends heartbeats
    #[arg(
        long,
        env = "FORCE_DELETE_WAIT_TIME",
        default_value = "15m",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub force_delete_wait_time: Duration,

    /// Time without a heartbeat after which a member is reported. Default: five heartbeat periods, at least 60 s
    #[arg(
        long,
        env = "MEMBER_HEARTBEAT_TTL",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub member_heartbeat_ttl: Option<Duration>,

    /// Follow the Leases fleet-member of members, which members with the same flag renew, and report members that do not
    #[arg(
        long,
        env = "MEMBER_LEASE",
        value_name = "BOOL",
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub member_lease: bool,

    /// Time without a renewal of its Lease after which a member is silent, at least 15s, and with --virtual-nodes 60s. Members renew
    /// every 10 seconds
    #[arg(
        long,
        env = "MEMBER_SILENT_AFTER",
        default_value = "60s",
        value_name = "DURATION",
        value_parser = silent_after
    )]
    pub member_silent_after: Duration,

    /// Whether ServiceExports of multicluster.x-k8s.io are resolved: `on`, `off`, or `clean-up`, which withdraws what was
    /// resolved. Members have the same flag
    #[arg(long, env = "MULTICLUSTER", default_value_t = Mode::Off, value_name = "MODE")]
    pub multicluster: Mode,

    /// Id of the clusterset that the members form, as ClusterProperties of members name it
    #[arg(
        long,
        env = "CLUSTERSET_ID",
        default_value = "fleet",
        value_name = "ID",
        value_parser = label
    )]
    pub clusterset_id: String,

    /// Time for which exports with multicluster.x-k8s.io must have been watched without a break before one that is missing counts as
    /// withdrawn. Members have the same flag
    #[arg(
        long,
        env = "MULTICLUSTER_SETTLE",
        default_value = "60s",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub multicluster_settle: Duration,

    /// Time for which a Service that no member exports any more with multicluster.x-k8s.io is kept on the hub, marked as withdrawn:
    /// members that are away for longer need their users to delete its ServiceImport
    #[arg(
        long,
        env = "MULTICLUSTER_WITHDRAWN_FOR",
        default_value = "1h",
        value_name = "DURATION",
        value_parser = duration
    )]
    pub multicluster_withdrawn_for: Duration,

    /// Carry Pods of members to other members that offer to run them, on virtual nodes. Follows the Leases of members, as
    /// --member-lease does, and requires the definitions of offloading
    #[arg(
        long,
        env = "VIRTUAL_NODES",
        value_name = "BOOL",
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub virtual_nodes: bool,

    /// Decide which members are silent and how far drains are, for all importers. Requires --member-lease, the definitions of
    /// traffic.networking.fleet.azure.com, and a FleetTraffic named fleet
    #[arg(
        long,
        env = "TRAFFIC",
        value_name = "BOOL",
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub traffic: bool,
}

/// Reads a time that leaves members the time to renew.
fn silent_after(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time < SHORTEST_SILENCE { Err("it must be at least 15s".to_owned()) } else { Ok(time) }
}

/// Reads an RFC 1123 label.
fn label(text: &str) -> Result<String, String> {
    let refused = || format!("{text:?} is not made of lower-case letters, digits and inner dashes");
    is_dns1123_label(text).then(|| text.to_owned()).ok_or_else(refused)
}

impl Args {
    /// After which time without a renewal members are silent; `None` if their Leases are not followed.
    pub fn silent_after(&self) -> Option<Duration> {
        (self.member_lease || self.virtual_nodes).then_some(self.member_silent_after)
    }

    /// Checks what flags mean together.
    ///
    /// # Errors
    /// One line that names the flags.
    pub fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(!self.traffic || self.member_lease, "--traffic requires --member-lease");
        anyhow::ensure!(
            !self.virtual_nodes || self.member_silent_after == NOTICED,
            "--virtual-nodes requires --member-silent-after={}s: members whose Pods end by themselves count on it",
            NOTICED.as_secs()
        );
        Ok(())
    }

    /// The settings of the controllers.
    pub fn settings(&self) -> Settings {
        Settings {
            exclusive_imports: self.exclusive_imports,
            denied_namespaces: self
                .denied_namespaces
                .and(self.runtime.lease.leader_election_namespace.as_str()),
            enforce_member_policies: self.enforce_member_policies,
            max_endpoints_per_service: count(self.max_endpoints_per_service),
            max_services_per_member: count(self.max_services_per_member),
            force_delete_wait: self.force_delete_wait_time,
            heartbeat_ttl: self.member_heartbeat_ttl,
            multicluster: self.multicluster,
            clusterset_id: self.clusterset_id.clone(),
            multicluster_settle: self.multicluster_settle,
            multicluster_withdrawn_for: self.multicluster_withdrawn_for,
            virtual_nodes: self.virtual_nodes,
            traffic: self.traffic,
        }
    }
}

fn count(argument: u32) -> usize {
    usize::try_from(argument).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boolean_flag_can_be_given_without_a_value() {
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
    fn flags_and_settings_have_the_same_defaults() {
        let args = Args::try_parse_from(["hub-agent"]).unwrap();
        assert_eq!(args.settings(), Settings::default());
    }

    #[test]
    fn the_standard_api_is_off_unless_it_is_asked_for() {
        for (argument, mode) in [("off", Mode::Off), ("clean-up", Mode::CleanUp), ("on", Mode::On)]
        {
            let args = Args::try_parse_from(["hub-agent", "--multicluster", argument]).unwrap();
            assert_eq!(args.settings().multicluster, mode);
        }
        for wrong in [["--multicluster", "yes"], ["--clusterset-id", "my.fleet"]] {
            let error = Args::try_parse_from([&["hub-agent"][..], &wrong].concat()).unwrap_err();
            assert!(error.to_string().contains(wrong[1]), "{error}");
        }
    }

    #[test]
    fn leases_of_members_are_followed_only_if_it_is_asked_for() {
        let args = |flags: &[&str]| Args::try_parse_from([&["hub-agent"][..], flags].concat());
        assert_eq!(args(&[]).unwrap().silent_after(), None);
        let minute = Some(Duration::from_mins(1));
        assert_eq!(args(&["--member-lease"]).unwrap().silent_after(), minute);
        let short = ["--member-lease=true", "--member-silent-after=15s"];
        assert_eq!(args(&short).unwrap().silent_after(), Some(Duration::from_secs(15)));
        args(&["--virtual-nodes"]).unwrap().check().unwrap();
        for other in ["15s", "5m"] {
            let flags = ["--virtual-nodes", &format!("--member-silent-after={other}")];
            let error = args(&flags).unwrap().check().unwrap_err().to_string();
            assert!(error.contains("requires --member-silent-after=60s"), "{error}");
        }
        assert!(args(&["--member-silent-after=10s"]).is_err());
    }

    /// Verdicts come from Leases.
    #[test]
    fn traffic_is_off_and_requires_leases() {
        let args = |flags: &[&str]| {
            let flags = [&["hub-agent"][..], flags].concat();
            Args::try_parse_from(flags).unwrap()
        };
        assert!(!args(&[]).settings().traffic && args(&[]).check().is_ok());
        let error = args(&["--traffic"]).check().unwrap_err();
        assert_eq!(error.to_string(), "--traffic requires --member-lease");
        let both = args(&["--traffic", "--member-lease"]);
        assert!(both.settings().traffic && both.check().is_ok());
    }

    #[test]
    fn durations_have_the_format_of_the_go_agents() {
        let flags = ["hub-agent", "--force-delete-wait-time=2m0s", "--member-heartbeat-ttl=90s"];
        let settings = Args::try_parse_from(flags).unwrap().settings();
        assert_eq!(settings.force_delete_wait, Duration::from_mins(2));
        assert_eq!(settings.heartbeat_ttl, Some(Duration::from_secs(90)));
    }
}
