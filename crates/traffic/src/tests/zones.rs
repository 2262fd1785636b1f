//! docs/design/traffic.md#zones

use std::collections::BTreeSet;

use crate::{named_zones, zones_of_own};

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn zones_to_name() {
    let eight = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let with_unlabelled = [&eight[..], &[""]].concat();
    // Named until now, zones of the nodes, whether slices are written anyway, named from now on.
    let rows = [
        (set(&[]), set(&["a", ""]), false, Some(set(&["a", ""]))),
        (set(&["a"]), set(&["a", "b"]), false, Some(set(&["a", "b"]))),
        (set(&["a", "b"]), set(&["a"]), false, Some(set(&["a", "b"]))),
        (set(&["a", "b"]), set(&["a"]), true, Some(set(&["a"]))),
        (set(&["old"]), set(&eight), false, Some(set(&eight))),
        (set(&eight), set(&with_unlabelled), false, None),
    ];
    for (named, nodes, rewriting, expected) in rows {
        assert_eq!(named_zones(&named, &nodes, rewriting), expected, "{named:?} {nodes:?}");
    }
}

#[test]
fn zones_of_own_endpoints_of_a_service_that_prefers_close_ones() {
    let named = set(&["a", "b", "c", ""]);
    let with_ready = set(&["a", "b"]);
    // Zone of the endpoint, what it names.
    let rows = [
        ("a", set(&["a", "c", ""])),
        ("b", set(&["b", "c", ""])),
        ("", set(&["c", ""])),
        ("gone", set(&["c", ""])),
    ];
    for (zone, expected) in rows {
        assert_eq!(zones_of_own(zone, &with_ready, &named), expected, "in {zone:?}");
    }
}
