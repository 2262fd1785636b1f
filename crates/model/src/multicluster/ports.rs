//! The union of the ports of all exporters.
//!
//! The result has to be what a Service can have: no two ports of one name, an empty name included, and no two of one protocol
//! and number.

use std::collections::{HashMap, HashSet};

use fleet_api::Protocol;
use fleet_api::limits::exported;
use fleet_api::multicluster::ServicePort;
use fleet_api::names::{is_dns1123_label, is_qualified_name};

/// What is unique beside the name.
type Number<'a> = (&'a Protocol, i32);

/// The ports in force, so far as exports were added, the most important one first.
#[derive(Clone, Debug, Default)]
pub struct PortUnion<'a> {
    ports: Vec<&'a ServicePort>,
    names: HashMap<&'a str, Number<'a>>,
    numbers: HashSet<Number<'a>>,
}

impl<'a> PortUnion<'a> {
    /// Adds the ports of an export that are free. Returns how many there were before, for [`undo`](Self::undo).
    pub fn add(&mut self, ports: impl IntoIterator<Item = &'a ServicePort>) -> usize {
        let before = self.ports.len();
        for port in ports {
            if self.ports.len() < exported::PORTS.accepted && self.is_free(port) {
                self.names.insert(&port.name, number(port));
                self.numbers.insert(number(port));
                self.ports.push(port);
            }
        }
        before
    }

    /// Takes back what was added to so many.
    pub fn undo(&mut self, before: usize) {
        for port in self.ports.drain(before..) {
            self.names.remove(port.name.as_str());
            self.numbers.remove(&number(port));
        }
    }

    /// Names of the ports of an export that are not in force as that export has them. Its endpoints get no traffic there.
    pub fn withheld(&self, ports: &[ServicePort]) -> Vec<String> {
        let lacking = ports.iter().filter(|port| {
            self.names.get(port.name.as_str()).is_none_or(|taken| *taken != number(port))
        });
        lacking.map(|port| port.name.clone()).collect()
    }

    /// The ports in force.
    pub fn into_ports(self) -> Vec<ServicePort> {
        self.ports.into_iter().cloned().collect()
    }

    fn is_free(&self, port: &ServicePort) -> bool {
        !self.names.contains_key(port.name.as_str()) && !self.numbers.contains(&number(port))
    }
}

/// Whether a Service can have the port. Importers could make no Service with another one, for whomever it is.
pub fn is_valid(port: &ServicePort) -> bool {
    let ServicePort { name, protocol, port, app_protocol } = port;
    (name.is_empty() || is_dns1123_label(name))
        && !matches!(protocol, Protocol::Other(_))
        && (1..=65_535).contains(port)
        && app_protocol.as_deref().is_none_or(is_qualified_name)
}

/// Whether no two ports have the same name, or the same protocol and number.
pub fn are_unique(ports: &[ServicePort]) -> bool {
    let mut union = PortUnion::default();
    union.add(ports);
    union.ports.len() == ports.len().min(exported::PORTS.accepted)
}

/// Ports in an order in which equal sets are equal lists.
pub fn sorted(ports: &[ServicePort]) -> Vec<&ServicePort> {
    let mut ports: Vec<_> = ports.iter().collect();
    ports.sort();
    ports
}

fn number(port: &ServicePort) -> Number<'_> {
    (&port.protocol, port.port)
}
