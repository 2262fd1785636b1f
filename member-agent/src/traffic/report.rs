//! What is in force for a Service, for people.

use fleet_api::traffic::{
    self as api, ClusterTraffic, FieldSource, LocalEndpointsInForce, ServedBy,
};
use fleet_traffic::{Reason, Share, Slot, Source, Tier, Weighting, shares};

use super::limit::Limit;
use super::pool::PortDecision;
use super::rules::Rules;

/// Clusters in a report.
const CLUSTERS: usize = 64;

/// What is in force for a Service in this cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Report {
    /// Shares of the exporters.
    pub(crate) clusters: Vec<ClusterTraffic>,
    /// Which endpoints get new connections.
    pub(crate) served_by: ServedBy,
    /// Who writes own endpoints.
    pub(crate) local: Option<LocalEndpointsInForce>,
    /// Where each field comes from.
    pub(crate) sources: Vec<FieldSource>,
    /// Why the policy is not in force as it stands.
    pub(crate) limit: Option<Limit>,
}

impl Report {
    /// The report on the decision about a port. `is_removed` is whether the endpoints of a cluster are withdrawn on request.
    pub(crate) fn of(
        rules: &Rules,
        is_removed: &dyn Fn(&str) -> bool,
        first: Option<&PortDecision>,
        limit: Option<Limit>,
    ) -> Self {
        let source = |(field, source): &(&str, _)| FieldSource {
            field: (*field).to_owned(),
            source: *source,
        };
        let sources = rules.sources.iter().map(source).collect();
        let Some(first) = first else {
            return Self { sources, limit, ..Self::default() };
        };
        let view = View::of(rules, first);
        let limit = limit.or_else(|| view.has_too_many().then_some(Limit::TooManyEndpoints));
        let clusters = view.clusters(is_removed);
        Self { clusters, served_by: view.served_by(), sources, limit, local: None }
    }
}

/// What can serve a Service, with the labels of metrics.
pub(crate) const SERVED_BY: [(ServedBy, &str); 6] = [
    (ServedBy::Own, "own"),
    (ServedBy::Spill, "spill"),
    (ServedBy::Rank1, "rank1"),
    (ServedBy::LowerRank, "lower_rank"),
    (ServedBy::LastResort, "last_resort"),
    (ServedBy::Nobody, "none"),
];

/// A decision, and what it leads to.
struct View<'a> {
    rules: &'a Rules,
    first: &'a PortDecision,
    shares: Vec<Share>,
}

impl<'a> View<'a> {
    fn of(rules: &'a Rules, first: &'a PortDecision) -> Self {
        Self { rules, first, shares: shares(&first.sources, &first.decision.slots) }
    }

    fn clusters(&self, is_removed: &dyn Fn(&str) -> bool) -> Vec<ClusterTraffic> {
        let rows = self.first.sources.iter().zip(&self.first.decision.slots).zip(&self.shares);
        let row = |((source, slots), share): ((&Source, &Vec<Slot>), &Share)| ClusterTraffic {
            cluster: source.cluster.clone(),
            rank: source.rank.and_then(|rank| i64::try_from(rank).ok()),
            slot: wire(slot_of(source, slots)),
            ready: number(share.ready),
            used: number(share.used),
            share_percent: i64::from(share.percent),
            target_percent: self.target(source),
            reason: self.reason(source, is_removed(&source.cluster)),
        };
        rows.take(CLUSTERS).map(row).collect()
    }

    /// Position of a rank among those with an exporter.
    fn position(&self, source: &Source) -> Option<usize> {
        let ranks: std::collections::BTreeSet<_> =
            self.first.sources.iter().filter_map(|source| source.rank).collect();
        ranks.into_iter().position(|rank| Some(rank) == source.rank)
    }

    fn weight_reason(&self, source: &Source) -> Option<Reason> {
        let sizes = self.first.decision.state.sizes(self.position(source)?)?;
        sizes.reason(&source.cluster)
    }

