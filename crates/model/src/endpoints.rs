//! Which endpoints a change takes away.

use std::collections::HashSet;

use fleet_api::{Endpoint, ExportedSliceSpec};

/// Whether an endpoint of `old` is no longer in `new`, or drains now: traffic to it may fail until
/// everybody knows.
pub fn loses(old: &ExportedSliceSpec, new: &ExportedSliceSpec) -> bool {
    lacks(&new.endpoints, &old.endpoints) || lacks(&new.draining_endpoints, &old.draining_endpoints)
}

/// Whether `list` lacks any of `others`. A slice may hold a thousand endpoints.
pub fn lacks(list: &[Endpoint], others: &[Endpoint]) -> bool {
    if list.starts_with(others) {
        return false;
    }
    let known: HashSet<_> = list.iter().collect();
    others.iter().any(|endpoint| !known.contains(endpoint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(addresses: &[&str]) -> Vec<Endpoint> {
        let endpoint = |address: &&str| Endpoint { addresses: vec![(*address).to_owned()] };
        addresses.iter().map(endpoint).collect()
    }

    #[test]
    fn order_and_additions_take_nothing_away() {
        let old = list(&["a", "b"]);
        assert!(!lacks(&list(&["a", "b", "c"]), &old));
        assert!(!lacks(&list(&["c", "b", "a"]), &old));
        assert!(lacks(&list(&["a", "c"]), &old));
        assert!(lacks(&[], &old));
    }

    #[test]
    fn an_endpoint_that_begins_to_drain_is_lost() {
        let old = ExportedSliceSpec { endpoints: list(&["a"]), ..Default::default() };
        let new = ExportedSliceSpec { draining_endpoints: list(&["a"]), ..Default::default() };
        assert!(loses(&old, &new));
        assert!(loses(&new, &ExportedSliceSpec::default()));
        assert!(!loses(&ExportedSliceSpec::default(), &new));
    }
}
