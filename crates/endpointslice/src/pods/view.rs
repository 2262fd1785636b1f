//! The properties of pods and nodes that endpoints depend on.

use k8s_openapi::api::core::v1::{Container, Node, Pod};

use crate::names::ZONE;

/// The properties of a pod that its endpoint depends on. A caller that watches many pods can keep these instead of whole
/// Pods.
pub trait PodView {
    /// Its namespace.
    fn namespace(&self) -> &str;
    /// Its name.
    fn name(&self) -> &str;
    /// Its uid.
    fn uid(&self) -> &str;
    /// Whether it is being deleted.
    fn is_terminating(&self) -> bool;
    /// Whether it has succeeded or failed.
    fn is_finished(&self) -> bool;
    /// Whether its condition `Ready` is true.
    fn is_ready(&self) -> bool;
    /// Whether `podIP` or `podIPs` is set.
    fn has_address(&self) -> bool;
    /// Its addresses on the cluster network, verbatim.
    fn addresses(&self) -> impl Iterator<Item = &str>;
    /// Node that it is bound to.
    fn node_name(&self) -> Option<&str>;
    /// Its host name and subdomain.
    fn host(&self) -> (Option<&str>, Option<&str>);
    /// The number of its port with this name and protocol: of the first regular container that has one, else of the first
    /// sidecar.
    fn named_port(&self, name: &str, protocol: &str) -> Option<i32>;
}

impl PodView for Pod {
    fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    fn is_finished(&self) -> bool {
        let phase = self.status.as_ref().and_then(|status| status.phase.as_deref());
        matches!(phase, Some("Failed" | "Succeeded"))
    }

    fn is_ready(&self) -> bool {
        let conditions = self.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions
            .filter(|condition| condition.type_ == "Ready")
            .any(|condition| condition.status == "True")
    }

    fn has_address(&self) -> bool {
        self.status.as_ref().is_some_and(|status| {
            status.pod_ip.as_deref().is_some_and(|ip| !ip.is_empty())
                || status.pod_ips.as_ref().is_some_and(|ips| !ips.is_empty())
        })
    }

    fn addresses(&self) -> impl Iterator<Item = &str> {
        let ips = self.status.iter().flat_map(|status| status.pod_ips.iter().flatten());
        ips.map(|ip| ip.ip.as_str())
    }

    fn node_name(&self) -> Option<&str> {
        self.spec.as_ref()?.node_name.as_deref()
    }

    fn host(&self) -> (Option<&str>, Option<&str>) {
        let spec = self.spec.as_ref();
        let hostname = spec.and_then(|spec| spec.hostname.as_deref());
        (hostname, spec.and_then(|spec| spec.subdomain.as_deref()))
    }

    fn named_port(&self, name: &str, protocol: &str) -> Option<i32> {
        let mut ports = named_ports(self);
        ports.find(|port| (port.0, port.1) == (name, protocol)).map(|port| port.2)
    }
}

/// All named ports with protocol and number, in lookup order: regular containers first, then sidecars.
pub fn named_ports(pod: &Pod) -> impl Iterator<Item = (&str, &str, i32)> {
    let spec = pod.spec.as_ref();
    let sidecars = spec.into_iter().flat_map(|spec| spec.init_containers.iter().flatten());
    let sidecars = sidecars.filter(|container| is_sidecar(container));
    let containers = spec.into_iter().flat_map(|spec| &spec.containers).chain(sidecars);
    containers.flat_map(|container| container.ports.iter().flatten()).filter_map(|port| {
        let protocol = port.protocol.as_deref().unwrap_or("TCP");
        Some((port.name.as_deref()?, protocol, port.container_port))
    })
}

/// Whether an init container is a sidecar, which keeps running.
fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// The properties of a node that endpoints depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeView<'a> {
    /// Its zone.
    pub zone: Option<&'a str>,
}

impl<'a> NodeView<'a> {
    /// The view of a Node.
    pub fn of(node: &'a Node) -> Self {
        let zone = node.metadata.labels.as_ref().and_then(|labels| labels.get(ZONE));
        Self { zone: zone.map(String::as_str).filter(|zone| !zone.is_empty()) }
    }
}
