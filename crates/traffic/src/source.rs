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

/// How far endpoints are withdrawn: a drain, or a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Withdrawal {
    /// Percentage of them that are last resort.
    pub last_resort_percent: u8,
    /// All are out of use.
    pub removed: bool,
}

/// One endpoint, as its exporter reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its first address, unique in its source.
    pub address: String,
    /// As reported, and admitted here.
    pub conditions: Conditions,
    /// That of its exporter, where this is not the cluster that it belongs to: an exporter that leaves takes it along, wherever it
    /// runs, and what a silent one has reported is old.
    pub by_exporter: Withdrawal,
}

impl Endpoint {
    /// One of the cluster that exports it.
    pub fn new(address: impl Into<String>, conditions: Conditions) -> Self {
        Self { address: address.into(), conditions, by_exporter: Withdrawal::default() }
    }
}

/// What one cluster offers for one port and address family of a Service: as an accepted exporter, and by endpoints of other exporters
/// that run in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name of the cluster.
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

    /// The percentage of endpoints like this one that are last resort; `None` if it is out of use.
    pub(crate) fn last_resort_percent_of(&self, endpoint: &Endpoint) -> Option<u8> {
        let Withdrawal { last_resort_percent, removed } = endpoint.by_exporter;
        let percent = self.last_resort_percent.max(last_resort_percent).min(100);
        (!self.is_out() && !removed).then_some(percent)
    }

    /// The percentage of its endpoints that takes part in its share: a cluster that drains gives its share up with them.
    pub fn staying_percent(&self) -> u64 {
        let ready = self.endpoints.iter().filter(|one| one.conditions.ready);
        let percents: Vec<u64> =
            ready.filter_map(|one| self.last_resort_percent_of(one)).map(u64::from).collect();
        let count = percents.len() as u64;
        let average = (percents.iter().sum::<u64>() + count / 2).checked_div(count);
        100 - average.unwrap_or_else(|| u64::from(self.last_resort_percent.min(100)))
    }
}