    fn has_too_many(&self) -> bool {
        let mut sources = self.first.sources.iter();
        sources.any(|source| self.weight_reason(source) == Some(Reason::TooManyEndpoints))
    }

    /// Share by weight among the clusters of its rank that have ready endpoints.
    fn target(&self, source: &Source) -> Option<i64> {
        if self.rules.policy.weighting == Weighting::Endpoints || source.is_out() {
            return None;
        }
        let weight = |source: &Source| {
            let has_ready = source.endpoints.iter().any(|one| one.conditions.ready);
            let staying = i64::try_from(source.staying_percent()).unwrap_or(100);
            if has_ready && !source.is_out() { i64::from(source.weight) * staying } else { 0 }
        };
        let peers = self.first.sources.iter().filter(|peer| peer.rank == source.rank);
        let all: i64 = peers.map(weight).sum();
        Some(if all == 0 { 0 } else { (weight(source) * 200 + all) / (2 * all) })
    }

    fn reason(&self, source: &Source, is_removed: bool) -> Option<String> {
        let reason = if source.weight == 0 {
            "Weight"
        } else if source.rank.is_none() {
            "NotSelected"
        } else if is_removed {
            "Removed"
        } else if source.last_resort_percent > 0 {
            "Drained"
        } else {
            match self.weight_reason(source)? {
                Reason::Exact => "Exact",
                Reason::Coarse => "Coarse",
                Reason::Bounded => "Bounded",
                Reason::Capped => "Capped",
                Reason::TooManyEndpoints => "TooManyEndpoints",
            }
        };
        Some(reason.to_owned())
    }

    fn served_by(&self) -> ServedBy {
        let pairs = || self.first.sources.iter().zip(&self.first.decision.slots);
        let used: Vec<_> = self.shares.iter().filter(|share| share.used > 0).collect();
        let is_own = |share: &&&Share| {
            let mut sources = self.first.sources.iter();
            sources.any(|source| source.own && source.cluster == share.cluster)
        };
        let ready = pairs().flat_map(|(source, slots)| {
            let pairs = source.endpoints.iter().zip(slots);
            pairs.filter(|(one, slot)| one.conditions.ready && slot.is_ready())
        });
        let best = ready.map(|(_, slot)| *slot).min();
        let own = used.iter().filter(is_own).count();
        let promoted = self.first.decision.state.promoted();
        match (best, promoted) {
            _ if used.is_empty() => ServedBy::Nobody,
            (None, _) | (Some(Slot::Second), Some(Tier::Last)) => ServedBy::LastResort,
            (Some(Slot::Second), _) => ServedBy::LowerRank,
            _ if own == used.len() => ServedBy::Own,
            _ if own > 0 && self.lends() => ServedBy::Spill,
            _ => ServedBy::Rank1,
        }
    }

    /// Whether endpoints of the second rank are in the first slot.
    fn lends(&self) -> bool {
        let mut pairs = self.first.sources.iter().zip(&self.first.decision.slots);
        pairs
            .any(|(source, slots)| self.position(source) != Some(0) && slots.contains(&Slot::First))
    }
}

/// The best slot of its ready endpoints; of all, if none is ready.
fn slot_of(source: &Source, slots: &[Slot]) -> Slot {
    let pairs = || source.endpoints.iter().zip(slots);
    let ready = pairs().filter(|(one, _)| one.conditions.ready).map(|(_, slot)| *slot).min();
    let fallback = if source.is_out() { Slot::Out } else { Slot::LastResort };
    ready.or_else(|| slots.iter().copied().min()).unwrap_or(fallback)
}

fn wire(slot: Slot) -> api::Slot {
    match slot {
        Slot::First => api::Slot::First,
        Slot::Second => api::Slot::Second,
        Slot::Pool => api::Slot::Pool,
        Slot::LastResort => api::Slot::LastResort,
        Slot::Out => api::Slot::Out,
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
