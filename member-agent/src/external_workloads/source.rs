//! ExternalWorkloads as endpoints.

use std::borrow::Cow;
use std::net::IpAddr;
use std::rc::Rc;

use fleet_accumulator::Object;
use fleet_api::names;
use fleet_api::workload::WorkloadPort;
use fleet_endpointslice::{AddressType, Candidate, Desired, Numbers, Source, Target};
use fleet_model::objects::ExternalWorkload;
use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

const TCP: &str = "TCP";

/// The machines that a Service selects and that have a usable address.
pub(super) struct Machines<'a>(Vec<Machine<'a>>);

struct Machine<'a> {
    uid: String,
    workload: &'a Object<ExternalWorkload>,
}

impl<'a> Machines<'a> {
    pub(super) fn of(workloads: &[&'a Object<ExternalWorkload>]) -> Self {
        let usable =
            workloads.iter().filter(|workload| workload.ips.iter().any(|ip| is_usable(ip)));
        Self(usable.map(|workload| Machine { uid: workload.uid.to_string(), workload }).collect())
    }
}

impl Source for Machines<'_> {
    /// The Service's IP families; both if it names none.
    fn address_types(&self, service: &Service) -> Vec<AddressType> {
        let types = AddressType::of_families(service);
        if types.is_empty() { AddressType::ALL.to_vec() } else { types }
    }

    fn candidates<'a>(
        &'a self,
        service: &'a Service,
        address_type: AddressType,
    ) -> impl Iterator<Item = Candidate<'a>> {
        self.0.iter().map(move |machine| Candidate {
            ports: numbers(service, &machine.workload.ports),
            endpoint: Ok(machine.endpoint(service, address_type)),
        })
    }
}

impl Machine<'_> {
    /// The endpoint of an address family. Addresses keep their text.
    fn endpoint(&self, service: &Service, address_type: AddressType) -> Option<Desired<'_>> {
        let ips = self.workload.ips.iter().map(String::as_str);
        let mut addresses: Vec<Cow<'_, str>> =
            ips.filter(|ip| family(ip) == Some(address_type)).map(Cow::Borrowed).collect();
        addresses.sort_unstable();
        let name = self.workload.name.name.as_ref();
        (!addresses.is_empty()).then(|| Desired {
            addresses,
            ready: self.workload.ready,
            serving: self.workload.ready,
            terminating: false,
            hostname: (is_headless(service) && names::is_dns1123_label(name)).then_some(name),
            node_name: None,
            zone: self.workload.zone(),
            target: Target {
                kind: "ExternalWorkload",
                namespace: &self.workload.name.namespace,
                name,
                uid: &self.uid,
            },
        })
    }
}

fn is_headless(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref()) == Some("None")
}

/// Addresses that are skipped: the API server would reject a whole slice because of one of them.
pub(super) fn unusable(workload: &ExternalWorkload) -> Vec<&str> {
    workload.ips.iter().map(String::as_str).filter(|ip| !is_usable(ip)).collect()
}

fn is_usable(text: &str) -> bool {
    family(text).is_some()
}

/// The type of an address that may be an endpoint.
fn family(text: &str) -> Option<AddressType> {
    match text.parse::<IpAddr>().ok()? {
        IpAddr::V4(ip) => {
            let special = ip.is_unspecified() || ip.is_loopback() || ip.is_link_local();
            (!special && !ip.is_multicast()).then_some(AddressType::IPv4)
        }
        IpAddr::V6(ip) => {
            let special = ip.is_unspecified() || ip.is_loopback() || ip.is_unicast_link_local();
            let mapped = ip.to_ipv4_mapped().is_some();
            (!special && !mapped && !ip.is_multicast()).then_some(AddressType::IPv6)
        }
    }
}

/// The port numbers on which a machine serves the ports of the Service.
fn numbers(service: &Service, ports: &[WorkloadPort]) -> Numbers {
    let wanted = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    wanted.iter().map(|port| number(port, ports)).collect::<Rc<[_]>>()
}

/// A number counts only if the machine lists it, unlike with pods.
fn number(wanted: &ServicePort, ports: &[WorkloadPort]) -> Option<i32> {
    let protocol = wanted.protocol.as_deref().unwrap_or(TCP);
    let mut same = ports.iter().filter(|port| protocol_of(port) == protocol);
    let found = match wanted.target_port.as_ref() {
        Some(IntOrString::String(name)) => same.find(|port| port.name.as_ref() == Some(name)),
        Some(IntOrString::Int(number)) => same.find(|port| port.port == *number),
        None => same.find(|port| port.port == wanted.port),
    };
    found.map(|port| port.port)
}

fn protocol_of(port: &WorkloadPort) -> &str {
    if port.protocol.is_empty() { TCP } else { &port.protocol }
}
