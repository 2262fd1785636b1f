//! What is counted.

use serde_json::json;

use super::fixture::{World, pods, service, with};
use crate::{Efficiency, Measures, Totals};

fn efficiency(measures: &[Measures]) -> Efficiency {
    let mut efficiency = Efficiency::default();
    efficiency.update("test/foo", measures, 100);
    efficiency
}

/// EPS-1: a placeholder is one slice of one.
#[test]
fn a_placeholder_counts_as_a_slice() {
    let mut world = World::new(service(), Vec::new());
    for counts in [(1, 0, 0), (0, 0, 0)] {
        let (measures, found) = world.measured();
        assert_eq!(found, counts);
        assert_eq!(
            efficiency(&measures).totals(),
            Totals { endpoints: 0, slices: 1, desired_slices: 1 }
        );
    }
}

/// EPS-16: four slices where three would do.
#[test]
fn packing_is_compared_with_the_minimum() {
    let all = pods(300);
    let mut world = World::new(service(), all.clone()).given(&[&all[..74], &all[74..148]]);
    let (measures, _) = world.measured();
    assert_eq!(
        efficiency(&measures).totals(),
        Totals { endpoints: 300, slices: 4, desired_slices: 3 }
    );
}

/// EPS-28, EPS-29, EPS-30: what is added and removed, and how many slices change.
#[test]
fn added_and_removed_endpoints_are_counted() {
    let all = pods(20);
    let mut world = World::new(service(), all.clone());
    let (first, counts) = world.measured();
    assert_eq!((counts, efficiency(&first).totals().endpoints), ((1, 0, 0), 20));
    world.pods = all[..10].to_vec();
    let (second, counts) = world.measured();
    assert_eq!((counts, efficiency(&second).totals().endpoints), ((0, 1, 0), 10));
    assert_eq!((first[0].added, second[0].added), (20, 0));
    assert_eq!((first[0].removed, second[0].removed), (0, 10));
    assert_eq!(first[0].changed + second[0].changed, 2);
    world.pods = all[..11].to_vec();
    let (third, counts) = world.measured();
    assert_eq!((counts, third[0].added, third[0].removed), ((0, 1, 0), 1, 0));
}

/// EPS-31: Services are counted by traffic distribution.
#[test]
fn traffic_distributions_are_counted() {
    let service = with(&service(), "/spec/trafficDistribution", json!("PreferClose"));
    let mut world = World::new(service, pods(2));
    let (measures, counts) = world.measured();
    assert_eq!(counts, (1, 0, 0));
    let efficiency = efficiency(&measures);
    assert_eq!(efficiency.totals(), Totals { endpoints: 2, slices: 1, desired_slices: 1 });
    assert_eq!(efficiency.traffic_distributions().get("PreferClose"), Some(&1));
}
