/// Conditions of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conditions {
    /// Takes new connections.
    pub ready: bool,
    /// Answers, whether or not it is terminating.
    pub serving: bool,
    /// Its Pod is being deleted.
    pub terminating: bool,
}

impl Conditions {
    /// Of an endpoint that takes new connections.
    pub const READY: Self = Self { ready: true, serving: true, terminating: false };
    /// Of one that takes none.
    pub const UNREADY: Self = Self { ready: false, serving: false, terminating: false };
    /// Of one that takes new connections only where no other endpoint is ready.
    pub const DRAINING: Self = Self { ready: false, serving: true, terminating: true };

    /// Whether kube-proxy uses it when no endpoint is ready.
    pub fn is_fallback(self) -> bool {
        self.serving && self.terminating
    }
}

/// One endpoint, as its exporter reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its first address, unique in its source.
    pub address: String,
    /// As reported, and admitted here.
    pub conditions: Conditions,
}

/// What one accepted exporter offers for one port and address family of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name of the exporting cluster.
    pub cluster: String,
    /// Whether this is the importing cluster itself.
    pub own: bool,
    /// Index of the selector that selects the cluster; `None` puts it out of use ([`crate::Preference::rank`]).
    pub rank: Option<usize>,
    /// Percentage of its ready endpoints that are last resort: a drain, or a return in steps.
    pub last_resort_percent: u8,
    /// Withdrawn on request: `--remove`, or the action Remove for a silent member.
    pub removed: bool,
    /// Share among the clusters of its rank; 0 puts it out of use, whatever the weighting.
    pub weight: u16,
    /// In any order.
    pub endpoints: Vec<Endpoint>,
}

impl Source {
    /// Whether the owner, the user of a drain, or the importer's order keeps all of its endpoints out of use.
    pub fn is_out(&self) -> bool {
        self.rank.is_none() || self.removed || self.weight == 0
    }
}
