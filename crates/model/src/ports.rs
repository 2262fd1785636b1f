//! When two lists of ports mean the same.
//!
//! API servers fill in what a writer leaves out. A comparison that took "left out" and "filled in"
//! for different would write for ever.

use fleet_api::{EndpointPort, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Whether two lists of Service ports hold the same ports in any order.
///
/// Protocol and number identify a port (Service API); the order of the list says nothing.
pub fn same(a: &[ServicePort], b: &[ServicePort]) -> bool {
    a.len() == b.len() && a.iter().all(|port| b.iter().any(|other| same_port(port, other)))
}

fn same_port(a: &ServicePort, b: &ServicePort) -> bool {
    let target =
        |port: &ServicePort| port.target_port.clone().unwrap_or(IntOrString::Int(port.port));
    (&a.protocol, a.port) == (&b.protocol, b.port)
        && text(a.name.as_ref()) == text(b.name.as_ref())
        && a.app_protocol == b.app_protocol
        && target(a) == target(b)
}

/// Whether two lists of EndpointSlice ports are the same. Their order is that of the slice.
pub fn same_in_slices(a: &[EndpointPort], b: &[EndpointPort]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_in_slice(a, b))
}

fn same_in_slice(a: &EndpointPort, b: &EndpointPort) -> bool {
    let protocol = |port: &EndpointPort| port.protocol.clone().unwrap_or_else(|| "TCP".to_owned());
    a.port == b.port
        && text(a.name.as_ref()) == text(b.name.as_ref())
        && protocol(a) == protocol(b)
        && a.app_protocol == b.app_protocol
}

fn text(text: Option<&String>) -> &str {
    text.map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(port: i32) -> ServicePort {
        ServicePort { port, ..ServicePort::default() }
    }

    #[test]
    fn order_says_nothing() {
        assert!(same(&[port(80), port(443)], &[port(443), port(80)]));
    }

    #[test]
    fn every_part_of_a_port_counts() {
        let other = [
            ServicePort { name: Some("web".to_owned()), ..port(80) },
            ServicePort { protocol: "UDP".into(), ..port(80) },
            ServicePort { app_protocol: Some("h2c".to_owned()), ..port(80) },
            ServicePort { target_port: Some(IntOrString::Int(8080)), ..port(80) },
            port(81),
        ];
        for other in other {
            assert!(!same(&[port(80)], std::slice::from_ref(&other)), "{other:?}");
        }
        assert!(!same(&[port(80)], &[port(80), port(443)]));
    }

    #[test]
    fn what_a_server_fills_in_makes_no_difference() {
        let target_port = Some(IntOrString::Int(80));
        let filled = ServicePort { name: Some(String::new()), target_port, ..port(80) };
        assert!(same(&[port(80)], &[filled]));

        let bare = EndpointPort { port: Some(80), ..EndpointPort::default() };
        let (name, protocol) = (Some(String::new()), Some("TCP".to_owned()));
        let filled = EndpointPort { name, protocol, ..bare.clone() };
        assert!(same_in_slices(std::slice::from_ref(&bare), &[filled]));
        let other = EndpointPort { protocol: Some("UDP".to_owned()), ..bare.clone() };
        assert!(!same_in_slices(&[bare], &[other]));
    }
}
