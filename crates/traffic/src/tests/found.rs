//! A decider that begins anew, and goes on from what the slices have (docs/design/traffic.md#promotion).

use std::time::Duration;

use crate::tests::given::{common_slots, secs, seed, source};
use crate::{Decision, Encoding, Found, Policy, Slot, Source, SpillPolicy, State, Tier, decide};

use Slot::{First, LastResort, Pool, Second};

/// The slots of a decision, as the slices have them.
fn found(sources: &[Source], decision: &Decision) -> State {
    let pairs = sources.iter().zip(&decision.slots);
    let all = pairs.flat_map(|(source, slots)| {
        let endpoints = source.endpoints.iter().zip(slots);
        endpoints.map(|(one, slot)| ((source.cluster.clone(), one.address.clone()), *slot))
    });
    State::begun(all.collect::<Found>())
}

fn next(
    encoding: Encoding,
    policy: Policy,
    sources: &[Source],
    before: &State,
    at: u64,
) -> Decision {
    decide(&seed(), encoding, policy, sources, before, secs(at))
}

#[test]
fn what_is_promoted_stays_so() {
    for (encoding, promoted) in [(Encoding::Hints, Second), (Encoding::Conditions, Pool)] {
        let sources = [source("west", 0, 0, 1), source("a", 1, 0, 1), source("bb", 2, 2, 0)];
        let policy = Policy::default();
        let waiting = next(encoding, policy, &sources, &State::default(), 0);
        let before = next(encoding, policy, &sources, &waiting.state, 1);
        assert_eq!(common_slots(&before)[2], promoted);
        let again = next(encoding, policy, &sources, &found(&sources, &before), 0);
        assert_eq!(again.slots, before.slots, "{encoding:?}");
        assert_eq!(again.state.promoted(), Some(Tier::Rank(2)));
        let later = next(encoding, policy, &sources, &again.state, 100);
        assert_eq!(later.slots, before.slots);
    }
}

/// What was in use before a drain that came meanwhile is not taken for promoted.
#[test]
fn with_better_endpoints_nothing_was_promoted() {
    let mut sources = [source("a", 0, 2, 0), source("bb", 0, 2, 0)];
    let before = next(Encoding::Hints, Policy::default(), &sources, &State::default(), 0);
    assert_eq!(common_slots(&before), [Pool, Pool]);
    sources[1].last_resort_percent = 100;
    let state = found(&sources, &before);
    let again = next(Encoding::Hints, Policy::default(), &sources, &state, 0);
    assert_eq!(common_slots(&again), [Pool, LastResort]);
}

/// A first promotion waits its second, whatever is found.
#[test]
fn what_was_last_resort_is_promoted_as_always() {
    let sources = [source("a", 0, 0, 1), source("bb", 1, 0, 1), source("ccc", 2, 1, 0)];
    let before = next(Encoding::Hints, Policy::default(), &sources, &State::default(), 0);
    assert_eq!(common_slots(&before)[2], LastResort);
    let again = next(Encoding::Hints, Policy::default(), &sources, &found(&sources, &before), 5);
    assert_eq!((common_slots(&again)[2], again.again_at), (LastResort, Some(secs(6))));
}

#[test]
fn what_is_lent_is_not_lent_anew() {
    let spill = Some(SpillPolicy { below_percent: 80, size: 10 });
    let policy = Policy { spill, ..Policy::default() };
    let few = [source("west", 0, 4, 6), source("a", 1, 10, 0)];
    let before = next(Encoding::Hints, policy, &few, &State::default(), 0);
    let lent =
        |decision: &Decision| decision.slots[1].iter().filter(|slot| **slot == First).count();
    assert_eq!(lent(&before), 4);
    let state = found(&few, &before);
    assert_eq!(next(Encoding::Hints, policy, &few, &state, 0).slots, before.slots);
    // They have recovered while nothing was decided: it goes back by tenths.
    let all = [source("west", 0, 10, 0), source("a", 1, 10, 0)];
    let again = next(Encoding::Hints, policy, &all, &state, 0);
    assert!(lent(&again) > 0 && again.again_at == Some(Duration::from_secs(30)), "{again:?}");
}
