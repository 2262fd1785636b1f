//! The time of the change that causes a write: consumers measure from it how long the change took to take effect.
//!
//! The original remembers the last state of each Service. Here the slices are enough: a pod that they lack, or have in
//! another state, has changed since they were written, even if another process wrote them.

use std::collections::HashMap;

use fleet_accumulator::Object;
use fleet_endpointslice::{Outcome, PodView, trigger_time_annotation};
use fleet_model::objects::Service;
use jiff::Timestamp;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::slicing::SelectedPod;

const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// Annotates every slice that is written with the time.
pub(super) fn date(
    outcome: &mut Outcome<'_>,
    service: &Object<Service>,
    pods: &[SelectedPod<'_>],
    slices: &[&EndpointSlice],
) {
    if outcome.is_settled() {
        return;
    }
    let Some(time) = trigger_time(service, pods, slices) else { return };
    let text = trigger_time_annotation(time);
    for changes in &mut outcome.changes {
        let updated = changes.updates.iter_mut().map(|update| &mut update.slice);
        for slice in changes.creates.iter_mut().chain(updated) {
            let annotations = slice.metadata.annotations.get_or_insert_default();
            annotations.insert(TRIGGER_TIME.to_owned(), text.clone());
        }
    }
}

/// The creation of the Service, or the earliest change of a pod that no slice has yet.
fn trigger_time(
    service: &Object<Service>,
    pods: &[SelectedPod<'_>],
    slices: &[&EndpointSlice],
) -> Option<Timestamp> {
    if slices.is_empty() {
        return service.meta.created;
    }
    let mut shown = HashMap::new();
    for endpoint in slices.iter().flat_map(|slice| &slice.endpoints) {
        let uid = endpoint.target_ref.as_ref().and_then(|target| target.uid.as_deref());
        let serving = endpoint.conditions.as_ref().and_then(|conditions| conditions.serving);
        shown.extend(uid.map(|uid| (uid, serving)));
    }
    let news = pods.iter().filter(|pod| shown.get(pod.uid()) != Some(&Some(pod.is_ready())));
    news.filter_map(|pod| pod.pod.ready_since).min()
}
