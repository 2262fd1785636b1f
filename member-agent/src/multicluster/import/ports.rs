//! Names of ports where a Kubernetes Service needs one.

use std::collections::BTreeSet;

use fleet_api::multicluster::standard::ServiceImportPort;

/// Protocol of a port that names none.
pub(super) const TCP: &str = "TCP";

/// The protocol of a port.
pub(super) fn protocol(port: &ServiceImportPort) -> &str {
    port.protocol.as_deref().unwrap_or(TCP)
}

/// The name of each port on the derived Service and in its slices: its own, but for an unnamed one. Among several a Service
/// cannot have that, and if it were named only then, each exporter that adds a port would interrupt its traffic. Clients of the
/// clusterset find it by its number alone, so it stays unnamed in the import.
pub(super) fn names(ports: &[ServiceImportPort]) -> Vec<String> {
    let taken: BTreeSet<&str> = ports.iter().map(|port| port.name.as_str()).collect();
    let name = |port: &ServiceImportPort| match port.name.as_str() {
        "" => free(&taken, protocol(port), port.port),
        name => name.to_owned(),
    };
    ports.iter().map(name).collect()
}

fn free(taken: &BTreeSet<&str>, protocol: &str, number: i32) -> String {
    let plain = format!("{}-{number}", protocol.to_lowercase());
    let next = (2..).map(|count: u32| format!("{plain}-{count}"));
    let mut names = std::iter::once(plain.clone()).chain(next);
    names.find(|name| !taken.contains(name.as_str())).unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, protocol: &str, port: i32) -> ServiceImportPort {
        let (name, protocol) = (name.to_owned(), Some(protocol.to_owned()));
        ServiceImportPort { name, protocol, port, app_protocol: None }
    }

    #[test]
    fn an_unnamed_port_is_called_by_protocol_and_number() {
        assert_eq!(names(&[port("", "TCP", 80)]), ["tcp-80"]);
        assert_eq!(names(&[port("http", "TCP", 80)]), ["http"]);
        assert_eq!(names(&[port("http", "TCP", 80), port("", "UDP", 53)]), ["http", "udp-53"]);
    }

    #[test]
    fn a_name_that_another_port_has_is_not_given_twice() {
        let ports = [port("udp-53", "TCP", 80), port("", "UDP", 53), port("udp-53-2", "TCP", 81)];
        assert_eq!(names(&ports), ["udp-53", "udp-53-3", "udp-53-2"]);
    }
}
