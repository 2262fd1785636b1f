//! Resolution of a Service port to a port number of a pod.

use k8s_openapi::api::core::v1::ServicePort;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::PodView;

/// The number on which a pod serves a port of a Service: the target port itself, or the number of the pod's port with
/// that name and the Service port's protocol.
pub fn find_port(pod: &impl PodView, port: &ServicePort) -> Option<i32> {
    match port.target_port.as_ref() {
        Some(IntOrString::Int(number)) => Some(*number),
        Some(IntOrString::String(name)) => {
            pod.named_port(name, port.protocol.as_deref().unwrap_or("TCP"))
        }
        None => Some(port.port),
    }
}
