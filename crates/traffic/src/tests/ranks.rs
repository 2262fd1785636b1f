//! docs/design/traffic.md#ranks

use crate::tests::given::{after, common_slots, first, source};
use crate::{DataPlane, Encoding, Policy, Slot, Source, shares};

use Slot::{First, LastResort, Out, Pool, Second};

fn slots(encoding: Encoding, sources: &[Source]) -> Vec<Slot> {
    common_slots(&first(encoding, Policy::default(), sources))
}

#[test]
fn slots_of_ranks() {
    // Ranks of the exporters, slots by hints, slots by conditions.
    let rows: [(&[usize], &[Slot], &[Slot]); 6] = [
        (&[0], &[Pool], &[Pool]),
        (&[3, 3], &[Pool, Pool], &[Pool, Pool]),
        (&[0, 1], &[First, Second], &[Pool, LastResort]),
        (&[1, 7, 1], &[First, Second, First], &[Pool, LastResort, Pool]),
        (&[0, 1, 2], &[First, Second, LastResort], &[Pool, LastResort, LastResort]),
        (
            &[0, 1, 2, 9],
            &[First, Second, LastResort, LastResort],
            &[Pool, LastResort, LastResort, LastResort],
        ),
    ];
    for (ranks, hints, conditions) in rows {
        let named = ranks.iter().enumerate();
        let sources: Vec<_> =
            named.map(|(at, rank)| source(&format!("c{at}"), *rank, 2, 1)).collect();
        assert_eq!(slots(Encoding::Hints, &sources), hints, "{ranks:?}");
        assert_eq!(slots(Encoding::Conditions, &sources), conditions, "{ranks:?}");
    }
}

#[test]
fn slots_below_all_ranks_and_out_of_use() {
    let drained = Source { last_resort_percent: 100, ..source("east", 0, 2, 1) };
    for encoding in [Encoding::Hints, Encoding::Conditions] {
        assert_eq!(slots(encoding, std::slice::from_ref(&drained)), [LastResort]);
    }
    let unranked = Source { rank: None, ..source("east", 0, 2, 0) };
    let removed = Source { removed: true, ..source("east", 0, 2, 0) };
    let weightless = Source { weight: 0, ..source("east", 0, 2, 0) };
    for out in [unranked, removed, weightless] {
        assert_eq!(slots(Encoding::Hints, &[source("west", 0, 1, 0), out]), [Pool, Out]);
    }
}

#[test]
fn an_exporter_without_ready_endpoints_keeps_its_rank() {
    let sources = [source("west", 0, 0, 2), source("east", 1, 2, 0)];
    assert_eq!(slots(Encoding::Hints, &sources), [First, Second]);
    // Also one without any for this port.
    let sources = [source("west", 0, 0, 0), source("east", 1, 2, 0)];
    let decision = first(Encoding::Hints, Policy::default(), &sources);
    assert_eq!(decision.slots, [vec![], vec![Second, Second]]);
}

#[test]
fn a_drain_takes_a_part_of_each_source_rounded_up() {
    // Percentage, endpoints of three that are last resort.
    for (percent, expected) in [(0, 0), (1, 1), (33, 1), (34, 2), (66, 2), (67, 3), (100, 3)] {
        let east = Source { last_resort_percent: percent, ..source("east", 0, 3, 0) };
        let decision = first(Encoding::Hints, Policy::default(), &[east]);
        let last = decision.slots[0].iter().filter(|slot| **slot == LastResort).count();
        assert_eq!(last, expected, "{percent} %");
    }
}

#[test]
fn each_step_of_a_drain_keeps_what_the_last_one_took() {
    let mut before = Vec::new();
    for percent in 0..=100 {
        let east = Source { last_resort_percent: percent, ..source("east", 0, 7, 0) };
        let slots = first(Encoding::Hints, Policy::default(), &[east]).slots.remove(0);
        let taken: Vec<_> = (0..7).filter(|at| slots[*at] == LastResort).collect();
        assert!(before.iter().all(|at| taken.contains(at)), "{percent} %");
        before = taken;
    }
}

#[test]
fn encoding_of_a_cluster() {
    let zones = |count: usize| (0..count).map(|at| format!("z{at}")).collect();
    let rows = [
        (DataPlane::KubeProxy, 8, false, Encoding::Hints),
        (DataPlane::Cilium, 8, false, Encoding::Hints),
        (DataPlane::KubeProxy, 9, false, Encoding::Conditions),
        (DataPlane::KubeProxy, 1, true, Encoding::Conditions),
        (DataPlane::Conditions, 1, false, Encoding::Conditions),
    ];
    for (data_plane, count, kubernetes_writes_own, expected) in rows {
        assert_eq!(Encoding::new(data_plane, &zones(count), kubernetes_writes_own), expected);
    }
}

#[test]
fn shares_of_the_slot_in_use() {
    let sources = [source("west", 0, 2, 1), source("east", 1, 3, 0), source("far", 1, 1, 0)];
    let of = |sources: &[Source], decision: &crate::Decision| -> Vec<_> {
        let shares = shares(sources, &decision.slots);
        shares.into_iter().map(|one| (one.ready, one.used, one.percent)).collect()
    };
    let decision = after(Encoding::Hints, &sources, 0);
    assert_eq!(of(&sources, &decision), [(2, 2, 100), (3, 0, 0), (1, 0, 0)]);
    let sources = [source("west", 0, 0, 3), source("east", 1, 3, 0), source("far", 1, 1, 0)];
    let decision = after(Encoding::Hints, &sources, 0);
    assert_eq!(of(&sources, &decision), [(0, 0, 0), (3, 3, 75), (1, 1, 25)]);
    let sources = [source("west", 0, 0, 3), source("east", 1, 0, 0)];
    let decision = after(Encoding::Hints, &sources, 0);
    assert_eq!(of(&sources, &decision), [(0, 0, 0), (0, 0, 0)]);
}
