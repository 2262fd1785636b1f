//! Sets of endpoint ports.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointPort;

use crate::Config;

mod hash;

/// A comparable set of ports. Lists with the same ports in any order have equal keys, and an absent list equals an empty
/// one; within a port, an absent field differs from an empty one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortKey<'a>(Vec<Port<'a>>);

type Port<'a> = (Option<&'a str>, Option<&'a str>, Option<i32>, Option<&'a str>);

impl<'a> PortKey<'a> {
    /// The key of a list of ports.
    pub fn of(ports: Option<&'a [EndpointPort]>) -> Self {
        let mut key: Vec<Port<'a>> = ports
            .unwrap_or_default()
            .iter()
            .map(|port| {
                let [name, protocol, app] =
                    [&port.name, &port.protocol, &port.app_protocol].map(Option::as_deref);
                (name, protocol, port.port, app)
            })
            .collect();
        key.sort_unstable();
        Self(key)
    }

    /// Sorts ports into the order in which slices list them.
    pub fn order(mut ports: Vec<EndpointPort>) -> Vec<EndpointPort> {
        hash::sort(&mut ports);
        ports
    }

    /// The hash by which Kubernetes' controller identifies the set.
    pub fn hash(ports: &[EndpointPort]) -> String {
        hash::list(ports)
    }
}

/// The endpoint ports for a Service whose ports resolve to `numbers`, without unresolved ones. They are in the order of
/// Kubernetes' controller, so that taking over from it changes nothing.
pub(crate) fn resolved(
    service: &Service,
    numbers: &[Option<i32>],
    config: &Config,
) -> Vec<EndpointPort> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let mut resolved: Vec<EndpointPort> = ports
        .iter()
        .zip(numbers)
        .filter_map(|(port, number)| {
            Some(EndpointPort {
                name: Some(port.name.clone().unwrap_or_default()),
                protocol: Some(port.protocol.clone().unwrap_or_else(|| "TCP".to_owned())),
                port: Some((*number)?),
                app_protocol: port.app_protocol.clone().filter(|_| config.app_protocol),
            })
        })
        .collect();
    hash::sort(&mut resolved);
    resolved
}

#[cfg(test)]
mod tests;
