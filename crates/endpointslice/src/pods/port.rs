//! On which number a pod serves a port of a Service.

use k8s_openapi::api::core::v1::{Container, Pod, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The number itself, or that of the port of this name and protocol: of the first regular container that has it, else
/// of the first sidecar.
pub fn find_port(pod: &Pod, port: &ServicePort) -> Option<i32> {
    match port.target_port.as_ref() {
        Some(IntOrString::Int(number)) => Some(*number),
        Some(IntOrString::String(name)) => named(pod, name, port.protocol.as_deref()),
        None => Some(port.port),
    }
}

fn named(pod: &Pod, name: &str, protocol: Option<&str>) -> Option<i32> {
    let spec = pod.spec.as_ref()?;
    let sidecars = spec.init_containers.iter().flatten().filter(|container| is_sidecar(container));
    let ports = spec
        .containers
        .iter()
        .chain(sidecars)
        .flat_map(|container| container.ports.iter().flatten());
    let protocol = protocol.unwrap_or("TCP");
    ports
        .filter(|port| port.name.as_deref() == Some(name))
        .find(|port| port.protocol.as_deref().unwrap_or("TCP") == protocol)
        .map(|port| port.container_port)
}

/// An init container that keeps running.
fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}
