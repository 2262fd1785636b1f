//! Endpoints that one cluster exports and another one runs.

use crate::tests::given::{common_slots, first, source};
use crate::{
    Conditions, Encoding, Endpoint, Policy, Slot, Source, SpillPolicy, Weighting, Withdrawal,
    shares,
};

use Slot::{First, LastResort, Out, Second};

/// A cluster that has `own` endpoints and runs `others` of an exporter that is withdrawn this far.
fn running(cluster: &str, own: usize, others: usize, by_exporter: Withdrawal) -> Source {
    let mut source = source(cluster, usize::from(cluster != "west"), own, 0);
    source.endpoints.extend((0..others).map(|at| Endpoint {
        by_exporter,
        ..Endpoint::new(format!("10.99.0.{at}"), Conditions::READY)
    }));
    source
}

fn drained(last_resort_percent: u8) -> Withdrawal {
    Withdrawal { last_resort_percent, removed: false }
}

fn count(slots: &[Slot], of: Slot) -> usize {
    slots.iter().filter(|slot| **slot == of).count()
}

/// What the importer itself runs is its own, of whatever exporter.
#[test]
fn they_have_the_place_of_the_cluster_that_runs_them() {
    let sources = [
        running("west", 1, 2, Withdrawal::default()),
        running("east", 1, 1, Withdrawal::default()),
    ];
    let decision = first(Encoding::Hints, Policy::default(), &sources);
    assert_eq!(common_slots(&decision), [First, Second]);
    let shares = shares(&sources, &decision.slots);
    assert_eq!([shares[0].used, shares[1].used], [3, 0]);
}

#[test]
fn a_drain_of_the_exporter_takes_its_endpoints_along_and_no_others() {
    // Percentage of the drain, how many of two own and four others are last resort.
    for (percent, last) in [(0, [0, 0]), (25, [0, 1]), (50, [0, 2]), (100, [0, 4])] {
        let sources = [source("west", 0, 1, 0), running("east", 2, 4, drained(percent))];
        let slots = first(Encoding::Hints, Policy::default(), &sources).slots;
        let (own, others) = slots[1].split_at(2);
        assert_eq!([count(own, LastResort), count(others, LastResort)], last, "at {percent} %");
    }
}

#[test]
fn the_greater_of_both_drains_counts() {
    let mut east = running("east", 2, 4, drained(25));
    east.last_resort_percent = 50;
    let slots =
        first(Encoding::Hints, Policy::default(), &[source("west", 0, 1, 0), east.clone()]).slots;
    assert_eq!(count(&slots[1], LastResort), 3);
    // With removal, only what is concerned.
    east.endpoints[2].by_exporter.removed = true;
    let slots = first(Encoding::Hints, Policy::default(), &[source("west", 0, 1, 0), east]).slots;
    assert_eq!((slots[1][2], count(&slots[1], Out)), (Out, 1));
}

/// One cluster has one share, for what it exports and for what it runs.
#[test]
fn weights_are_those_of_clusters_that_run_endpoints() {
    let weighting = Weighting::Clusters { min_subset_percent: 10 };
    let policy = Policy { weighting, ..Policy::default() };
    let east = Source { rank: Some(0), ..running("east", 5, 5, Withdrawal::default()) };
    let far = source("far", 0, 10, 0);
    let decision = first(Encoding::Hints, policy, &[east.clone(), far.clone()]);
    assert_eq!(shares(&[east, far.clone()], &decision.slots)[0].percent, 50);
    // It gives up the part of its share that the other exporter withdraws.
    let east = Source { rank: Some(0), ..running("east", 5, 5, drained(100)) };
    let sources = [east, far];
    let decision = first(Encoding::Hints, policy, &sources);
    assert_eq!(shares(&sources, &decision.slots)[0].percent, 33);
}

#[test]
fn what_runs_elsewhere_is_no_part_of_the_own_size() {
    let spill = Some(SpillPolicy { below_percent: 80, size: 0 });
    let policy = Policy { spill, ..Policy::default() };
    let sources = [source("west", 0, 2, 0), running("east", 0, 8, Withdrawal::default())];
    let decision = first(Encoding::Hints, policy, &sources);
    assert_eq!(common_slots(&decision), [First, Second], "both own ones are ready");
    let sources = [source("west", 0, 1, 1), running("east", 0, 8, Withdrawal::default())];
    let decision = first(Encoding::Hints, policy, &sources);
    assert_eq!(count(&decision.slots[1], First), 1, "4 of 10 for 1");
}
