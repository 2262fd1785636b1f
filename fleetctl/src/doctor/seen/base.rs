//! What an agent stands on in its cluster. Data only.

use fleet_runtime::credential::SecretKey;

use crate::doctor::finding::Read;

/// What every agent needs around it, on the hub as in a member.
#[derive(Clone, Debug)]
pub struct Base {
    /// The release of its chart; `None` if no Deployment shows it.
    pub install: Read<Option<Install>>,
    /// Major and minor of its Kubernetes; `None` if its version has another form.
    pub kubernetes: Read<Option<(u64, u64)>>,
    /// How many seconds the clock of the API server is ahead of this computer's.
    pub clock: Read<i64>,
    /// Definitions that are required here, or installed, compared with those of this program.
    pub kinds: Read<Vec<Kind>>,
    /// Admission policies of the charts.
    pub policies: Read<Vec<Policy>>,
    /// Rights of the chart that the agent's account lacks; none if there is no account to ask for.
    pub lacks: Read<Vec<String>>,
}

/// An installed chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Install {
    /// Name of the release.
    pub release: String,
    /// Its namespace.
    pub namespace: String,
    /// The ServiceAccount of the agent.
    pub account: String,
    /// The namespace that the agent works in.
    pub system_namespace: String,
    /// That of its Lease.
    pub lease_namespace: String,
    /// The release of this project that it is of.
    pub version: String,
    /// Where its image is from, without tag and digest; `None` if that is no plain name.
    pub repository: Option<String>,
    /// Whether a chart made the Deployment, by its labels.
    pub is_of_chart: bool,
}

/// A definition of this project, as a cluster has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// Name of the definition.
    pub name: String,
    /// Whether it exists.
    pub exists: bool,
    /// The release of Helm that installed it, as namespace/name.
    pub owner: Option<String>,
    /// Versions that it does not serve.
    pub versions: Vec<String>,
    /// Fields that it does not have.
    pub fields: Vec<String>,
    /// Bounds that it does not have, or has wider.
    pub bounds: Vec<String>,
}

/// An admission policy of one of the charts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Which agent's chart made it.
    pub chart: String,
    /// The release of this project that it is of.
    pub version: String,
    /// Whether a binding puts it in force.
    pub is_bound: bool,
}

/// Who a member is on the hub, and what it may not do there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnHub {
    /// Its account.
    pub account: String,
    /// Rights that the chart of the hub agent grants to members, and that it lacks.
    pub lacks: Vec<String>,
}

/// The kube-proxy of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxy {
    /// Its mode, if its configuration names one.
    pub mode: Option<String>,
    /// Its version, major and minor.
    pub version: Option<(u64, u64)>,
}

/// The token of a member agent for the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Token {
    /// `renewed`, `kept`, `kubelet`, `expired`, or `unknown`, as `fleetctl status` has it.
    pub state: String,
    /// What the user should know of it.
    pub says: Option<String>,
    /// Seconds until it expires.
    pub remaining: Option<i64>,
    /// The Secret that the agent has it from, if its Deployment could be read.
    pub secret: Option<SecretKey>,
}
