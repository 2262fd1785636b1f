//! Sources and decisions for tests.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::tests::kube_proxy::Bound;
use crate::{
    Conditions, Decision, Encoding, Endpoint, Family, Policy, Seed, Slot, Source, State, decide,
    shape,
};

pub(super) fn seed() -> Seed {
    Seed {
        importer: "west".to_owned(),
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
        family: Family::V4,
    }
}

pub(super) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// `ready` ready endpoints and `unready` others, all in rank `rank`. A cluster called `west` is the importer.
pub(super) fn source(cluster: &str, rank: usize, ready: usize, unready: usize) -> Source {
    let endpoint = |at: usize| {
        let conditions = if at < ready { Conditions::READY } else { Conditions::UNREADY };
        Endpoint::new(format!("10.{}.0.{at}", cluster.len()), conditions)
    };
    Source {
        cluster: cluster.to_owned(),
        own: cluster == "west",
        rank: Some(rank),
        last_resort_percent: 0,
        removed: false,
        weight: 1,
        endpoints: (0..ready + unready).map(endpoint).collect(),
    }
}

/// A first decision.
pub(super) fn first(encoding: Encoding, policy: Policy, sources: &[Source]) -> Decision {
    decide(&seed(), encoding, policy, sources, &State::default(), secs(0))
}

/// The decision `seconds` after a first one at 0, asked for once a second.
pub(super) fn after(encoding: Encoding, sources: &[Source], seconds: u64) -> Decision {
    let mut decision = first(encoding, Policy::default(), sources);
    for at in 1..=seconds {
        let policy = Policy::default();
        decision = decide(&seed(), encoding, policy, sources, &decision.state, secs(at));
    }
    decision
}

/// Zones of the importing cluster's nodes.
pub(super) fn zones() -> BTreeSet<String> {
    ["a", "b", ""].map(str::to_owned).into()
}

/// What kube-proxy reads, with the index of source and endpoint.
pub(super) fn bound(sources: &[Source], decision: &Decision) -> Vec<((usize, usize), Bound)> {
    let zones = zones();
    let zones = decision.has_hints.then_some(&zones);
    let mut all = Vec::new();
    for (at, (source, slots)) in sources.iter().zip(&decision.slots).enumerate() {
        for (place, (endpoint, slot)) in source.endpoints.iter().zip(slots).enumerate() {
            if let Some(shape) = shape(*slot, endpoint.conditions, zones) {
                all.push(((at, place), Bound { shape }));
            }
        }
    }
    all
}

/// The one slot of all endpoints of each source.
pub(super) fn common_slots(decision: &Decision) -> Vec<Slot> {
    let one = |slots: &Vec<Slot>| {
        assert!(slots.iter().all(|slot| *slot == slots[0]), "{slots:?}");
        slots[0]
    };
    decision.slots.iter().map(one).collect()
}
