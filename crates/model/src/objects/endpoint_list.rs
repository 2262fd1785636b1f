//! Endpoints of which only the addresses matter, in one piece.

use fleet_api::Endpoint;

/// After each address of an endpoint but the last.
const NEXT: char = ' ';
/// After each endpoint.
const END: char = '\n';

/// Endpoints in their order, in one allocation: a cluster may have many thousands of which nothing is exported. API
/// servers take no address that holds a blank or the end of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointList(Box<str>);

impl EndpointList {
    /// How many.
    pub fn len(&self) -> usize {
        self.each().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The addresses of all of them.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.each().flatten()
    }

    /// As objects of the fleet carry them.
    pub fn to_vec(&self) -> Vec<Endpoint> {
        let endpoint = |addresses: Addresses<'_>| Endpoint {
            addresses: addresses.map(str::to_owned).collect(),
        };
        self.each().map(endpoint).collect()
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

/// A list being made.
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
        endpoints.iter().map(|addresses| Endpoint { addresses: addresses.clone() }).collect()
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(a in endpoints(), b in endpoints()) {
            let (list, other) = (list(&a), list(&b));
            prop_assert_eq!(list.to_vec(), carried(&a));
            prop_assert_eq!(list.len(), a.len());
            prop_assert_eq!(list.is_empty(), a.is_empty());
            prop_assert!(list.addresses().eq(a.iter().flatten()));
            prop_assert_eq!(list == *carried(&b), a == b);
            prop_assert_eq!(list == other, a == b);
        }
    }
}
