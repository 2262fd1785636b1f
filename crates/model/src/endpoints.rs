//! Exported endpoints: which of them a change removes, and how their addresses are written.

use std::collections::HashSet;
use std::net::Ipv6Addr;

use fleet_api::{AddressType, Endpoint, ExportedSliceSpec};

/// Whether an endpoint of `old` is missing or draining in `new`. Traffic to it may fail until all importers have the
/// change.
pub fn loses(old: &ExportedSliceSpec, new: &ExportedSliceSpec) -> bool {
    lacks(&new.endpoints, &old.endpoints) || lacks(&new.draining_endpoints, &old.draining_endpoints)
}

/// Whether any of `others` is missing in `list`. Hashes the list, since a slice may hold a thousand endpoints.
fn lacks(list: &[Endpoint], others: &[Endpoint]) -> bool {
    if list.starts_with(others) {
        return false;
    }
    // Only addresses matter: where an endpoint runs is no loss.
    let known: HashSet<_> = list.iter().map(|endpoint| &endpoint.addresses).collect();
    others.iter().any(|endpoint| !known.contains(&endpoint.addresses))
}

/// Returns the endpoints with IPv6 addresses in canonical form. API servers accept every spelling; importers reject
/// all but the canonical one, so that one address cannot be imported twice.
pub fn printed(mut endpoints: Vec<Endpoint>, address_type: &AddressType) -> Vec<Endpoint> {
    if *address_type == AddressType::IPv6 {
        for address in endpoints.iter_mut().flat_map(|endpoint| &mut endpoint.addresses) {
            if let Ok(ip) = address.parse::<Ipv6Addr>() {
                *address = ip.to_string();
            }
        }
    }
    endpoints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(addresses: &[&str]) -> Vec<Endpoint> {
        let endpoint = |address: &&str| Endpoint::new(vec![(*address).to_owned()]);
        addresses.iter().map(endpoint).collect()
    }

    #[test]
    fn reordered_and_added_endpoints_remove_none() {
        let old = list(&["a", "b"]);
        assert!(!lacks(&list(&["a", "b", "c"]), &old));
        assert!(!lacks(&list(&["c", "b", "a"]), &old));
        assert!(lacks(&list(&["a", "c"]), &old));
        assert!(lacks(&[], &old));
    }

    #[test]
    fn an_endpoint_that_starts_draining_is_removed() {
        let old = ExportedSliceSpec { endpoints: list(&["a"]), ..Default::default() };
        let new = ExportedSliceSpec { draining_endpoints: list(&["a"]), ..Default::default() };
        assert!(loses(&old, &new));
        assert!(loses(&new, &ExportedSliceSpec::default()));
        assert!(!loses(&ExportedSliceSpec::default(), &new));
    }
}
