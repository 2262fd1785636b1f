//! Which endpoints of a Service get new connections in a member, as its kube-proxy reads the imported EndpointSlices.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::{ObjectName, annotations};
use fleet_model::objects::{EndpointSlice, SliceIndex};
use fleet_traffic::REMOTE_ZONE;
use k8s_openapi::api::discovery::v1 as discovery;
use serde::Serialize;

use crate::picture::Member;

/// The part of one exporter in the new connections of an importer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// The exporting member.
    pub member: String,
    /// Its ready endpoints here.
    pub ready: usize,
    /// Its endpoints that are used if nothing is ready.
    pub last_resort: usize,
    /// Its part of new connections, in percent.
    pub percent: usize,
}

/// How good an endpoint is: kube-proxy uses the best there are, all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Ready, for all nodes or for those of this cluster's zones.
    First,
    /// Ready, and used if nothing of the first rank is.
    Second,
    /// Serving and terminating, or written so.
    Last,
}

/// The endpoints of each exporter by rank, each once: a Service can have several slices with the same endpoints.
type Ranks<'a> = BTreeMap<&'a str, BTreeSet<(Rank, String)>>;

/// The shares of a Service in a member, by name of the exporter; those of the standard API, where it has come by both.
pub(crate) fn shares(member: &Member, service: &ObjectName) -> Vec<Share> {
    let slices = || member.snapshot.endpoint_slices.by(&SliceIndex::ImportedFor(service.clone()));
    let is_standard = slices().any(|slice| slice.is_imported_by_standard());
    let mut ranks = Ranks::new();
    let mut any_without_hints = false;
    for slice in slices().filter(|slice| slice.is_imported_by_standard() == is_standard) {
        let Some(origin) = slice.object.meta.annotation(annotations::ORIGIN_CLUSTER) else {
            continue;
        };
        let of_origin = ranks.entry(origin).or_default();
        let Some(whole) = member.snapshot.managed_slices.get(&slice.name) else {
            any_without_hints |= !slice.ready.is_empty();
            of_origin.extend(plain(slice));
            continue;
        };
        for endpoint in &whole.slice.endpoints {
            let Some(rank) = rank(endpoint) else { continue };
            any_without_hints |= rank != Rank::Last && zones(endpoint).next().is_none();
            of_origin.extend(address(endpoint).map(|address| (rank, address)));
        }
    }
    counted(&ranks, any_without_hints)
}

fn plain(slice: &EndpointSlice) -> impl Iterator<Item = (Rank, String)> {
    let all = |rank, list: Vec<fleet_api::Endpoint>| {
        let first = list.into_iter().filter_map(|endpoint| endpoint.addresses.into_iter().next());
        first.map(move |address| (rank, address)).collect::<Vec<_>>()
    };
    let ready = all(Rank::First, slice.ready.to_vec());
    ready.into_iter().chain(all(Rank::Last, slice.draining.to_vec()))
}

/// The rank of an endpoint; `None` for one that takes no traffic.
fn rank(endpoint: &discovery::Endpoint) -> Option<Rank> {
    let conditions = endpoint.conditions.clone().unwrap_or_default();
    let ready = conditions.ready.unwrap_or(true);
    if !ready {
        let last = conditions.serving == Some(true) && conditions.terminating == Some(true);
        return last.then_some(Rank::Last);
    }
    let mut zones = zones(endpoint).peekable();
    let is_remote = zones.peek().is_some() && zones.all(|zone| zone == REMOTE_ZONE);
    Some(if is_remote { Rank::Second } else { Rank::First })
}

fn zones(endpoint: &discovery::Endpoint) -> impl Iterator<Item = &str> {
    let zones = endpoint.hints.iter().flat_map(|hints| hints.for_zones.iter().flatten());
    zones.map(|zone| zone.name.as_str())
}

fn address(endpoint: &discovery::Endpoint) -> Option<String> {
    endpoint.addresses.first().cloned()
}

/// One ready endpoint without hints makes kube-proxy ignore the hints of all.
fn counted(ranks: &Ranks<'_>, any_without_hints: bool) -> Vec<Share> {
    let rank = |rank: Rank| match rank {
        Rank::Second if any_without_hints => Rank::First,
        rank => rank,
    };
    let all = ranks.values().flatten();
    let best = all.map(|(one, _)| rank(*one)).min();
    let used = |of: &BTreeSet<(Rank, String)>| {
        of.iter().filter(|(one, _)| Some(rank(*one)) == best).count()
    };
    let total: usize = ranks.values().map(used).sum();
    let share = |(member, of): (&&str, &BTreeSet<(Rank, String)>)| Share {
        member: (*member).to_owned(),
        ready: of.iter().filter(|(one, _)| *one != Rank::Last).count(),
        last_resort: of.iter().filter(|(one, _)| *one == Rank::Last).count(),
        percent: (used(of) * 200 + total).checked_div(2 * total).unwrap_or_default(),
    };
    ranks.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(of: &[(&'static str, Rank, usize)]) -> Ranks<'static> {
        let mut ranks = Ranks::new();
        for (member, rank, count) in of {
            let endpoints = (0..*count).map(|at| (*rank, format!("{rank:?}-{at}")));
            ranks.entry(member).or_default().extend(endpoints);
        }
        ranks
    }

    fn percents(of: &[(&'static str, Rank, usize)], any_without_hints: bool) -> Vec<usize> {
        counted(&ranks(of), any_without_hints).iter().map(|share| share.percent).collect()
    }

    #[test]
    fn endpoints_of_the_best_rank_share_alike() {
        assert_eq!(percents(&[("a", Rank::First, 3), ("b", Rank::First, 1)], true), [75, 25]);
        assert_eq!(percents(&[("a", Rank::First, 1), ("b", Rank::Second, 9)], false), [100, 0]);
        assert_eq!(percents(&[("a", Rank::Last, 1), ("b", Rank::Second, 9)], false), [0, 100]);
        assert_eq!(percents(&[("a", Rank::Last, 1), ("b", Rank::Last, 1)], false), [50, 50]);
        assert_eq!(percents(&[("a", Rank::First, 0)], false), [0]);
    }

    #[test]
    fn one_ready_endpoint_without_hints_counts_them_all() {
        assert_eq!(percents(&[("a", Rank::First, 1), ("b", Rank::Second, 3)], true), [25, 75]);
    }

    #[test]
    fn an_endpoint_without_conditions_is_ready() {
        let endpoint = |conditions, zones: &[&str]| discovery::Endpoint {
            conditions,
            hints: (!zones.is_empty()).then(|| discovery::EndpointHints {
                for_zones: Some(
                    zones
                        .iter()
                        .map(|&name| discovery::ForZone { name: name.to_owned() })
                        .collect(),
                ),
                ..discovery::EndpointHints::default()
            }),
            ..discovery::Endpoint::default()
        };
        let conditions = |ready, serving, terminating| {
            Some(discovery::EndpointConditions {
                ready: Some(ready),
                serving: Some(serving),
                terminating: Some(terminating),
            })
        };
        assert_eq!(rank(&endpoint(None, &[])), Some(Rank::First));
        assert_eq!(rank(&endpoint(None, &[REMOTE_ZONE])), Some(Rank::Second));
        assert_eq!(rank(&endpoint(None, &[REMOTE_ZONE, "a"])), Some(Rank::First));
        assert_eq!(rank(&endpoint(conditions(false, true, true), &[])), Some(Rank::Last));
        assert_eq!(rank(&endpoint(conditions(false, true, false), &[])), None);
        assert_eq!(rank(&endpoint(conditions(false, false, true), &[])), None);
    }
}
