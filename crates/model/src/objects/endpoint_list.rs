//! Addresses of endpoints in one allocation.

use std::collections::HashSet;

use fleet_api::Endpoint;

/// Separates the addresses of an endpoint.
const NEXT: char = ' ';
/// Terminates each endpoint.
const END: char = '\n';

/// Addresses of endpoints, in their order and in one allocation: a cluster may have many thousands of endpoints that are
/// not exported. API servers reject addresses with a blank or a line feed, so these separate addresses and endpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointList(Box<str>);

impl EndpointList {
    /// Number of endpoints.
    pub fn len(&self) -> usize {
        self.each().count()
    }

    /// Whether it has no endpoints.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Addresses of all endpoints.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.each().flatten()
    }

    /// Returns the endpoints in the form in which exported slices carry them.
    pub fn to_vec(&self) -> Vec<Endpoint> {
        let endpoint =
            |addresses: Addresses<'_>| Endpoint::new(addresses.map(str::to_owned).collect());
        self.each().map(endpoint).collect()
    }

    /// Whether `list` has all of them. A slice may have a thousand endpoints.
    pub fn is_within(&self, list: &[Endpoint]) -> bool {
        let is_same = |(own, other): (Addresses<'_>, &Endpoint)| own.eq(&other.addresses);
        if self.len() <= list.len() && self.each().zip(list).all(is_same) {
            return true;
        }
        let addresses = list.iter().map(|endpoint| endpoint.addresses.iter().map(String::as_str));
        let known: HashSet<Vec<&str>> = addresses.map(Iterator::collect).collect();
        self.each().all(|endpoint| known.contains(&endpoint.collect::<Vec<_>>()))
    }

    fn each(&self) -> impl Iterator<Item = Addresses<'_>> {
        self.0.split_terminator(END).map(|endpoint| endpoint.split_terminator(NEXT))
    }
}

type Addresses<'a> = std::str::SplitTerminator<'a, char>;

impl PartialEq<[Endpoint]> for EndpointList {
    fn eq(&self, other: &[Endpoint]) -> bool {
        let others = other.iter().map(|endpoint| endpoint.addresses.iter().map(String::as_str));
        let mut pairs = self.each().zip(others.clone());
        self.len() == others.len() && pairs.all(|(a, b)| a.eq(b))
    }
}

/// Builds an [`EndpointList`].
#[derive(Debug, Default)]
pub(super) struct Builder(String);

impl Builder {
    /// Adds an endpoint with these addresses.
    pub(super) fn push(&mut self, addresses: &[String]) {
        for (at, address) in addresses.iter().enumerate() {
            if at > 0 {
                self.0.push(NEXT);
            }
            self.0.push_str(address);
        }
        self.0.push(END);
    }

    /// Returns the list without spare capacity.
    pub(super) fn finish(self) -> EndpointList {
        EndpointList(self.0.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn endpoints() -> impl Strategy<Value = Vec<Vec<String>>> {
        let addresses = proptest::collection::vec("[0-9a-f.:]{1,8}", 0..3);
        proptest::collection::vec(addresses, 0..5)
    }

    fn list(endpoints: &[Vec<String>]) -> EndpointList {
        let mut list = Builder::default();
        for addresses in endpoints {
            list.push(addresses);
        }
        list.finish()
    }

    fn carried(endpoints: &[Vec<String>]) -> Vec<Endpoint> {
        endpoints.iter().cloned().map(Endpoint::new).collect()
    }

    proptest! {
        #[test]
        fn a_list_holds_what_was_pushed(a in endpoints(), b in endpoints()) {
            let (list, other) = (list(&a), list(&b));
            prop_assert_eq!(list.to_vec(), carried(&a));
            prop_assert_eq!(list.len(), a.len());
            prop_assert_eq!(list.is_empty(), a.is_empty());
            prop_assert!(list.addresses().eq(a.iter().flatten()));
            prop_assert_eq!(list == *carried(&b), a == b);
            prop_assert_eq!(list == other, a == b);
            prop_assert_eq!(list.is_within(&carried(&b)), a.iter().all(|one| b.contains(one)));
            prop_assert!(list.is_within(&carried(&[a, b].concat())));
        }
    }
}
