//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use fleet_api::{ObjectName, names};
use fleet_runtime::clients::require_encryption;

use crate::access::Access;
use crate::map::MapArgs;
use crate::offload::OffloadCommand;
use crate::output::Output;
use crate::policy_args::PolicyArgs;
use crate::recorded::RecordArgs;
use crate::traffic::{DrainArgs, ForgetArgs, SilenceCommand, UndrainArgs, time};
use crate::what_if::WhatIfCommand;

/// Joins clusters into a fleet and shows its state.
///
/// A fleet makes Services of one cluster usable in others, through a hub cluster: a ServiceExport in one member exports a
/// Service, and a MultiClusterService in another member imports it. The importing member then has a derived Service with
/// the same endpoints.
///
/// fleetctl reads hub and members with your own credentials and evaluates them with the agents' own code. Only join, leave,
/// offload, drain, undrain, silence and forget write. Install it as kubectl-fleetnet (a link is enough) to use it as `kubectl fleetnet`.
///
/// Exit codes: 0 success, no problem found; 1 a problem, a difference or a timeout, as the output explains; 2 the command
/// could not run: invalid arguments, a cluster is not reachable, a right is missing.
#[derive(Parser, Debug)]
#[command(name = "fleetctl", version, propagate_version = true)]
pub struct Cli {
    /// Access to the clusters.
    #[command(flatten)]
    pub access: Access,
    /// Form of the output.
    #[command(flatten)]
    pub output: Output,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Join a cluster to the fleet: create its namespace, rights and credentials on the hub
    ///
    /// On the hub, it creates the namespace fleet-member-NAME, a service account with rights in that namespace only, and an
    /// InternalMemberCluster that asks the member to join (if the hub serves that kind). Where the hub agent serves
    /// multicluster.x-k8s.io, the account also gets the rights for that, which include reading what all members export: for a
    /// member that joined before, run it again. A member that has no member policy gets one, which allows everything unless --cidrs, --exports and --imports restrict it. It prints values for the
    /// member-agent chart; with --secret, it also stores the token in a Secret of the member's cluster, where the member agent
    /// renews it. If the token has expired or was revoked, run it again: it makes another one, and nothing else changes, unless
    /// these flags change the member policy.
    ///
    /// If you administer only one of the two clusters, join in three steps: --request with access to the member, --approve with
    /// access to the hub, --finish with access to the member. The files that you hand over contain nothing secret, but compare the
    /// fingerprint of the request on another way. The hub has to sign certificates of clients, which some managed hubs do not.
    ///
    /// The hub records which cluster the member is when its agent first connects. The agent of another cluster with the same
    /// name writes nothing until --replace gives the name to that cluster.
    Join(JoinArgs),
    /// Remove a member from the fleet: its agent cleans up, then what join created is deleted
    ///
    /// The member agent withdraws all exports and imports, deletes the users' ServiceExports and MultiClusterServices of
    /// that cluster, and reports that it has left; then its namespace on the hub is deleted. If the cluster is gone for good,
    /// --force removes the member without waiting for its agent.
    ///
    /// A member that exports or imports much asks for a confirmation first, which this command gives: it prints what ends, and needs
    /// --yes where that is more than 20 objects.
    ///
    /// If the hub is gone for good, --local cleans up the member's cluster instead, with access to that cluster alone: it
    /// deletes derived Services, imported EndpointSlices and ServiceImports of both APIs, and removes the agent's finalizers from
    /// ServiceExports and MultiClusterServices, which stay. It only prints what it would do unless --force is given, and refuses
    /// to work while a member agent runs there.
    Leave(LeaveArgs),
    /// Show members with their heartbeats, exports, conflicts, imports and lag
    ///
    /// LAG is the number of EndpointSlices that the agents have yet to write, according to their own plans: the member's
    /// exports to the hub, the hub's copies for the member, and the member's imported EndpointSlices. With `-o wide`, OLDEST is
    /// the time since the exporter noticed the oldest of these changes. If a member's cluster cannot be read, only the hub's
    /// part is counted. 0 means that all changes have arrived.
    ///
    /// Where members renew Leases on the hub, `-o wide` has a column LEASE: the time since the last renewal, by the member's clock.
    ///
    /// Where agents serve multicluster.x-k8s.io, a second table has what members export and import by it. ACCEPTED: the hub agent
    /// lets the member take part. PUBLISHED: the member has reported that all that it exports is on the hub; until then importers of
    /// a hub that was rebuilt keep what they had. EXPORTS: exports in force, of all. CONFLICTS: exports that differ from another
    /// member's. IMPORTS: imports that clients can use, of all. With `-o wide`, FOREIGN is the number of ServiceImports of another
    /// implementation, which the agent leaves as they are, and each Service has a line.
    ///
    /// With --reach, instead: what members reach of what they import, by the connections that their agents open, where they do
    /// (docs/reachability.md). Each line is an importer and an exporter; below them stands what is not reached, and at which hop.
    /// Exits 1 if there is any.
    Status {
        /// Show what members reach of what they import
        #[arg(long)]
        reach: bool,
    },
    /// Follow a Service, or a Pod of a virtual node, through the fleet and report where it stops, and what to do
    #[command(subcommand)]
    Explain(Explain),
    /// Offer capacity of a member to others, accept it, and take it back: Pods of one member in another
    #[command(subcommand)]
    Offload(OffloadCommand),
    /// Move new connections away from a member, in all importers
    ///
    /// The endpoints of the member become last resort, all at once or in steps: new connections go elsewhere, established ones go on,
    /// and if all else fails they serve again at once. Clients inside of the member use others, too. Not concerned are Services by their own names in the
    /// member, headless Services, and what leads to the member from outside of the fleet. The hub agent takes the steps, and waits for importers;
    /// this command may end.
    ///
    /// Refused where a Service would have no ready endpoint of a member that is neither drained nor silent, unless --force is given.
    /// The hub agent looks again at each step, and holds such Services back. Requires `traffic.enabled` of the hub-agent chart.
    Drain(DrainArgs),
    /// End a drain, in steps: connections return to a member
    Undrain(UndrainArgs),
    /// Decide whether a member that does not renew its Lease is silent
    ///
    /// The hub agent finds members silent by itself, but not if many are at once, since then the reason may be on the hub.
    #[command(subcommand)]
    Silence(SilenceCommand),
    /// Let importers forget a member that does not come back to a hub that was rebuilt, or restored from a backup
    ///
    /// Importers keep what such a hub lacks until its exporters have published there again. Of a member that is gone for good they would
    /// keep it for ever. It concerns the present hub alone: the member may join again later.
    Forget(ForgetArgs),
    /// Print what a new hub needs before its members come back, as a script to be read
    ///
    /// It reads the members named by --member, and the hub if it answers: the namespaces in which something crosses, member policies,
    /// what was decided about traffic, and, as comments, the drains that importers apply, each with the members that apply it. It changes
    /// nothing. Run it on a timer to have a backup of all that members cannot bring back by themselves, and keep the last one that was
    /// whole: `fleetctl rebuild-hub > new.sh && mv new.sh hub.sh`. Exits 1 if something was not read or has no valid name, which the
    /// script names.
    RebuildHub(RebuildHubArgs),
    /// Draw the fleet: exporters, Services and importers, with what stops each
    ///
    /// Three columns in a stable order. A line has the endpoints that are ready and those that drain, and the cause that
    /// `fleetctl explain` finds. What works is drawn solid, what has nothing ready dotted, what stops dashed. With `-o dot` (the default)
    /// Graphviz draws it, for example with `dot -Tpdf`; `-o mermaid` is for pages in Markdown, `-o svg` for a browser, and
    /// `-o json` has everything, with the command that mends each problem. Exits 2 if the result is incomplete.
    Graph(GraphArgs),
    /// Show the fleet in a browser on this computer: the map of exporters, Services and importers, as it changes
    ///
    /// Prints an address on 127.0.0.1 and serves it until Ctrl-C, with your own credentials. The address has a random token: who does
    /// not have it gets nothing, nor do pages of other sites. Nothing else is asked of any other server. The page shows the causes and
    /// commands of `fleetctl explain`, what was seen since it was started, and the fleet after the loss or the drain of a member, as
    /// `fleetctl what-if` foresees it. It works without scripts. --replay shows a recording of `fleetctl record`, without any cluster.
    Map(MapArgs),
    /// Show what an action would do, without doing it: lose or drain a member, end an export, apply a policy
    ///
    /// Reads all clusters with your own rights and lets the agents' own plans run on copies of their objects in memory, until nothing
    /// is left to write. Prints how many objects would change in each cluster (`-o wide`: which), the endpoints and shares of each
    /// Service in each importer before and after, and Services that would be left without endpoints: exits 1 if there is any,
    /// if something was not read, or if `fleetctl drain` would refuse, so that it can guard a pipeline; exits 2 if that is on the hub. `-o json` has everything. Settings of agents that no object shows are taken for the defaults.
    #[command(subcommand)]
    WhatIf(WhatIfCommand),
    /// Record the state of the fleet into a file, for fleetctl map --replay
    ///
    /// Reads all clusters again and again with your own rights, and writes what has changed. It reads no Secrets, and of ConfigMaps
    /// only member policies. The file is for you alone: it has addresses of endpoints. It ends at the limits of a recording, 512 MiB,
    /// 500000 objects or 20000 frames.
    Record(RecordArgs),
    /// Watch the next endpoint changes of a Service, step by step, with times
    ///
    /// Change the endpoints, for example by scaling the Deployment, and see when the change arrives: in the exporter's
    /// EndpointSlice, on the hub, in the hub's copy for each importer, and in the importer's EndpointSlice. By
    /// multicluster.x-k8s.io a change has three stages, since importers read the hub's EndpointSliceExport directly; an exporter
    /// that imports its own Service is an importer, too. Times are those at which the watch events arrive at this computer.
    Trace(TraceArgs),
    /// Show the writes that the agents have not made yet, according to their own plans
    ///
    /// Prints nothing and exits 0 if there are none, as in a fleet at rest; exits 1 otherwise. Writes that the agents make
    /// within a second are not shown. Heartbeats, Leases, and EndpointSlices that the agents create for machines or Pods are
    /// not included. Which agents serve multicluster.x-k8s.io is known by what they have written for it: nothing is expected of
    /// the others. An agent that was switched off without a clean-up still appears to serve it.
    Diff,
    /// Check what has to be right around the agents, the standard API (multicluster.x-k8s.io), names in DNS and Pods in other members
    ///
    /// Reads the hub and its members with your own rights, and changes nothing. With --member, only these members are looked at. Each
    /// problem is a line with the check, what is wrong and what to do, and, where nothing is left to decide, with the command that mends
    /// it; `-o wide` also lists what is well. docs/doctor.md has all checks. What you may not read is
    /// reported as not checked. Exits 1 if a check fails, 0 if there are only warnings, and 2 if nothing could be checked.
    Doctor(DoctorArgs),
    /// Print a shell completion script
    ///
    /// For bash: source <(fleetctl completion bash)
    Completion {
        /// The shell
        shell: Shell,
    },
}

