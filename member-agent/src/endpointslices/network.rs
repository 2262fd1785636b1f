//! Endpoints on a secondary network: what a Service asks for, and what its pods say of themselves.

use std::collections::BTreeMap;
use std::net::IpAddr;

use fleet_accumulator::Object;
use fleet_api::{annotations, labels};
use fleet_endpointslice::pods::is_candidate;
use fleet_endpointslice::{AddressType, Candidate, Config, Hints, MANAGER, Pods, Source};
use fleet_model::objects::{self, Pod};
use k8s_openapi::api::core::v1::Service;
use serde::Deserialize;

use super::source::Selected;

/// The network that the endpoints of a Service are to be on.
pub(crate) fn wanted(service: &objects::Service) -> Option<&str> {
    service.meta.annotation(annotations::ENDPOINT_NETWORK).filter(|name| !name.is_empty())
}

/// Whether slices of this manager are made here.
pub(super) fn is_manager(manager: &str) -> bool {
    [MANAGER, labels::MANAGED_BY_NETWORK].contains(&manager)
}

/// How slices of a network are made. They carry the Service's name under a label of our own: whoever balances traffic in
/// this cluster must not find them.
pub(super) fn config(limit: usize) -> Config {
    Config {
        manager: labels::MANAGED_BY_NETWORK.to_owned(),
        service_label: labels::NETWORK_SERVICE,
        name_prefix: "network-",
        placeholder: false,
        hints: Hints::None,
        limit,
        ..Config::pods()
    }
}

/// Pods on a network, which need not have the families of the Service's own address.
pub(super) struct OnNetwork<'a>(pub(super) Pods<'a, Selected<'a>>);

impl Source for OnNetwork<'_> {
    fn address_types(&self, _: &Service) -> Vec<AddressType> {
        AddressType::ALL.to_vec()
    }

    fn candidates<'a>(
        &'a self,
        service: &'a Service,
        address_type: AddressType,
    ) -> impl Iterator<Item = Candidate<'a>> {
        self.0.candidates(service, address_type)
    }
}

/// Why a pod has no address on a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Refusal {
    /// Nothing is written about its networks.
    NoStatus,
    /// What is written cannot be read.
    Malformed,
    /// It is not on that network.
    NotAttached,
    /// What is written as its address there is none.
    NoAddress,
}

impl Refusal {
    /// For a person.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::NoStatus => "has no network status",
            Self::Malformed => "has a network status that cannot be read",
            Self::NotAttached => "is not on it",
            Self::NoAddress => "has no usable address on it",
        }
    }
}

/// One entry of a pod's network status.
#[derive(Deserialize)]
struct Attachment {
    #[serde(default)]
    name: String,
    #[serde(default)]
    ips: Vec<String>,
}

/// The addresses of a pod on a network; all of them, or none.
pub(crate) fn addresses(pod: &Object<Pod>, network: &str) -> Result<Vec<String>, Refusal> {
    let status = pod.networks.as_deref().ok_or(Refusal::NoStatus)?;
    let all: Vec<Attachment> = serde_json::from_str(status).map_err(|_| Refusal::Malformed)?;
    let qualified = format!("{}/{network}", pod.name.namespace);
    let is_it = |one: &Attachment| one.name == network || one.name == qualified;
    let mut attachments = all.into_iter().filter(is_it).peekable();
    attachments.peek().ok_or(Refusal::NotAttached)?;
    let ips: Vec<String> = attachments.flat_map(|one| one.ips).collect();
    let usable = !ips.is_empty() && ips.iter().all(|ip| ip.parse::<IpAddr>().is_ok());
    if usable { Ok(ips) } else { Err(Refusal::NoAddress) }
}

/// The pods of a Service, by whether they are on a network.
#[derive(Default)]
pub(super) struct Sorted<'a> {
    /// Addresses by pod.
    pub(super) found: BTreeMap<&'a str, Vec<String>>,
    /// Pods without, and why.
    pub(super) refused: Vec<(&'a str, Refusal)>,
}

/// Which pods are on a network.
pub(super) fn sort<'a>(pods: &[Selected<'a>], network: &str) -> Sorted<'a> {
    let mut sorted = Sorted::default();
    for pod in pods.iter().filter(|pod| is_candidate(*pod, true)) {
        let name: &str = &pod.record.name.name;
        match addresses(pod.record, network) {
            Ok(ips) => {
                sorted.found.insert(name, ips);
            }
            Err(refusal) => sorted.refused.push((name, refusal)),
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use fleet_accumulator::Tracked;
    use serde_json::json;

    use super::*;

    fn pod(status: Option<&str>) -> Object<Pod> {
        let mut metadata = json!({ "name": "web-0", "namespace": "team" });
        if let Some(status) = status {
            metadata["annotations"] = json!({ annotations::NETWORK_STATUS: status });
        }
        let wire = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
        let name = fleet_api::ObjectName::new("team", "web-0");
        Object::new(name, "uid".into(), "1".into(), Pod::project(wire).unwrap())
    }

    #[test]
    fn only_addresses_on_the_network_count() {
        let status = r#"[{"name":"cbr0","ips":["10.0.0.1"],"default":true},
            {"name":"team/flat","interface":"net1","ips":["192.0.2.1","2001:db8::1"]},
            {"name":"other/far","ips":["192.0.2.9"]},{"name":"team/empty"},
            {"name":"team/odd","ips":["192.0.2.1/24"]}]"#;
        for (status, network, expected) in [
            (Some(status), "flat", Ok(vec!["192.0.2.1", "2001:db8::1"])),
            (Some(status), "team/flat", Ok(vec!["192.0.2.1", "2001:db8::1"])),
            (Some(status), "other/far", Ok(vec!["192.0.2.9"])),
            (Some(status), "far", Err(Refusal::NotAttached)),
            (Some(status), "empty", Err(Refusal::NoAddress)),
            (Some(status), "odd", Err(Refusal::NoAddress)),
            (Some("[]"), "flat", Err(Refusal::NotAttached)),
            (Some("{"), "flat", Err(Refusal::Malformed)),
            (Some(r#"{"name":"flat"}"#), "flat", Err(Refusal::Malformed)),
            (None, "flat", Err(Refusal::NoStatus)),
        ] {
            let found = addresses(&pod(status), network);
            let expected = expected.map(|ips| ips.into_iter().map(str::to_owned).collect());
            assert_eq!(found, expected, "{network}");
        }
    }
}
