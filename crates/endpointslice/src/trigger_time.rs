//! Trigger times: when the change happened that led to a write. Programming latency is measured from them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::names::TRIGGER_TIME;

/// The times of each Service at its last successful reconcile.
#[derive(Clone, Debug, Default)]
pub struct TriggerTimes {
    services: BTreeMap<(String, String), Seen>,
}

/// The times of a Service at one reconcile, to be stored if it succeeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    service: Option<Timestamp>,
    pods: BTreeMap<String, Timestamp>,
}

impl TriggerTimes {
    /// Returns the time of the earliest change since the last successful reconcile, and the current times. Only
    /// [`Self::remember`] stores these, so that a retry after a failed write finds the same time.
    pub fn look<'a>(
        &self,
        service: &Service,
        pods: impl IntoIterator<Item = &'a Pod>,
    ) -> (Option<Timestamp>, Seen) {
        let created = service.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let pods = pods
            .into_iter()
            .filter_map(|pod| Some((pod.metadata.name.clone()?, ready_since(pod)?)));
        let now = Seen { service: created, pods: pods.collect() };
        let trigger =
            self.services.get(&key(service)).map_or(created, |seen| now.earliest_since(seen));
        (trigger, now)
    }

    /// Stores the times of a successful reconcile.
    pub fn remember(&mut self, service: &Service, seen: Seen) {
        self.services.insert(key(service), seen);
    }

    /// Removes a Service.
    pub fn delete_service(&mut self, namespace: &str, name: &str) {
        self.services.remove(&(namespace.to_owned(), name.to_owned()));
    }
}

impl Seen {
    fn earliest_since(&self, before: &Self) -> Option<Timestamp> {
        let pods = self.pods.iter().filter(|(name, time)| before.pods.get(*name) < Some(time));
        let service = self.service.filter(|_| self.service > before.service);
        pods.map(|(_, time)| *time).chain(service).min()
    }
}

/// The value of the annotation.
pub fn annotation(time: Timestamp) -> String {
    time.to_string()
}

/// Sets or clears the annotation of a slice about to be written.
pub(crate) fn annotate(slice: &mut EndpointSlice, time: Option<Timestamp>) {
    let annotations = slice.metadata.annotations.get_or_insert_default();
    match time {
        Some(time) => annotations.insert(TRIGGER_TIME.to_owned(), annotation(time)),
        None => annotations.remove(TRIGGER_TIME),
    };
    if annotations.is_empty() {
        slice.metadata.annotations = None;
    }
}

/// All other annotations.
pub(crate) fn others(slice: &EndpointSlice) -> impl Iterator<Item = (&String, &String)> {
    slice.metadata.annotations.iter().flatten().filter(|(key, _)| *key != TRIGGER_TIME)
}

fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready")?;
    ready.last_transition_time.as_ref().map(|time| time.0)
}

fn key(service: &Service) -> (String, String) {
    let meta = &service.metadata;
    (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
}

#[cfg(test)]
mod tests;
