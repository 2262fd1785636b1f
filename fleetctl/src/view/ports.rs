//! The ports that a Service has in the whole fleet.

use fleet_api::ObjectName;
use fleet_api::multicluster::ServiceType;

use crate::left_out::in_force;
use crate::picture::Picture;

/// How a Service is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ports {
    /// As `80/TCP http`.
    pub(super) ports: Vec<String>,
    /// Whether it has no address of its own.
    pub(super) is_headless: bool,
}

/// What is in force, by networking.fleet.azure.com where it is exported by that.
pub(super) fn ports(picture: &Picture, service: &ObjectName) -> Ports {
    if let Some(import) = picture.hub.service_imports.get(service)
        && !import.status.ports.is_empty()
    {
        let one = |port: &fleet_api::ServicePort| {
            text(port.port, port.protocol.as_str(), port.name.as_deref().unwrap_or_default())
        };
        let ports = import.status.ports.iter().map(one).collect();
        return Ports { ports, is_headless: false };
    }
    let Some(resolved) = in_force(picture, service) else { return Ports::default() };
    let ports = resolved.properties.ports.iter();
    Ports {
        ports: ports.map(|port| text(port.port, port.protocol.as_str(), &port.name)).collect(),
        is_headless: resolved.properties.type_ == ServiceType::Headless,
    }
}

fn text(port: i32, protocol: &str, name: &str) -> String {
    let space = if name.is_empty() { "" } else { " " };
    format!("{port}/{protocol}{space}{name}")
}
