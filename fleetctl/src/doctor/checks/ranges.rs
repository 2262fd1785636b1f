//! Ranges of addresses that two clusters, or Pods and Services of one, have both.

use std::collections::BTreeSet;

use fleet_model::cidr::Cidr;

use crate::doctor::finding::{Finding, Outcome, Unread, known};
use crate::doctor::list::list;
use crate::doctor::seen::{Cluster, Hub, Seen};

/// Pairs after which it is enough: in a fleet where all clusters have the same ranges there are as many as members, squared.
const ENOUGH: usize = 1000;

/// What a range is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Pods,
    Services,
}

/// A range of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Range<'a> {
    cidr: Cidr,
    member: &'a str,
    is_for: Use,
}

/// Whether addresses of Pods lead to one place only. Addresses of Services may be the same in two clusters: they are used in their own
/// cluster only.
pub(super) fn overlaps(seen: &Seen, _: &Hub) -> Outcome {
    let mut ranges = Vec::new();
    let mut unread = None;
    for member in &seen.members {
        let Ok(own) = &member.own else { continue };
        match of_member(&member.name, own) {
            Ok(found) => ranges.extend(found),
            Err(reason) => unread = Some(reason),
        }
    }
    let pairs = overlapping(ranges);
    let findings: Vec<_> =
        [Use::Pods, Use::Services].into_iter().filter_map(|it| of(it, &pairs)).collect();
    match unread {
        Some(unread) if findings.is_empty() => Err(unread),
        _ => Ok(findings),
    }
}

fn of_member<'a>(member: &'a str, own: &Cluster) -> Result<Vec<Range<'a>>, Unread> {
    let range = |is_for: Use| {
        move |text: &String| text.parse().ok().map(|cidr| Range { cidr, member, is_for })
    };
    let pods = known(&own.pod_ranges)?.iter().filter_map(range(Use::Pods));
    // Before Kubernetes 1.33 the ranges of Services are not shown: those of Pods still are.
    let services = own.ranges.as_ref().map(Vec::as_slice).unwrap_or_default();
    Ok(pods.chain(services.iter().filter_map(range(Use::Services))).collect())
}

/// Pairs of ranges of which one is for Pods, and that are not both of Pods of one member. Two ranges are apart, or one is in the other:
/// so those that may overlap with a range are the ones around it.
fn overlapping(mut ranges: Vec<Range<'_>>) -> Vec<(Range<'_>, Range<'_>)> {
    ranges.sort();
    ranges.dedup();
    let mut around: Vec<Range<'_>> = Vec::new();
    let mut pairs = Vec::new();
    for range in ranges {
        around.retain(|outer| outer.cidr.overlaps(&range.cidr));
        let clashes = around.iter().filter(|outer| clash(outer, &range));
        pairs.extend(clashes.map(|outer| (*outer, range)).take(ENOUGH.saturating_sub(pairs.len())));
        if pairs.len() >= ENOUGH {
            break;
        }
        around.push(range);
    }
    pairs
}

fn clash(one: &Range<'_>, other: &Range<'_>) -> bool {
    let both = (one.is_for, other.is_for);
    match both {
        (Use::Services, Use::Services) => false,
        (Use::Pods, Use::Pods) => one.member != other.member,
        _ => true,
    }
}

fn of(is_for: Use, pairs: &[(Range<'_>, Range<'_>)]) -> Option<Finding> {
    let named = pairs.iter().filter(|(one, other)| one.is_for.max(other.is_for) == is_for);
    let named: BTreeSet<_> = named.map(|(one, other)| shown(one, other)).collect();
    if named.is_empty() {
        return None;
    }
    let count =
        if pairs.len() >= ENOUGH { format!("{ENOUGH} or more") } else { named.len().to_string() };
    let what = match is_for {
        Use::Pods => format!(
            "Pods of two members have the same addresses ({count} pairs of ranges): an endpoint of one leads to a Pod of the other"
        ),
        Use::Services => format!(
            "addresses of Pods are addresses of Services elsewhere ({count} pairs of ranges): a packet to such an endpoint does not leave \
             the cluster of the Service"
        ),
    };
    let advice = "give each cluster ranges of its own; a range of Pods cannot be changed in place, so export nothing from one of the two \
                  clusters until it is made anew";
    Some(Finding::failure(format!("{what}: {}", list(named)), advice))
}

fn shown(one: &Range<'_>, other: &Range<'_>) -> String {
    let text = |it: &Range<'_>| {
        let of = if it.is_for == Use::Pods { "Pods" } else { "Services" };
        format!("{} ({of} of {})", it.cidr, it.member)
    };
    format!("{} and {}", text(one), text(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{levels, unread, with_east};

    fn set(ranges: &[&str]) -> BTreeSet<String> {
        ranges.iter().map(|&range| range.to_owned()).collect()
    }

    #[test]
    fn ranges_of_pods_belong_to_one_member() {
        let mut world = with_east();
        assert_eq!(world.examine_hub(overlaps), [], "both have the same range of Services");
        world.own().pod_ranges = Ok(set(&["10.245.0.0/16", "10.1.0.0/24"]));
        let found = world.examine_hub(overlaps);
        assert_eq!(levels(&found), ["failure"]);
        let expected = "10.245.0.0/16 (Pods of west) and 10.245.0.0/24 (Pods of east)";
        assert!(found[0].what.ends_with(expected), "{found:?}");
    }

    #[test]
    fn pods_and_services_have_ranges_of_their_own() {
        let mut world = with_east();
        world.own().pod_ranges = Ok(set(&["10.96.4.0/24"]));
        let found = world.examine_hub(overlaps);
        assert_eq!(levels(&found), ["failure"], "its own and those of east");
        assert!(found[0].what.contains("(2 pairs of ranges)"), "{found:?}");
    }

    #[test]
    fn what_was_not_read_is_not_guessed() {
        let mut world = with_east();
        world.own().pod_ranges = Err(unread());
        assert_eq!(world.try_examine_hub(overlaps), Err(unread()));
    }

    #[test]
    fn a_fleet_of_equal_clusters_is_cut_short() {
        let names: Vec<_> = (0..2000).map(|number| format!("m{number}")).collect();
        let cidr = "10.244.0.0/16".parse().unwrap();
        let ranges = names.iter().map(|member| Range { cidr, member, is_for: Use::Pods }).collect();
        assert_eq!(overlapping(ranges).len(), ENOUGH);
    }
}
