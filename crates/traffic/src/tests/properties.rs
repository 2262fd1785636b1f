//! docs/design/traffic.md#rules, for any input.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use crate::tests::given::{bound, first, secs, seed};
use crate::tests::kube_proxy::used;
use crate::{
    Conditions, Decision, Encoding, Endpoint, Policy, Slot, Source, SpillPolicy, State, Weighting,
    Withdrawal, decide,
};

fn conditions() -> impl Strategy<Value = Conditions> {
    prop_oneof![
        4 => Just(Conditions::READY),
        2 => Just(Conditions::UNREADY),
        1 => Just(Conditions::DRAINING),
    ]
}

/// Mostly of the cluster itself; some are of another exporter, which may drain.
fn endpoints() -> impl Strategy<Value = Vec<Endpoint>> {
    let by_exporter = prop_oneof![
        4 => Just(Withdrawal::default()),
        1 => (prop_oneof![Just(0_u8), Just(100), 0_u8..=100], prop::bool::weighted(0.2))
            .prop_map(|(last_resort_percent, removed)| Withdrawal { last_resort_percent, removed }),
    ];
    prop::collection::vec((conditions(), by_exporter), 0..6).prop_map(|all| {
        let named = all.into_iter().enumerate();
        let endpoint = |(at, (conditions, by_exporter))| Endpoint {
            address: format!("10.0.0.{at}"),
            conditions,
            by_exporter,
        };
        named.map(endpoint).collect()
    })
}

prop_compose! {
    fn source()(
        rank in prop::option::weighted(0.9, 0_usize..4),
        last_resort_percent in prop_oneof![Just(0_u8), Just(100), 0_u8..=100],
        removed in prop::bool::weighted(0.1),
        weight in prop_oneof![9 => 1_u16..=1000, 1 => Just(0)],
        endpoints in endpoints(),
    ) -> Source {
        let cluster = String::new();
        Source { cluster, own: false, rank, last_resort_percent, removed, weight, endpoints }
    }
}

/// Up to five, of which the first is the importer's own.
fn sources() -> impl Strategy<Value = Vec<Source>> {
    prop::collection::vec(source(), 1..6).prop_map(|mut all| {
        for (at, source) in all.iter_mut().enumerate() {
            source.cluster = format!("c{at}");
            source.own = at == 0;
        }
        all
    })
}

fn encoding() -> impl Strategy<Value = Encoding> {
    prop_oneof![Just(Encoding::Hints), Just(Encoding::Conditions)]
}

fn policy() -> impl Strategy<Value = Policy> {
    let weighting = prop_oneof![
        Just(Weighting::Endpoints),
        (10_u8..=100).prop_map(|percent| Weighting::Clusters { min_subset_percent: percent }),
    ];
    let spill = (1_u8..=100, 0_usize..12)
        .prop_map(|(below_percent, size)| SpillPolicy { below_percent, size });
    (weighting, prop::option::of(spill)).prop_map(|(weighting, spill)| Policy { weighting, spill })
}

/// What happens between two decisions: one endpoint gets other conditions, some time passes.
type Change = (prop::sample::Index, prop::sample::Index, Conditions, u64);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let index = any::<prop::sample::Index>;
    prop::collection::vec((index(), index(), conditions(), 0_u64..40_000), 0..12)
}

fn apply(sources: &mut [Source], (source, endpoint, conditions, _): &Change) {
    let endpoints = &mut source.get_mut(sources).endpoints;
    if !endpoints.is_empty() {
        endpoint.get_mut(endpoints).conditions = *conditions;
    }
}

/// All decisions of a history, each with its time and its input.
fn history(
    encoding: Encoding,
    policy: Policy,
    mut sources: Vec<Source>,
    changes: &[Change],
    start: Duration,
) -> Vec<(Duration, Vec<Source>, Decision)> {
    let mut now = start;
    let mut state = State::default();
    let mut all = Vec::new();
    for change in std::iter::once(None).chain(changes.iter().map(Some)) {
        if let Some(change) = change {
            apply(&mut sources, change);
            now += Duration::from_millis(change.3);
        }
        let decision = decide(&seed(), encoding, policy, &sources, &state, now);
        state = decision.state.clone();
        all.push((now, sources.clone(), decision));
    }
    all
}

fn has_offer(sources: &[Source]) -> bool {
    let offered = sources.iter().filter(|source| !source.is_out());
    let mut endpoints = offered.flat_map(|source| &source.endpoints);
    endpoints.any(|one| one.conditions.ready && !one.by_exporter.removed)
}

/// Slot of every endpoint by its cluster and address.
fn by_name(sources: &[Source], decision: &Decision) -> BTreeMap<(String, String), Slot> {
    let pairs = sources.iter().zip(&decision.slots).flat_map(|(source, slots)| {
        let name = |one: &Endpoint| (source.cluster.clone(), one.address.clone());
        source.endpoints.iter().map(name).zip(slots.iter().copied())
    });
    pairs.collect()
}

