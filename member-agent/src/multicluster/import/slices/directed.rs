//! Slices whose endpoints are where policies, drains and verdicts put them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::multicluster::standard::ServiceImportPort;
use fleet_api::multicluster::{Exporter as Exported, InternalTrafficPolicy};
use fleet_model::objects::ManagedSlice;

use super::bound::{Binding, Bound, Wanted};
use super::outcome::Outcome;
use super::{content, marks, own};
use crate::measurement::Plan;
use crate::multicluster::import::state::ServiceState;
use crate::multicluster::import::{ports, source};
use crate::traffic::{
    Directed, Distribution, Draft, Exporter, Ground, Kept, KeptSlice, Limit, Offer, Outlook, Rules,
    Subject, part_kept, weights,
};

/// Slices that the hub lacks: those whose endpoints may get another place, and those that stay as they are.
pub(super) fn part<'a>(
    ground: &Ground<'_>,
    outcome: &Outcome,
    kept: &[&'a Object<ManagedSlice>],
) -> (Vec<KeptSlice<'a>>, Vec<Kept<'a>>) {
    let kept = kept.iter();
    let following = outcome.wanted.values().map(|wanted| wanted.cluster.as_str()).collect();
    part_kept(
        ground,
        &following,
        kept.filter_map(|slice| Some((source::cluster(&slice.slice)?, *slice))),
    )
}

/// Puts the endpoints of the wanted slices where they belong, and those of slices that the hub lacks, as far as they may move.
pub(super) fn direct(
    state: &ServiceState<'_>,
    ground: &Ground<'_>,
    bound: Bound<'_>,
    (moving, kept): (&mut [KeptSlice<'_>], Vec<Kept<'_>>),
    outcome: &mut Outcome,
) -> Directed {
    let rules = ground.rules(state.service);
    let (exporters, again_in) = exporters(state, ground, &rules, bound, (moving, &kept), outcome);
    let draft = |(name, wanted): (&String, &Wanted)| {
        let current = state.imported_as(name).map(|current| &current.slice);
        Draft {
            cluster: wanted.cluster.clone(),
            source: wanted.slice.clone(),
            current,
            is_same_generation: current
                .is_some_and(|current| marks::is_same_generation(current, &wanted.slice)),
        }
    };
    let offer = Offer {
        service: state.service,
        rules: &rules,
        exporters: &exporters,
        drafts: outcome
            .wanted
            .iter()
            .map(draft)
            .chain(moving.iter().map(KeptSlice::draft))
            .collect(),
        kept,
        distribution: Distribution::parse(bound.target.spec.traffic_distribution.as_deref()),
        own_zones: own::zones(state),
        headless: matches!(bound.binding, Binding::Headless),
        local: Some(bound.writer),
        plain: bound.steps.plain,
    };
    let limit = (bound.target.spec.internal_traffic_policy == Some(InternalTrafficPolicy::Local))
        .then_some(Limit::InternalTrafficPolicyLocal);
    let (slices, directed) =
        Directed::of(Subject::standard(state.service), &offer, ground, limit, again_in);
    let mut slices = slices.into_iter();
    for (wanted, slice) in outcome.wanted.values_mut().zip(slices.by_ref()) {
        wanted.source = Some(std::mem::replace(&mut wanted.slice, slice));
    }
    for (kept, slice) in moving.iter_mut().zip(slices) {
        kept.place(slice);
    }
    directed
}

/// What is in force for each exporter, and when that changes by itself.
fn exporters(
    state: &ServiceState<'_>,
    ground: &Ground<'_>,
    rules: &Rules,
    bound: Bound<'_>,
    (moving, kept): (&[KeptSlice<'_>], &[Kept<'_>]),
    outcome: &Outcome,
) -> (BTreeMap<String, Exporter>, Option<Duration>) {
    let headless = matches!(bound.binding, Binding::Headless);
    let listed = bound.target.clusters.iter().cloned();
    let wanted = outcome.wanted.values().map(|wanted| wanted.cluster.clone());
    let offered = outcome.wanted.values().map(|wanted| (wanted.cluster.as_str(), &wanted.slice));
    let offered = offered.chain(moving.iter().map(KeptSlice::offered));
    let offered = weights(offered.chain(kept.iter().copied()));
    let moving = moving.iter().map(|kept| kept.cluster().to_owned());
    let kept = kept.iter().map(|(cluster, _)| (*cluster).to_owned());
    let clusters: BTreeSet<_> = listed.chain(wanted).chain(moving).chain(kept).collect();
    let mut again_in = None;
    let exporter = |cluster: String| {
        let (mut exporter, again) = ground.exporter(rules, state.service, &cluster, headless);
        exporter.weigh(rules, &cluster, offered.get(cluster.as_str()).copied());
        again_in = [again_in, again].into_iter().flatten().min();
        exporter.withheld = withheld(state, bound, &cluster);
        if exporter.own {
            exporter.unready = own::unready(state, ground.executing());
        }
        (cluster, exporter)
    };
    (clusters.into_iter().map(exporter).collect(), again_in)
}

/// Ports of the import, by their names in slices, that a cluster does not expose.
fn withheld(state: &ServiceState<'_>, bound: Bound<'_>, cluster: &str) -> BTreeSet<String> {
    let spec = &bound.target.spec.ports;
    let names = ports::names(spec).into_iter();
    let exporter = state.resolved.and_then(|resolved| resolved.exporter(cluster));
    let is_withheld = |port: &ServiceImportPort| {
        let withholds = |exporter: &Exported| exporter.withheld.contains(&port.name);
        exporter.is_some_and(withholds)
            || (cluster == state.cluster() && !own::exposes(state, port))
    };
    let pairs = spec.iter().zip(names).filter(|(port, _)| is_withheld(port));
    pairs.map(|(_, name)| name).collect()
}

/// Names the slices that have to wait, and notes what was decided.
pub(super) fn conclude(
    directed: Directed,
    state: &ServiceState<'_>,
    kept: &[KeptSlice<'_>],
    outcome: &Outcome,
    plan: &mut Plan,
) -> BTreeSet<String> {
    let Some(ground) = &state.ground else { return BTreeSet::new() };
    let kept = kept.iter().map(KeptSlice::outlook);
    let slices = outcome.wanted.iter().map(|(name, wanted)| {
        let current = state.imported_as(name).map(|current| &current.slice);
        Outlook {
            name,
            current,
            source: wanted.source.as_ref().unwrap_or(&wanted.slice),
            wanted: &wanted.slice,
            is_current: current.is_some_and(|current| content::is_current(current, &wanted.slice)),
        }
    });
    directed.noted(ground, &slices.chain(kept).collect::<Vec<_>>(), plan)
}
