use super::{Efficiency, GroupSize, Totals};
use crate::Measures;

fn measures(groups: &[(usize, usize)], distribution: Option<&'static str>) -> Measures {
    let groups =
        groups.iter().map(|&(endpoints, slices)| GroupSize { endpoints, slices }).collect();
    Measures { groups, traffic_distribution: distribution, ..Measures::default() }
}

/// EPS-81: updates replace what was known of a Service; deletion takes it away.
#[test]
fn the_sums_follow_updates_and_deletions() {
    let mut efficiency = Efficiency::default();
    let mut check = |service: &str, groups: &[(usize, usize)], sums: [usize; 3]| {
        efficiency.update(service, &[measures(groups, None)], 10);
        let [desired_slices, slices, endpoints] = sums;
        assert_eq!(efficiency.totals(), Totals { endpoints, slices, desired_slices });
    };
    check("a", &[(5, 1), (8, 1)], [2, 2, 13]);
    check("b", &[(40, 7)], [6, 9, 53]);
    check("a", &[(20, 2)], [6, 9, 60]);
    check("c", &[(0, 1), (0, 1)], [7, 11, 60]);
    efficiency.remove("b");
    assert_eq!(efficiency.totals(), Totals { endpoints: 20, slices: 4, desired_slices: 3 });
}

/// EPS-81: a Service is counted under its present distribution, once.
#[test]
fn distributions_follow_updates_and_deletions() {
    let mut efficiency = Efficiency::default();
    let mut check = |service: &str, distribution, sums: &[(&'static str, usize)]| {
        efficiency.update(service, &[measures(&[], distribution)], 10);
        assert_eq!(*efficiency.traffic_distributions(), sums.iter().copied().collect());
    };
    check("a", Some("PreferClose"), &[("PreferClose", 1)]);
    check("a", Some("PreferClose"), &[("PreferClose", 1)]);
    check("b", Some("PreferClose"), &[("PreferClose", 2)]);
    check("a", Some("PreferSameNode"), &[("PreferClose", 1), ("PreferSameNode", 1)]);
    check("b", None, &[("PreferSameNode", 1)]);
    efficiency.remove("a");
    assert!(efficiency.traffic_distributions().is_empty());
}

/// The original lets the address type looked at last win.
#[test]
fn both_address_types_count() {
    let mut efficiency = Efficiency::default();
    efficiency.update("a", &[measures(&[(11, 2)], None), measures(&[], None)], 10);
    assert_eq!(efficiency.totals(), Totals { endpoints: 11, slices: 2, desired_slices: 3 });
}