proptest! {
    #[test]
    fn a_node_has_an_endpoint_to_use_while_one_is_ready(
        encoding in encoding(), policy in policy(), sources in sources(), changes in changes(),
    ) {
        for (now, sources, decision) in history(encoding, policy, sources, &changes, secs(0)) {
            if !has_offer(&sources) {
                continue;
            }
            let (places, all): (Vec<_>, Vec<_>) = bound(&sources, &decision).into_iter().unzip();
            for zone in ["a", "", "not named"] {
                let used = used(&all, zone);
                prop_assert!(!used.is_empty());
                for (source, endpoint) in used.into_iter().map(|at| places[at]) {
                    let conditions = sources[source].endpoints[endpoint].conditions;
                    prop_assert!(conditions.ready || conditions.is_fallback());
                    let one = &sources[source].endpoints[endpoint];
                    prop_assert!(!sources[source].is_out() && !one.by_exporter.removed);
                }
            }
            let later = decide(
                &seed(), encoding, policy, &sources, &decision.state, now + secs(1),
            );
            prop_assert!(bound(&sources, &later).iter().any(|(_, one)| one.shape.conditions.ready));
        }
    }

    #[test]
    fn readiness_moves_no_other_endpoint_until_a_promotion(
        encoding in encoding(), sources in sources(), change in changes(),
    ) {
        let whole = |source: Source| {
            let whole = |percent: u8| if percent < 50 { 0 } else { 100 };
            let last_resort_percent = whole(source.last_resort_percent);
            let mut source = Source { last_resort_percent, ..source };
            for one in &mut source.endpoints {
                one.by_exporter.last_resort_percent = whole(one.by_exporter.last_resort_percent);
            }
            source
        };
        let sources: Vec<_> = sources.into_iter().map(whole).collect();
        let mut changed = sources.clone();
        for one in &change {
            apply(&mut changed, one);
        }
        let slots = |sources: &[Source]| first(encoding, Policy::default(), sources).slots;
        prop_assert_eq!(slots(&sources), slots(&changed));
    }

    #[test]
    fn one_endpoint_that_goes_moves_at_most_one_other_for_a_drain_and_one_for_a_weight(
        encoding in encoding(), mut policy in policy(), sources in sources(), change in changes(),
    ) {
        policy.spill = None;
        let decision = first(encoding, policy, &sources);
        let mut fewer = sources.clone();
        let Some((source, endpoint, ..)) = change.first() else { return Ok(()) };
        let endpoints = &mut source.get_mut(&mut fewer).endpoints;
        if endpoints.is_empty() {
            return Ok(());
        }
        endpoints.remove(endpoint.index(endpoints.len()));
        let next = decide(&seed(), encoding, policy, &fewer, &decision.state, Duration::from_millis(900));
        let before = by_name(&sources, &decision);
        let others = by_name(&fewer, &next);
        let moved = others.iter().filter(|(name, slot)| before[*name] != **slot).count();
        // A rank that loses its last chosen endpoint chooses anew.
        let recomputed = next.state != decision.state && policy.weighting != Weighting::Endpoints;
        prop_assert!(moved <= 2 || recomputed, "{} moved", moved);
    }

    #[test]
    fn the_order_of_the_input_does_not_matter(
        encoding in encoding(), policy in policy(), sources in sources(),
    ) {
        let mut reordered = sources.clone();
        reordered.reverse();
        for source in &mut reordered {
            source.endpoints.reverse();
        }
        let decision = first(encoding, policy, &sources);
        let other = first(encoding, policy, &reordered);
        prop_assert_eq!(by_name(&sources, &decision), by_name(&reordered, &other));
        prop_assert_eq!(&decision.state, &other.state);
    }

    #[test]
    fn only_durations_matter(
        encoding in encoding(), policy in policy(), sources in sources(), changes in changes(),
        boot in 0_u64..1_000_000_000,
    ) {
        let slots = |start| -> Vec<_> {
            let all = history(encoding, policy, sources.clone(), &changes, start);
            all.into_iter().map(|(_, _, decision)| decision.slots).collect()
        };
        prop_assert_eq!(slots(secs(0)), slots(secs(boot)));
    }

    #[test]
    fn a_decision_is_bounded_and_comes_to_rest(
        encoding in encoding(), policy in policy(), sources in sources(), changes in changes(),
    ) {
        let all = history(encoding, policy, sources, &changes, secs(0));
        for (now, sources, decision) in &all {
            let used: BTreeSet<_> = decision.slots.iter().flatten().copied().collect();
            let hinted = used.contains(&Slot::First) || used.contains(&Slot::Second);
            prop_assert!(!(hinted && used.contains(&Slot::Pool)));
            prop_assert_eq!(decision.slots.len(), sources.len());
            prop_assert!(decision.again_at.is_none_or(|at| at > *now));
        }
        let Some((_, sources, last)) = all.into_iter().next_back() else { return Ok(()) };
        let mut decision = last;
        for _ in 0..40 {
            let Some(at) = decision.again_at else { break };
            decision = decide(&seed(), encoding, policy, &sources, &decision.state, at);
        }
        prop_assert_eq!(decision.again_at, None);
        let later = decide(&seed(), encoding, policy, &sources, &decision.state, secs(1_000_000));
        prop_assert_eq!(later.slots, decision.slots);
    }
}
