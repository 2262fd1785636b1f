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
    pub(crate) pod: &'a Object<Pod>,
}

impl PodView for SelectedPod<'_> {
    fn namespace(&self) -> &str {
        &self.pod.name.namespace
    }

    fn name(&self) -> &str {
        &self.pod.name.name
    }

    fn uid(&self) -> &str {
        &self.uid
    }

    fn is_terminating(&self) -> bool {
        self.pod.terminating
    }

    fn is_finished(&self) -> bool {
        !self.pod.usable
    }

    fn is_ready(&self) -> bool {
        self.pod.ready
    }

    fn has_address(&self) -> bool {
        self.pod.usable
    }

    fn addresses(&self) -> impl Iterator<Item = &str> {
        self.pod.addresses.iter().map(AsRef::as_ref)
    }

    fn node_name(&self) -> Option<&str> {
        self.pod.node.as_deref()
    }

    fn host(&self) -> (Option<&str>, Option<&str>) {
        (self.pod.hostname.as_deref(), self.pod.subdomain.as_deref())
    }

    fn named_port(&self, name: &str, protocol: &str) -> Option<i32> {
        let mut ports = self.pod.ports.iter();
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
    let pods = selection::selected(&snapshot.pods, namespace, &service.selector);
    pods.map(|pod| SelectedPod { uid: pod.uid.to_string(), pod }).collect()
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
