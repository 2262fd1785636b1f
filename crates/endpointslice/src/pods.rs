//! Pods as endpoints.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use k8s_openapi::api::core::v1::{Pod, Service};

use crate::source::{Candidate, Numbers, Problem, Source};
use crate::{AddressType, Desired, Target};

mod events;
mod port;
mod view;

pub use events::{PodChange, affected_services, change_of};
pub use port::find_port;
pub use view::{NodeView, PodView, named_ports};

/// Returns the addresses of a pod on a network.
pub type Addresses<'a, P = Pod> = &'a dyn Fn(&'a P) -> Vec<&'a str>;

/// The pods that a Service selects, as a source of endpoints.
pub struct Pods<'a, P = Pod> {
    /// The pods.
    pub pods: &'a [&'a P],
    /// Finds a node by name.
    pub node: &'a dyn Fn(&str) -> Option<NodeView<'a>>,
    /// Returns their addresses on another network than the cluster's.
    pub addresses: Option<Addresses<'a, P>>,
}

impl<P: PodView> Source for Pods<'_, P> {
    fn candidates<'a>(
        &'a self,
        service: &'a Service,
        address_type: AddressType,
    ) -> impl Iterator<Item = Candidate<'a>> {
        let published = publishes_not_ready(service);
        let mut last: Option<Numbers> = None;
        self.pods.iter().copied().filter(|pod| is_candidate(*pod, true)).map(move |pod| {
            let ports = numbers(service, pod, last.take());
            last = Some(ports.clone());
            let endpoint = self.node_of(pod, published).map(|node| {
                let addresses = self.addresses(pod, address_type);
                (!addresses.is_empty()).then(|| desired(service, pod, node, addresses, published))
            });
            Candidate { ports, endpoint }
        })
    }
}

impl<'a, P: PodView> Pods<'a, P> {
    /// The pod's node. A pod whose node is unknown has no zone yet, so it is left out, unless the Service publishes pods
    /// that are not ready.
    fn node_of(&self, pod: &P, published: bool) -> Result<Option<NodeView<'a>>, Problem> {
        let name = pod.node_name().unwrap_or_default();
        match (self.node)(name).filter(|_| !name.is_empty()) {
            None if !published => {
                Err(Problem::MissingNode { pod: pod.name().to_owned(), node: name.to_owned() })
            }
            node => Ok(node),
        }
    }

    fn addresses(&self, pod: &'a P, address_type: AddressType) -> Vec<Cow<'a, str>> {
        let printed = |ip| canonical(ip, address_type);
        // A pod has one address per family, so a larger capacity would waste memory.
        let mut addresses = Vec::with_capacity(1);
        match self.addresses {
            None => addresses.extend(pod.addresses().filter_map(printed)),
            Some(of) => addresses.extend(of(pod).into_iter().filter_map(printed)),
        }
        addresses.sort_unstable();
        addresses
    }
}

/// Whether the pod can be an endpoint: it has an address and has neither succeeded nor failed.
pub fn is_candidate(pod: &impl PodView, with_terminating: bool) -> bool {
    !pod.is_finished() && pod.has_address() && (with_terminating || !pod.is_terminating())
}

/// The numbers of the Service's ports on this pod; returns `like` if it has the same numbers, which saves an allocation.
fn numbers(service: &Service, pod: &impl PodView, like: Option<Numbers>) -> Numbers {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let same = |like: &Numbers| {
        ports.iter().zip(like.iter()).all(|(port, number)| find_port(pod, port) == *number)
    };
    like.filter(same).unwrap_or_else(|| ports.iter().map(|port| find_port(pod, port)).collect())
}

fn desired<'a, P: PodView>(
    service: &Service,
    pod: &'a P,
    node: Option<NodeView<'a>>,
    addresses: Vec<Cow<'a, str>>,
    published: bool,
) -> Desired<'a> {
    let (serving, terminating) = (pod.is_ready(), pod.is_terminating());
    Desired {
        addresses,
        serving,
        terminating,
        ready: published || (serving && !terminating),
        hostname: hostname(service, pod),
        node_name: pod.node_name().filter(|name| !name.is_empty()),
        zone: node.and_then(|node| node.zone).filter(|zone| !zone.is_empty()),
        target: Target {
            kind: "Pod",
            namespace: pod.namespace(),
            name: pod.name(),
            uid: pod.uid(),
        },
    }
}

/// The DNS host name of this pod behind a headless Service.
pub fn hostname<'a>(service: &Service, pod: &'a impl PodView) -> Option<&'a str> {
    let (hostname, subdomain) = pod.host();
    let hostname = hostname.filter(|name| !name.is_empty())?;
    let named = subdomain == service.metadata.name.as_deref()
        && Some(pod.namespace()) == service.metadata.namespace.as_deref();
    named.then_some(hostname)
}

fn publishes_not_ready(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.publish_not_ready_addresses).unwrap_or(false)
}

/// The address in canonical form, if it is of the type. An invalid address is left out, because the API server would
/// reject the whole slice.
fn canonical(text: &str, address_type: AddressType) -> Option<Cow<'_, str>> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        let (found, printed) = match ip {
            IpAddr::V4(_) => (AddressType::IPv4, Cow::Borrowed(text)),
            IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
                Some(ip) => (AddressType::IPv4, Cow::Owned(ip.to_string())),
                None => (AddressType::IPv6, reprint(text, ip)),
            },
        };
        return (found == address_type).then_some(printed);
    }
    let ip = lenient(text).filter(|_| address_type == AddressType::IPv4)?;
    Some(Cow::Owned(ip.to_string()))
}

fn reprint(text: &str, ip: Ipv6Addr) -> Cow<'_, str> {
    let printed = ip.to_string();
    if printed == text { Cow::Borrowed(text) } else { Cow::Owned(printed) }
}

/// IPv4 with leading zeros, read as decimal.
fn lenient(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = text.split('.').collect();
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let numbers: Option<Vec<u8>> =
        parts.iter().map(|part| part.parse().ok().filter(|_| digits(part))).collect();
    <[u8; 4]>::try_from(numbers?).ok().map(Ipv4Addr::from)
}

#[cfg(test)]
mod tests;
