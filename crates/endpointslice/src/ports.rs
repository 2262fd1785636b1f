//! Sets of endpoint ports.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::EndpointPort;

use crate::Config;

mod hash;

/// Of a port that names none.
const PROTOCOL: &str = "TCP";

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
    let mut resolved: Vec<EndpointPort> = of_service(service)
        .iter()
        .zip(numbers)
        .filter_map(|(port, number)| {
            let number = (*number)?;
            let [name, protocol, app_protocol] =
                unnumbered(port, config).map(|text| text.map(str::to_owned));
            Some(EndpointPort { name, protocol, port: Some(number), app_protocol })
        })
        .collect();
    hash::sort(&mut resolved);
    resolved
}

/// What [`resolved`] makes of numbers, as something to look up: the ports that are resolved, each by the first port of the Service that
/// differs from it in nothing but the number.
pub(crate) type Resolved = Vec<(usize, i32)>;

/// Which ports of a Service differ in nothing but the number: either of two may be unresolved, and the endpoint ports are the same.
#[derive(Debug)]
pub(crate) struct Alike(Vec<usize>);

impl Alike {
    pub(crate) fn of(service: &Service, config: &Config) -> Self {
        let mut firsts = BTreeMap::new();
        let numbered = of_service(service).iter().enumerate();
        Self(
            numbered
                .map(|(at, port)| *firsts.entry(unnumbered(port, config)).or_insert(at))
                .collect(),
        )
    }

    /// The key of these numbers.
    pub(crate) fn resolved(&self, numbers: &[Option<i32>]) -> Resolved {
        let numbered = self.0.iter().zip(numbers);
        let mut key: Resolved =
            numbered.filter_map(|(first, number)| Some((*first, (*number)?))).collect();
        key.sort_unstable();
        key
    }
}

fn of_service(service: &Service) -> &[ServicePort] {
    service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default()
}

/// Name, protocol and application protocol of an endpoint port: all but its number.
fn unnumbered<'a>(port: &'a ServicePort, config: &Config) -> [Option<&'a str>; 3] {
    let name = port.name.as_deref().unwrap_or_default();
    let protocol = port.protocol.as_deref().unwrap_or(PROTOCOL);
    [Some(name), Some(protocol), port.app_protocol.as_deref().filter(|_| config.app_protocol)]
}

#[cfg(test)]
mod tests;
