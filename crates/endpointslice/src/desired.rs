//! The endpoints of one port group that still have to find their place.

use std::collections::HashMap;

use k8s_openapi::api::discovery::v1::Endpoint;

use crate::Desired;
use crate::endpoint::text;

/// A set of endpoints, by identity, in the order in which they came.
///
/// The map goes by the target's name alone, which is nearly an identity and cheap to look up; targets of one name are
/// chained.
#[derive(Debug, Default)]
pub(crate) struct DesiredSet<'a> {
    entries: Vec<Entry<'a>>,
    first: HashMap<&'a str, usize>,
    left: usize,
    /// No entry before this one is left.
    begin: usize,
}

#[derive(Debug)]
struct Entry<'a> {
    endpoint: Option<Desired<'a>>,
    next: Option<usize>,
}

impl<'a> DesiredSet<'a> {
    /// How many are left.
    pub(crate) fn len(&self) -> usize {
        self.left
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Adds an endpoint, in the place of one with the same identity if there is one.
    pub(crate) fn insert(&mut self, endpoint: Desired<'a>) {
        let name = endpoint.target.name;
        let same = self.chain(name).find(|&at| {
            self.entries[at].endpoint.as_ref().is_some_and(|known| identical(known, &endpoint))
        });
        if let Some(at) = same {
            self.entries[at].endpoint = Some(endpoint);
            return;
        }
        let next = self.first.insert(name, self.entries.len());
        self.entries.push(Entry { endpoint: Some(endpoint), next });
        self.left += 1;
    }

    /// Takes out the endpoint that `existing` is.
    pub(crate) fn take(&mut self, existing: &Endpoint) -> Option<Desired<'a>> {
        let name = text(existing.target_ref.as_ref().and_then(|target| target.name.as_deref()));
        let at = self.chain(name).find(|&at| {
            self.entries[at].endpoint.as_ref().is_some_and(|desired| desired.is(existing))
        })?;
        self.left -= 1;
        self.entries[at].endpoint.take()
    }

    /// Takes out the first ones, at most `count`.
    pub(crate) fn take_first(&mut self, count: usize) -> Vec<Desired<'a>> {
        let mut taken = Vec::with_capacity(count.min(self.left));
        while taken.len() < count && self.begin < self.entries.len() {
            taken.extend(self.entries[self.begin].endpoint.take());
            self.begin += 1;
        }
        self.left -= taken.len();
        taken
    }

    fn chain(&self, name: &str) -> impl Iterator<Item = usize> {
        std::iter::successors(self.first.get(name).copied(), |&at| self.entries[at].next)
    }
}

fn identical(a: &Desired<'_>, b: &Desired<'_>) -> bool {
    a.target.name == b.target.name
        && a.target.namespace == b.target.namespace
        && text(a.hostname) == text(b.hostname)
        && a.addresses == b.addresses
}
