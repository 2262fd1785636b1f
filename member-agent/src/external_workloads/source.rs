//! ExternalWorkloads as endpoints.

use std::borrow::Cow;
use std::net::IpAddr;
use std::rc::Rc;

use fleet_accumulator::Object;
use fleet_api::names;
use fleet_api::workload::WorkloadPort;
use fleet_endpointslice::{AddressType, Candidate, Desired, Numbers, Source, Target};
use fleet_model::addresses::can_be_own_endpoint;
use fleet_model::cidr::Cidrs;
use fleet_model::objects::ExternalWorkload;
use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

const TCP: &str = "TCP";

/// The machines that a Service selects and that have a usable address.
pub(super) struct Machines<'a>(Vec<Machine<'a>>);

struct Machine<'a> {
    uid: String,
    workload: &'a Object<ExternalWorkload>,
    /// Its usable addresses.
    ips: Vec<(&'a str, AddressType)>,
}

impl<'a> Machines<'a> {
    pub(super) fn of(cidrs: &Cidrs, workloads: &[&'a Object<ExternalWorkload>]) -> Self {
        let machine = |workload: &&'a Object<ExternalWorkload>| {
            let usable = |ip: &'a String| Some((ip.as_str(), usable(cidrs, ip).ok()?));
            let ips: Vec<_> = workload.ips.iter().filter_map(usable).collect();
            (!ips.is_empty()).then(|| Machine { uid: workload.uid.to_string(), workload, ips })
        };
        Self(workloads.iter().filter_map(machine).collect())
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
        let ips = self.ips.iter().filter(|(_, family)| *family == address_type);
        let mut addresses: Vec<Cow<'_, str>> = ips.map(|(ip, _)| Cow::Borrowed(*ip)).collect();
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

/// Why an address of a machine is no endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// No endpoint can have it: the API server would reject a whole slice because of it.
    Invalid,
    /// It is in none of the ranges that the administrator names.
    Outside,
}

/// The type of an address that may be an endpoint.
pub(super) fn usable(cidrs: &Cidrs, text: &str) -> Result<AddressType, Unusable> {
    let address: IpAddr = text.parse().map_err(|_| Unusable::Invalid)?;
    if !can_be_own_endpoint(address) {
        return Err(Unusable::Invalid);
    }
    if !cidrs.is_empty() && cidrs.find(address).is_none() {
        return Err(Unusable::Outside);
    }
    Ok(if address.is_ipv4() { AddressType::IPv4 } else { AddressType::IPv6 })
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