/// What can be explained.
#[derive(Subcommand, Debug)]
pub enum Explain {
    /// Explain one Service: each step on its path, and in one sentence where it stops and what to do
    ///
    /// Exits 1 if the Service stops anywhere. The field `cause` of -o json has one of the causes in docs/fleetctl.md.
    ///
    /// A Service that is exported by multicluster.x-k8s.io is followed from its ServiceExport to the name in clusterset.local, and
    /// one that is exported by both APIs on both paths. Whether the DNS server of a cluster serves that zone is a matter of its own
    /// configuration, which this command does not read: fleetctl doctor does.
    Service {
        /// Namespace and name of the Service, the same in all clusters
        #[arg(value_name = "NAMESPACE/NAME", value_parser = service)]
        service: ObjectName,
    },
    /// Explain one Pod that is bound to a virtual node: on which hop it waits, why, and a command that helps
    ///
    /// Exits 1 if the Pod waits for something.
    Pod {
        /// Namespace and name of the Pod in its own cluster
        #[arg(value_name = "NAMESPACE/NAME", value_parser = pod)]
        pod: ObjectName,
        /// Member that the Pod is in; by default all of them are asked
        #[arg(long, value_name = "MEMBER")]
        origin: Option<String>,
    },
}

/// Default lifetime of tokens, in hours.
pub(crate) const DAY: u32 = 24;

