//! When two lists of Service ports mean the same.

use fleet_api::ServicePort;

/// Whether two lists hold the same ports in any order.
///
/// Protocol and number identify a port (Service API); the order of the list says nothing.
pub fn same(a: &[ServicePort], b: &[ServicePort]) -> bool {
    a.len() == b.len() && a.iter().all(|port| b.iter().any(|other| same_port(port, other)))
}

fn same_port(a: &ServicePort, b: &ServicePort) -> bool {
    let name = |port: &ServicePort| port.name.clone().unwrap_or_default();
    (&a.protocol, a.port) == (&b.protocol, b.port)
        && name(a) == name(b)
        && a.app_protocol == b.app_protocol
        && a.target_port == b.target_port
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

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
    fn an_empty_name_is_no_name() {
        let unnamed = ServicePort { name: Some(String::new()), ..port(80) };
        assert!(same(&[port(80)], &[unnamed]));
    }
}
