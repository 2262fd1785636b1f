//! Arguments of `fleetctl offload`.

use clap::{Args, Subcommand, ValueEnum};
use fleet_api::names;
use fleet_api::offload::PolicyProfile;

/// What can be done about Pods of one member in another.
#[derive(Subcommand, Debug)]
pub enum OffloadCommand {
    /// Offer capacity of a member to others: they may run Pods there
    ///
    /// Writes the offer into the ConfigMap fleet-offload of the member's cluster, with your rights there. Its agent publishes it on
    /// the hub. Without an offer no member runs anything there; with one, only members that it names and that accept it.
    Offer(OfferArgs),
    /// Accept a member as executor: Pods of another member may run there
    ///
    /// Writes into the ConfigMap fleet-offload of the cluster whose Pods are meant, with your rights there. Its agent makes a node of
    /// the executor. With rights on the hub, the ranges of the executor's Pods are also added to what this member may export, since
    /// Services that it exports get those addresses. They hold for the namespaces that the executor offers: if its offer is not on the hub
    /// yet, for none, until you accept again. Refused if the ranges overlap those of this member, or are all addresses.
    Accept(AcceptArgs),
    /// Show offers and virtual nodes, with what is in their way
    Status,
    /// Take an offer back, or the acceptance of one
    ///
    /// Without --origin the member offers nothing any more: all Pods of others leave it. With --origin this one member no longer
    /// uses it; once it has no Pods there, the ranges of the executor are also taken out of what it may export. With --abandon the executor is given up, since its cluster is gone for good: Pods are released without its
    /// confirmation. If it is not gone, they still run there.
    Withdraw(WithdrawArgs),
}

/// Arguments of `offload offer`.
#[derive(Args, Debug)]
pub struct OfferArgs {
    /// Name of the member that offers
    pub executor: String,
    /// Members that may run Pods there, separated by commas
    #[arg(long, value_name = "MEMBERS", value_delimiter = ',', required = true)]
    pub to: Vec<String>,
    /// Processors for all of them together, such as 4 or 500m
    #[arg(long, value_name = "AMOUNT")]
    pub cpu: String,
    /// Memory for all of them together, such as 16Gi
    #[arg(long, value_name = "AMOUNT")]
    pub memory: String,
    /// Pods of all of them together
    #[arg(long, value_name = "COUNT", default_value_t = 110, value_parser = clap::value_parser!(i64).range(0..=500))]
    pub pods: i64,
    /// Namespaces whose Pods are accepted, separated by commas; * for all
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',', default_value = "*")]
    pub namespaces: Vec<String>,
    /// Which of the Pod Security Standards Pods have to meet
    #[arg(long, value_enum, default_value_t = Profile::Restricted)]
    pub profile: Profile,
    /// Secrets that are accepted, as NAMESPACE/NAME, separated by commas. The member that they are of has to list them, too
    #[arg(long, value_name = "SECRETS", value_delimiter = ',')]
    pub secrets: Vec<String>,
    /// Stop Pods of a member that gives no sign of life for so many seconds; by default they keep running for a day
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(30..=86_400))]
    pub stop_after: Option<i64>,
    /// Zone of the member, for topology hints of endpoints
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Region of the member
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    /// Let Pods resolve names with servers of their own cluster
    #[arg(long)]
    pub origin_dns: bool,
    /// Accept no further Pods; those that run go on
    #[arg(long)]
    pub drain: bool,
    /// Where it is written.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Arguments of `offload accept`.
#[derive(Args, Debug)]
pub struct AcceptArgs {
    /// Name of the member that runs the Pods
    pub executor: String,
    /// Name of the member whose Pods they are
    #[arg(long, value_name = "MEMBER")]
    pub origin: String,
    /// Secrets that may leave the cluster, as NAMESPACE/NAME, separated by commas; by default those that were accepted before, and none
    /// with an empty value
    #[arg(long, value_name = "SECRETS", value_delimiter = ',')]
    pub secrets: Option<Vec<String>>,
    /// Addresses of name servers of this cluster, for Pods of an executor that offers that; by default those of before, and none with
    /// an empty value
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',')]
    pub dns_servers: Option<Vec<String>>,
    /// Domain of this cluster; by default that of before, or cluster.local
    #[arg(long, value_name = "DOMAIN")]
    pub dns_domain: Option<String>,
    /// Bind no further Pods to the node; those that run go on
    #[arg(long)]
    pub drain: bool,
    /// Where it is written.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Arguments of `offload withdraw`.
#[derive(Args, Debug)]
pub struct WithdrawArgs {
    /// Name of the member that runs the Pods
    pub executor: String,
    /// Only for the Pods of this member
    #[arg(long, value_name = "MEMBER")]
    pub origin: Option<String>,
    /// Give the executor up: do not wait for its confirmation that Pods have ended
    #[arg(long, requires = "origin")]
    pub abandon: bool,
    /// Where it is written.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Where a decision is written.
#[derive(Args, Debug)]
pub struct PlaceArgs {
    /// Namespace of the member agent
    #[arg(long, value_name = "NAMESPACE", default_value = names::SYSTEM_NAMESPACE)]
    pub system_namespace: String,
    /// Print what would be written, without writing anything
    #[arg(long)]
    pub dry_run: bool,
}

/// One of the Pod Security Standards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// The strictest
    Restricted,
    /// The one that prevents known escalations of privileges
    Baseline,
}

impl From<Profile> for PolicyProfile {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Restricted => Self::Restricted,
            Profile::Baseline => Self::Baseline,
        }
    }
}
