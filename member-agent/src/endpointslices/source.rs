//! Pods as endpoints.

use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_endpointslice::{NodeView, PodView};
use fleet_model::objects::{Pod, Service};
use fleet_model::selection;

use crate::snapshot::MemberSnapshot;

/// A pod that a Service selects.
pub(super) struct Selected<'a> {
    uid: String,
    pub(super) record: &'a Object<Pod>,
}

impl PodView for Selected<'_> {
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
pub(super) fn pods<'a>(
    snapshot: &'a MemberSnapshot,
    service: &'a Object<Service>,
) -> Vec<Selected<'a>> {
    let namespace: &Arc<str> = &service.name.namespace;
    let records = selection::selected(&snapshot.pods, namespace, &service.selector);
    records.map(|record| Selected { uid: record.uid.to_string(), record }).collect()
}

/// What is to be known of a node.
pub(super) fn node<'a>(snapshot: &'a MemberSnapshot, name: &str) -> Option<NodeView<'a>> {
    let record = snapshot.nodes.get(&ObjectName::cluster(name))?;
    Some(NodeView { zone: record.object.zone.as_deref() })
}
