use std::collections::BTreeSet;

use fleet_traffic::Withdrawal;

use super::rules::Rules;

/// What is in force for one exporter of a Service, or for a cluster that runs endpoints of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exporter {
    /// Whether it is this cluster.
    pub(crate) own: bool,
    /// Its rank; `None` puts it out of use.
    pub(crate) rank: Option<usize>,
    /// Percentage of its ready endpoints that are last resort.
    pub(crate) last_resort_percent: u8,
    /// Its endpoints are withdrawn on request.
    pub(crate) removed: bool,
    /// Share among the clusters of its rank.
    pub(crate) weight: u16,
    /// Names of ports that it does not expose.
    pub(crate) withheld: BTreeSet<String>,
    /// Its endpoints that are neither ready nor terminating. Slices lack them.
    pub(crate) unready: usize,
}

impl Exporter {
    /// How far its endpoints are withdrawn, wherever they run. What its weight puts out of use is.
    pub(crate) fn withdrawal(&self) -> Withdrawal {
        let removed = self.removed || self.weight == 0;
        Withdrawal { last_resort_percent: self.last_resort_percent, removed }
    }

    /// Follows the weights that its slices carry, if the policy names none for it. What an exporter puts out of use stays so.
    pub(crate) fn weigh(&mut self, rules: &Rules, cluster: &str, offered: Option<u16>) {
        let Some(offered) = offered else { return };
        if offered == 0 || !rules.weights.contains_key(cluster) {
            self.weight = offered;
        }
    }

    /// Whether it has endpoints for a port, as far as that does not depend on Pods.
    pub(crate) fn exposes(&self, port: &str) -> bool {
        !self.withheld.contains(port)
    }
}
