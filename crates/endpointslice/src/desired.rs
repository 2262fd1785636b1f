//! The desired endpoints of one port group that are not in a slice yet.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use k8s_openapi::api::discovery::v1::Endpoint;

use crate::Desired;
use crate::endpoint::{same_text, text};

/// A set of endpoints, by identity, in the order in which they came.
///
/// The map is keyed by the name of the target alone, which is nearly unique and cheap to look up; endpoints with equal
/// names are chained.
#[derive(Debug, Default)]
pub(crate) struct DesiredSet<'a> {
    entries: Vec<Entry<'a>>,
    first: HashMap<&'a str, usize, RandomState>,
    left: usize,
    /// All entries before this one are taken.
    begin: usize,
}

/// Position of an endpoint that was taken. The endpoint stays in the set, since moving it costs as much as comparing it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken(usize);

#[derive(Debug)]
struct Entry<'a> {
    endpoint: Desired<'a>,
    is_left: bool,
    next: Option<usize>,
}

impl<'a> DesiredSet<'a> {
    /// An empty set with capacity for `count` endpoints.
    pub(crate) fn with_capacity(count: usize) -> Self {
        let first = HashMap::with_capacity_and_hasher(count, RandomState::default());
        Self { entries: Vec::with_capacity(count), first, ..Self::default() }
    }

    /// Number of endpoints left.
    pub(crate) fn len(&self) -> usize {
        self.left
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Adds an endpoint, or replaces the one with the same identity. Must not be called after an endpoint was taken.
    pub(crate) fn insert(&mut self, endpoint: Desired<'a>) {
        let name = endpoint.target.name;
        let same = self.chain(name).find(|&at| identical(&self.entries[at].endpoint, &endpoint));
        if let Some(at) = same {
            self.entries[at].endpoint = endpoint;
            return;
        }
        let next = self.first.insert(name, self.entries.len());
        self.entries.push(Entry { endpoint, is_left: true, next });
        self.left += 1;
    }

    /// Takes the endpoint with the identity of `existing`.
    pub(crate) fn take(&mut self, existing: &Endpoint) -> Option<Taken> {
        let name = text(existing.target_ref.as_ref().and_then(|target| target.name.as_deref()));
        let at = self.chain(name).find(|&at| {
            let entry = &self.entries[at];
            entry.is_left && entry.endpoint.is(existing)
        })?;
        self.left -= 1;
        self.entries[at].is_left = false;
        Some(Taken(at))
    }

    /// An endpoint that was taken.
    pub(crate) fn get(&self, Taken(at): Taken) -> &Desired<'a> {
        &self.entries[at].endpoint
    }

    /// Takes the first endpoints that are left, at most `count`.
    pub(crate) fn take_first(&mut self, count: usize) -> impl Iterator<Item = &Desired<'a>> {
        let begin = self.begin;
        let mut taken = 0;
        while taken < count && self.begin < self.entries.len() {
            taken += usize::from(self.entries[self.begin].is_left);
            self.begin += 1;
        }
        self.left -= taken;
        let passed = self.entries[begin..self.begin].iter();
        passed.filter(|entry| entry.is_left).map(|entry| &entry.endpoint)
    }

    fn chain(&self, name: &str) -> impl Iterator<Item = usize> {
        std::iter::successors(self.first.get(name).copied(), |&at| self.entries[at].next)
    }
}

fn identical(a: &Desired<'_>, b: &Desired<'_>) -> bool {
    a.target.name == b.target.name
        && a.target.namespace == b.target.namespace
        && same_text(a.hostname, b.hostname)
        && a.addresses == b.addresses
}
