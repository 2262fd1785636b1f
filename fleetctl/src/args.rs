//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use fleet_api::{ObjectName, names};

use crate::access::Access;
use crate::output::Output;

/// Joins clusters into a fleet, and says what goes on in it.
///
/// A Service of one member becomes usable in the others by way of the hub: a ServiceExport offers it, and a
/// MultiClusterService in another member asks for it, which then has a derived Service with the same endpoints.
///
/// fleetctl looks at hub and members with your own credentials, as the agents see them, and asks the agents' own code
/// what they make of it. It only reads, except for join and leave. Installed as kubectl-fleet (a link will do) it is
/// `kubectl fleet`.
///
/// Exit codes: 0 all is well or done; 1 something stops, differs or did not happen, as the output says; 2 the question
/// could not be asked: wrong arguments, no cluster, no right.
#[derive(Parser, Debug)]
#[command(name = "fleetctl", version, propagate_version = true)]
pub struct Cli {
    /// How the clusters are reached.
    #[command(flatten)]
    pub access: Access,
    /// How answers are printed.
    #[command(flatten)]
    pub output: Output,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Make a cluster a member: namespace, rights and credentials on the hub, and what the member chart needs
    ///
    /// On the hub it creates the namespace fleet-member-NAME, a service account with rights in there alone, and an
    /// InternalMemberCluster that asks the member to join (where that kind is served). It prints values for the
    /// member-agent chart, or with --secret keeps the token in a Secret of the member's own cluster. Doing it again
    /// changes nothing but the token, which is how to renew it.
    Join(JoinArgs),
    /// Take a member out of the fleet: it cleans up, and then what join made is removed
    ///
    /// The member's agent withdraws all exports and imports, deletes the users' ServiceExports and MultiClusterServices
    /// of that cluster, and reports that it has left; then its namespace on the hub goes. If the cluster is gone for
    /// good, --force removes it without waiting for its agent.
    Leave(LeaveArgs),
    /// Show members, heartbeats, exports, imports, conflicts and what is late
    ///
    /// LAG counts EndpointSlices that have yet to be written, by the agents' own plans: the member's to the hub, the
    /// hub's copies for the member, and what the member binds of them; with `-o wide` also how long ago the exporter saw
    /// the oldest of these changes. Of a member whose own cluster is not seen, only the hub's part is counted. 0 means
    /// that all has arrived.
    Status,
    /// Follow a Service through the fleet, and say where it stops and what to do
    #[command(subcommand)]
    Explain(Explain),
    /// Watch endpoint changes of a Service travel, hop by hop, with times
    ///
    /// Change something (scale the Deployment), and see when the change arrives: in the exporter's EndpointSlice, on the
    /// hub, in the hub's copy for each importer, and in the importer's own slice. Times are taken at this computer, when
    /// the watch event arrives here.
    Trace(TraceArgs),
    /// Show what the agents would write now, by their own plans
    ///
    /// Prints nothing and exits 0 if nothing is to be written, as in a fleet at rest; exits 1 if something is. What the
    /// agents write within a second is not shown. Heartbeats, leases, and EndpointSlices that the agents make of
    /// machines or Pods are left out.
    Diff,
    /// Print a script that completes commands in a shell
    ///
    /// For bash: source <(fleetctl completion bash)
    Completion {
        /// Which shell
        shell: Shell,
    },
}

/// What to explain.
#[derive(Subcommand, Debug)]
pub enum Explain {
    /// One Service: every hop, and in one sentence where it stops and what to do
    ///
    /// Exits 1 if it stops anywhere. The field `cause` of -o json is one of a closed set.
    Service {
        /// Namespace and name, which are the same in all clusters
        #[arg(value_name = "NAMESPACE/NAME", value_parser = service)]
        service: ObjectName,
    },
}

/// How to join.
#[derive(Args, Debug)]
pub struct JoinArgs {
    /// The member's name in the fleet
    pub name: String,
    /// Say what would be made, and make nothing
    #[arg(long)]
    pub dry_run: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = Print::Values)]
    pub print: Print,
    /// Keep the token in a Secret of the member's own cluster (and make its namespace, if there is none)
    #[arg(long)]
    pub secret: bool,
    /// Name of that Secret
    #[arg(long, value_name = "NAME", default_value = "hub-kubeconfig-secret")]
    pub secret_name: String,
    /// Namespace of that Secret: that of the member chart
    #[arg(long, value_name = "NAMESPACE", default_value = names::SYSTEM_NAMESPACE)]
    pub secret_namespace: String,
    /// Address at which the member reaches the hub's API server, if it is another than in your kubeconfig
    #[arg(long, value_name = "URL")]
    pub hub_url: Option<String>,
    /// How long the token is good for, in hours; the API server may shorten it
    #[arg(long, value_name = "HOURS", default_value_t = 8760)]
    pub token_hours: u32,
}

/// What joining prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Print {
    /// Values for the member-agent chart, without the token
    Values,
    /// A Secret with the token, to be applied in the member's own cluster
    Secret,
    /// A kubeconfig with the token
    Kubeconfig,
    /// The token alone
    Token,
    /// Nothing
    Nothing,
}

/// How to leave.
#[derive(Args, Debug)]
pub struct LeaveArgs {
    /// The member's name in the fleet
    pub name: String,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask the member's agent: it is gone for good. What it imported stays in its cluster
    #[arg(long)]
    pub force: bool,
    /// How long to wait for the member's agent, and then for the end of its namespace, in seconds each
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub deadline: u64,
}

/// What to trace.
#[derive(Args, Debug)]
pub struct TraceArgs {
    /// Namespace and name, which are the same in all clusters
    #[arg(value_name = "NAMESPACE/NAME", value_parser = service)]
    pub service: ObjectName,
    /// How many changes to wait for; 0 for all until Ctrl-C
    #[arg(long, default_value_t = 1)]
    pub count: usize,
    /// How long to wait for a change to arrive everywhere, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub deadline: u64,
}

fn service(text: &str) -> Result<ObjectName, String> {
    ObjectName::parse(text).ok_or_else(|| "write the Service as NAMESPACE/NAME".to_owned())
}
