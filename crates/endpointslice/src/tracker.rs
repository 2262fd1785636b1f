//! Expectations: results of writes that the watch has not delivered yet.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::names::SERVICE_NAME;

/// The last known state of each slice that was written.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    services: BTreeMap<Key, BTreeMap<String, State>>,
}

/// Namespace and name.
type Key = (String, String);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Generation(i64),
    Deleted,
}

/// Kind of a deletion that the watch delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Made by this controller, or of a slice that it never wrote.
    Expected,
    /// Made by another client, of a slice that should exist.
    Unexpected,
}

impl Tracker {
    /// Stores the response to a create or update.
    pub fn update(&mut self, slice: &EndpointSlice) {
        self.set(slice, State::Generation(generation(slice)));
    }

    /// Stores that a delete succeeded.
    pub fn expect_deletion(&mut self, slice: &EndpointSlice) {
        self.set(slice, State::Deleted);
    }

    /// Whether anything is known of the slice.
    pub fn has(&self, slice: &EndpointSlice) -> bool {
        self.state(slice).is_some()
    }

    /// Whether a watch event of the slice is newer than the stored response.
    pub fn should_sync(&self, slice: &EndpointSlice) -> bool {
        match self.state(slice) {
            Some(State::Generation(known)) => generation(slice) > known,
            Some(State::Deleted) | None => true,
        }
    }

    /// Whether `slices` are older than the responses to the writes of the Service. They must be all slices of the Service
    /// that are not being deleted.
    pub fn is_stale(&self, service: &Service, slices: &[&EndpointSlice]) -> bool {
        let meta = &service.metadata;
        let key =
            (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default());
        let Some(known) = self.services.get(&key) else { return false };
        let old = slices.iter().any(|slice| match known.get(uid(slice)) {
            Some(State::Deleted) => true,
            Some(State::Generation(known)) => *known > generation(slice),
            None => false,
        });
        let missing = |wanted: &String| !slices.iter().any(|slice| uid(slice) == wanted);
        old || known.iter().any(|(uid, state)| *state != State::Deleted && missing(uid))
    }

    /// Removes a slice whose deletion the watch delivered.
    pub fn handle_deletion(&mut self, slice: &EndpointSlice) -> Deletion {
        let known = self.services.get_mut(&key_of(slice));
        match known.and_then(|known| known.remove(uid(slice))) {
            Some(State::Generation(_)) => Deletion::Unexpected,
            Some(State::Deleted) | None => Deletion::Expected,
        }
    }

    /// Removes a Service.
    pub fn delete_service(&mut self, namespace: &str, name: &str) {
        self.services.remove(&(namespace.to_owned(), name.to_owned()));
    }

    /// Number of slices of a Service that are known to exist, and of those that are expected to disappear.
    pub fn count(&self, namespace: &str, name: &str) -> (usize, usize) {
        let known = self.services.get(&(namespace.to_owned(), name.to_owned()));
        let states = || known.into_iter().flat_map(BTreeMap::values);
        let deleted = states().filter(|state| **state == State::Deleted).count();
        (states().count() - deleted, deleted)
    }

    fn set(&mut self, slice: &EndpointSlice, state: State) {
        self.services.entry(key_of(slice)).or_default().insert(uid(slice).to_owned(), state);
    }

    fn state(&self, slice: &EndpointSlice) -> Option<State> {
        self.services.get(&key_of(slice))?.get(uid(slice)).copied()
    }
}

fn key_of(slice: &EndpointSlice) -> Key {
    let service = slice.metadata.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME));
    (slice.metadata.namespace.clone().unwrap_or_default(), service.cloned().unwrap_or_default())
}

fn uid(slice: &EndpointSlice) -> &str {
    slice.metadata.uid.as_deref().unwrap_or_default()
}

fn generation(slice: &EndpointSlice) -> i64 {
    slice.metadata.generation.unwrap_or_default()
}

#[cfg(test)]
mod tests;
