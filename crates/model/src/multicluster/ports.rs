//! The union of the ports of all exporters.
//!
//! The result has to be what a Service can have: no two ports of one name, an empty name included, and no two of one protocol
//! and number.

use fleet_api::limits::exported;
use fleet_api::multicluster::ServicePort;

/// The ports in force, so far as exports were added, the most important one first.
#[derive(Clone, Debug, Default)]
pub struct PortUnion {
    ports: Vec<ServicePort>,
}

impl PortUnion {
    /// Adds the ports of an export that are free.
    pub fn add(&mut self, ports: &[ServicePort]) {
        for port in ports {
            if self.ports.len() < exported::PORTS.accepted && self.is_free(port) {
                self.ports.push(port.clone());
            }
        }
    }

    /// Names of the ports of an export that are not in force as that export has them. Its endpoints get no traffic there.
    pub fn withheld(&self, ports: &[ServicePort]) -> Vec<String> {
        let lacking =
            ports.iter().filter(|port| !self.ports.iter().any(|other| is_same(other, port)));
        lacking.map(|port| port.name.clone()).collect()
    }

    /// The ports in force.
    pub fn into_ports(self) -> Vec<ServicePort> {
        self.ports
    }

    fn is_free(&self, port: &ServicePort) -> bool {
        !self.ports.iter().any(|other| other.name == port.name || is_same_number(other, port))
    }
}

/// Whether no two ports have the same name, or the same protocol and number.
pub fn are_unique(ports: &[ServicePort]) -> bool {
    let mut union = PortUnion::default();
    union.add(ports);
    union.ports.len() == ports.len().min(exported::PORTS.accepted)
}

/// Whether two lists have the same ports, in whatever order.
pub fn are_same(one: &[ServicePort], other: &[ServicePort]) -> bool {
    let sorted = |ports: &[ServicePort]| {
        let mut ports = ports.to_vec();
        ports.sort();
        ports
    };
    sorted(one) == sorted(other)
}

fn is_same(one: &ServicePort, other: &ServicePort) -> bool {
    one.name == other.name && is_same_number(one, other)
}

fn is_same_number(one: &ServicePort, other: &ServicePort) -> bool {
    (&one.protocol, one.port) == (&other.protocol, other.port)
}
