//! Finds which of many slices have one of a few addresses.

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::OnceLock;

/// Hashes of the addresses of a slice, in order. They are made when they are first asked for and kept as long as the content
/// of the slice, so that a look at all slices costs the addresses of those that have changed since the last one, and a few
/// comparisons for each of the others. They need four bytes per endpoint once they are made.
#[derive(Clone, Default)]
pub struct AddressHashes(OnceLock<Box<[u32]>>);

/// Addresses that are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted(HashSet<u32>);

impl Wanted {
    /// Whether nothing is looked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Extend<IpAddr> for Wanted {
    fn extend<I: IntoIterator<Item = IpAddr>>(&mut self, addresses: I) {
        self.0.extend(addresses.into_iter().map(hash));
    }
}

impl AddressHashes {
    /// Whether one of the addresses of the slice is wanted. It may be wrong about one that has the hash of another, about once in
    /// four billion comparisons; it misses none. `addresses` are read the first time only.
    pub(super) fn find<'a, I>(&self, wanted: &Wanted, addresses: impl FnOnce() -> I) -> bool
    where
        I: Iterator<Item = &'a str>,
    {
        let known = self.0.get_or_init(|| {
            let addresses = addresses().filter_map(|text| text.parse().ok());
            let mut hashes: Vec<u32> = addresses.map(hash).collect();
            hashes.sort_unstable();
            hashes.dedup();
            hashes.into()
        });
        if wanted.0.len() < known.len() {
            wanted.0.iter().any(|hash| known.binary_search(hash).is_ok())
        } else {
            known.iter().any(|hash| wanted.0.contains(hash))
        }
    }
}

/// They follow from the addresses.
impl PartialEq for AddressHashes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for AddressHashes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressHashes")
    }
}

#[expect(clippy::cast_possible_truncation, reason = "half of a hash is one")]
fn hash(address: IpAddr) -> u32 {
    let mut hasher = DefaultHasher::new();
    address.hash(&mut hasher);
    hasher.finish() as u32
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn wanted(addresses: &[&str]) -> Wanted {
        let mut wanted = Wanted::default();
        wanted.extend(addresses.iter().map(|text| text.parse().unwrap()));
        wanted
    }

    #[test]
    fn an_address_is_found_however_many_are_looked_for() {
        let hashes = AddressHashes::default();
        let addresses = ["10.0.0.1", "10.0.0.2", "fd00:0::3", "example.org", "10.0.0.1"];
        let find = |of: &[&str]| hashes.find(&wanted(of), || addresses.into_iter());
        for found in ["10.0.0.1", "10.0.0.2", "fd00::3"] {
            assert!(find(&[found]), "{found}");
            assert!(find(&["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", found]), "{found}");
        }
        for missing in ["10.0.0.3", "fd00::1", "::ffff:10.0.0.1"] {
            assert!(!find(&[missing]), "{missing}");
        }
        assert!(!find(&[]));
        assert!(!AddressHashes::default().find(&wanted(&["10.0.0.1"]), std::iter::empty));
    }

    /// Of 1000 slices of 100 endpoints, each Node that comes or goes reads none again.
    #[test]
    fn the_addresses_of_a_slice_are_read_once() {
        let slices: Vec<Vec<String>> = (0..1000)
            .map(|slice| {
                (0..100).map(|at| format!("10.{}.{}.{at}", slice / 250, slice % 250)).collect()
            })
            .collect();
        let hashes: Vec<AddressHashes> = slices.iter().map(|_| AddressHashes::default()).collect();
        let read = Cell::new(0);
        let look = |address: &str| {
            let wanted = wanted(&[address]);
            let found = slices.iter().zip(&hashes).filter(|(slice, hashes)| {
                let each = slice.iter().map(String::as_str);
                hashes.find(&wanted, || each.inspect(|_| read.set(read.get() + 1)))
            });
            (found.count(), read.take())
        };
        assert_eq!(look("192.168.0.4"), (0, 100_000));
        for node in 5..105 {
            assert_eq!(look(&format!("192.168.0.{node}")), (0, 0));
        }
        assert_eq!(look("10.3.7.42"), (1, 0));
    }
}
