//! The pods that a Service selects.

use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_endpointslice::PodView;
use fleet_model::objects::{Pod, Service};
use fleet_model::selection;

use crate::snapshot::MemberSnapshot;

/// A pod that a Service selects.
pub(crate) struct SelectedPod<'a> {
    uid: String,
    pub(crate) record: &'a Object<Pod>,
}

impl PodView for SelectedPod<'_> {
    fn namespace(&self) -> &str {
        &self.record.name.namespace
    }

    fn name(&self) -> &str {
        &self.record.name.name
    }

    fn uid(&self) -> &str {
        &self.uid
    }

    fn is_terminating(&self) -> bool {
        self.record.terminating
    }

    fn is_finished(&self) -> bool {
        !self.record.usable
    }

    fn is_ready(&self) -> bool {
        self.record.ready
    }

    fn has_address(&self) -> bool {
        self.record.usable
    }

    fn addresses(&self) -> impl Iterator<Item = &str> {
        self.record.addresses.iter().map(AsRef::as_ref)
    }

    fn node_name(&self) -> Option<&str> {
        self.record.node.as_deref()
    }

    fn host(&self) -> (Option<&str>, Option<&str>) {
        (self.record.hostname.as_deref(), self.record.subdomain.as_deref())
    }

    fn named_port(&self, name: &str, protocol: &str) -> Option<i32> {
        let mut ports = self.record.ports.iter();
        let same = |port: &&_| named(port) == (name, protocol);
        ports.find(same).map(|port| port.number)
    }
}

fn named(port: &fleet_model::objects::NamedPort) -> (&str, &str) {
    (&port.name, &port.protocol)
}

/// The pods that a Service selects, ordered by name.
pub(crate) fn pods<'a>(
    snapshot: &'a MemberSnapshot,
    service: &'a Object<Service>,
) -> Vec<SelectedPod<'a>> {
    let namespace: &Arc<str> = &service.name.namespace;
    let records = selection::selected(&snapshot.pods, namespace, &service.selector);
    records.map(|record| SelectedPod { uid: record.uid.to_string(), record }).collect()
}

/// Calls `found` with every Service that selects a pod.
pub(crate) fn each_selecting(
    pod: &Object<Pod>,
    snapshot: &MemberSnapshot,
    found: &mut dyn FnMut(ObjectName),
) {
    let services = selection::services(&snapshot.services, &pod.name.namespace, &pod.labels);
    services.for_each(|service| found(service.name.clone()));
}