/// Arguments of `join`.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct JoinArgs {
    /// Name of the member in the fleet
    pub name: String,
    /// Print what would be created, without creating anything
    #[arg(long)]
    pub dry_run: bool,
    /// Give the name to another cluster: the one of the member's context, or, without such a context, the first whose agent
    /// connects. The agent of the previous cluster stops writing, and what only that cluster exported is withdrawn
    #[arg(long)]
    pub replace: bool,
    /// What the member is allowed.
    #[command(flatten)]
    pub policy: PolicyArgs,
    /// Step 1 of joining without access to both clusters, for an administrator of the member: print a request to hand over
    #[arg(long, conflicts_with_all = ["approve", "finish", "replace", "dry_run", "secret", "long_lived_token", "cidrs", "exports", "imports"])]
    pub request: bool,
    /// Step 2, for an administrator of the hub: create what the member of this request needs, and print an approval to hand back
    #[arg(long, value_name = "FILE", conflicts_with_all = ["finish", "replace", "secret", "long_lived_token"])]
    pub approve: Option<PathBuf>,
    /// Step 3, for the administrator of the member, within a day: store a token in the member's cluster, with this approval
    #[arg(long, value_name = "FILE", conflicts_with_all = ["replace", "dry_run", "long_lived_token", "cidrs", "exports", "imports"])]
    pub finish: Option<PathBuf>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value_t = Print::Values)]
    pub print: Print,
    /// Store the token in a Secret of the member's cluster, and create the Secret's namespace if necessary
    #[arg(long)]
    pub secret: bool,
    /// Name of the Secret
    #[arg(long, value_name = "NAME", default_value = "hub-kubeconfig-secret")]
    pub secret_name: String,
    /// Namespace of the Secret, which is that of the member-agent release
    #[arg(long, value_name = "NAMESPACE", default_value = names::SYSTEM_NAMESPACE)]
    pub secret_namespace: String,
    /// Address at which the member reaches the hub's API server; by default that in your kubeconfig
    #[arg(long, value_name = "URL", value_parser = encrypted)]
    pub hub_url: Option<String>,
    /// Lifetime of the token, in hours; the API server may shorten it. The member agent renews it every hour, if it is kept in a
    /// Secret (the provider `secret` of its chart); in other forms, and with agents of release 0.1, it ends after this time
    #[arg(long, value_name = "HOURS", default_value_t = DAY, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub token_hours: u32,
    /// Audiences of the token, separated by commas; by default those of the hub's API server
    #[arg(long, value_name = "AUDIENCES", value_delimiter = ',')]
    pub token_audiences: Vec<String>,
    /// Use a token that never expires, from a Secret on the hub. A thief of it has the member's rights until the Secret is deleted
    #[arg(long, conflicts_with_all = ["token_hours", "token_audiences"])]
    pub long_lived_token: bool,
}

