//! On which number a pod serves a port of a Service.

use k8s_openapi::api::core::v1::ServicePort;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::PodView;

/// The number itself, or that of the pod's port of this name and the Service port's protocol.
pub fn find_port(pod: &impl PodView, port: &ServicePort) -> Option<i32> {
    match port.target_port.as_ref() {
        Some(IntOrString::Int(number)) => Some(*number),
        Some(IntOrString::String(name)) => {
            pod.named_port(name, port.protocol.as_deref().unwrap_or("TCP"))
        }
        None => Some(port.port),
    }
}