/// What `join` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Print {
    /// Values for the member-agent chart, without the token
    Values,
    /// A Secret with the token, to apply in the member's cluster
    Secret,
    /// A kubeconfig with the token
    Kubeconfig,
    /// The token
    Token,
    /// Nothing
    Nothing,
}

/// Arguments of `leave`.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct LeaveArgs {
    /// Name of the member in the fleet
    pub name: String,
    /// Print what would be removed, without removing anything
    #[arg(long)]
    pub dry_run: bool,
    /// Confirm that the member may leave although more than 20 objects of users are deleted in its cluster
    #[arg(long)]
    pub yes: bool,
    /// Do not wait for the member agent, since its cluster is gone for good. What it imported stays in its cluster. With
    /// --local: remove what is printed
    #[arg(long)]
    pub force: bool,
    /// First move new connections away from the member in this time, such as 5m, as `fleetctl drain --wait` does. Refused where no other
    /// member serves a Service, or much is deleted, unless --yes is given. If the member has not left in the end, the drain stays
    #[arg(long, value_name = "DURATION", value_parser = time, conflicts_with_all = ["force", "local"])]
    pub drain: Option<Duration>,
    /// Clean up the member's own cluster, since the hub is gone for good
    #[arg(long)]
    pub local: bool,
    /// With --local, the namespace of derived Services and of the agent's Lease
    #[arg(long, value_name = "NAMESPACE", default_value = names::SYSTEM_NAMESPACE)]
    pub system_namespace: String,
    /// Maximum time to wait for the member agent, and then for the deletion of its namespace, in seconds each
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub deadline: u64,
}

/// Arguments of `rebuild-hub`.
#[derive(Args, Debug)]
pub struct RebuildHubArgs {
    /// The namespace of the agents' Leases in members
    #[arg(long, value_name = "NAMESPACE", default_value = names::SYSTEM_NAMESPACE)]
    pub system_namespace: String,
}

/// Arguments of `graph`.
#[derive(Args, Debug)]
pub struct GraphArgs {
    /// Draw only Services of this namespace; can be given several times
    #[arg(long = "namespace", value_name = "NAMESPACE")]
    pub namespaces: Vec<String>,
    /// Maximum number of rows in the middle. With more Services than that, a row is a namespace; at most 2000. JSON and YAML have every Service
    #[arg(long, value_name = "ROWS", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=2000))]
    pub max_rows: u16,
}

/// Arguments of `trace`.
#[derive(Args, Debug)]
pub struct TraceArgs {
    /// Namespace and name of the Service, the same in all clusters
    #[arg(value_name = "NAMESPACE/NAME", value_parser = service)]
    pub service: ObjectName,
    /// Number of changes to wait for; 0 for no limit
    #[arg(long, default_value_t = 1)]
    pub count: usize,
    /// Maximum time for a change to arrive everywhere, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub deadline: u64,
}

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Print the Corefile of the one cluster that --member names, with the zone and the option that names in clusterset.local need.
    /// Exits 1 if the cluster lacks what CoreDNS needs to start with it
    #[arg(long)]
    pub print_corefile: bool,
    /// Print the commands that mend what was found, in their order, as a script to be read. What needs a decision is a comment in it.
    /// The exit code is the same as without
    #[arg(long, conflicts_with = "print_corefile")]
    pub fix_plan: bool,
}

fn encrypted(text: &str) -> Result<String, String> {
    let address = text.parse().map_err(|error| format!("no address: {error}"))?;
    require_encryption(&address)?;
    Ok(text.to_owned())
}

fn service(text: &str) -> Result<ObjectName, String> {
    ObjectName::parse(text).ok_or_else(|| "write the Service as NAMESPACE/NAME".to_owned())
}

fn pod(text: &str) -> Result<ObjectName, String> {
    ObjectName::parse(text).ok_or_else(|| "write the Pod as NAMESPACE/NAME".to_owned())
}
