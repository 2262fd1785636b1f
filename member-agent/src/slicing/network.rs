//! Endpoints on a secondary network: which network a Service requests, and which of its pods have an address on it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use fleet_accumulator::Object;
use fleet_api::limits::slice::ADDRESSES;
use fleet_api::{ObjectName, annotations};
use fleet_endpointslice::pods::is_candidate;
use fleet_model::addresses::can_be_own_endpoint;
use fleet_model::changes::each_touched;
use fleet_model::cidr::Cidrs;
use fleet_model::objects::{Pod, Service};
use serde::Deserialize;

use super::pods::{SelectedPod, each_selecting, pods};
use crate::Settings;
use crate::snapshot::MemberSnapshot;

/// How many pods a message names.
const NAMED: usize = 5;

/// The network that the endpoints of a Service are to be on.
pub(crate) fn requested_network(service: &Service) -> Option<&str> {
    service.meta.annotation(annotations::ENDPOINT_NETWORK).filter(|name| !name.is_empty())
}

/// Calls `found` with every Service that requests a network and selects a pod that differs between two snapshots.
pub(crate) fn each_on_network(
    old: &MemberSnapshot,
    new: &MemberSnapshot,
    found: &mut dyn FnMut(ObjectName),
) {
    let mut if_requested = |name: ObjectName| {
        if new.services.get(&name).is_some_and(|service| requested_network(service).is_some()) {
            found(name);
        }
    };
    each_touched(&old.pods, &new.pods, |pod| each_selecting(pod, new, &mut if_requested));
}

/// Why a pod has no address on a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AddressError {
    /// The pod has no network status.
    NoStatus,
    /// The network status is not valid JSON of the expected form.
    Malformed,
    /// The pod is not attached to the network.
    NotAttached,
    /// The network status lists no valid address on the network.
    NoAddress,
    /// It lists more than an endpoint can have.
    TooMany,
    /// This address on the network is in none of the ranges that the administrator names.
    Outside(IpAddr),
}

impl AddressError {
    /// The end of a sentence that begins with the pod's name.
    fn predicate(self) -> String {
        match self {
            Self::NoStatus => "has no network status".to_owned(),
            Self::Malformed => "has a network status that cannot be read".to_owned(),
            Self::NotAttached => "is not on it".to_owned(),
            Self::NoAddress => "has no usable address on it".to_owned(),
            Self::TooMany => format!("has more than {} addresses on it", ADDRESSES.accepted),
            Self::Outside(address) => {
                format!("has the address {address}, which is outside of --endpoint-network-cidrs")
            }
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

/// All addresses of a pod on a network. One that no endpoint can have, or that is outside of the ranges, spoils them all, and so do
/// too many: the API server would refuse the whole slice, with the endpoints of other pods.
fn addresses(pod: &Object<Pod>, network: &str, cidrs: &Cidrs) -> Result<Vec<String>, AddressError> {
    let status = pod.networks.as_deref().ok_or(AddressError::NoStatus)?;
    let all: Vec<Attachment> = serde_json::from_str(status).map_err(|_| AddressError::Malformed)?;
    let qualified = format!("{}/{network}", pod.name.namespace);
    let is_it = |one: &Attachment| one.name == network || one.name == qualified;
    let mut attachments = all.into_iter().filter(is_it).peekable();
    attachments.peek().ok_or(AddressError::NotAttached)?;
    let ips: Vec<String> = attachments.flat_map(|one| one.ips).collect();
    if ips.len() > ADDRESSES.accepted {
        return Err(AddressError::TooMany);
    }
    let parsed: Option<Vec<IpAddr>> = ips.iter().map(|ip| ip.parse().ok()).collect();
    let usable =
        |ips: &Vec<IpAddr>| !ips.is_empty() && ips.iter().all(|ip| can_be_own_endpoint(*ip));
    let parsed = parsed.filter(usable).ok_or(AddressError::NoAddress)?;
    let outside = |ip: &IpAddr| !cidrs.is_empty() && cidrs.find(*ip).is_none();
    match parsed.into_iter().find(outside) {
        Some(address) => Err(AddressError::Outside(address)),
        None => Ok(ips),
    }
}

/// The pods of a Service by whether they have an address on a network.
#[derive(Default)]
pub(crate) struct PodsByNetwork<'a> {
    /// Addresses on the network by pod name.
    pub(crate) on: BTreeMap<&'a str, Vec<String>>,
    /// Names of the other pods, and why they have no address on it.
    off: Vec<(&'a str, AddressError)>,
}

impl<'a> PodsByNetwork<'a> {
    /// Divides `pods`. Those that are no endpoints at all are in neither part.
    pub(crate) fn of(pods: &[SelectedPod<'a>], network: &str, cidrs: &Cidrs) -> Self {
        let mut divided = Self::default();
        for pod in pods.iter().filter(|pod| is_candidate(*pod, true)) {
            let name: &str = &pod.pod.name.name;
            match addresses(pod.pod, network, cidrs) {
                Ok(ips) => {
                    divided.on.insert(name, ips);
                }
                Err(error) => divided.off.push((name, error)),
            }
        }
        divided
    }

    /// A sentence about the pods that are not on `network`; `None` if all are.
    pub(crate) fn note(&self, network: &str) -> Option<String> {
        if self.off.is_empty() {
            return None;
        }
        let named = self.off.iter().take(NAMED);
        let named: Vec<_> = named.map(|(pod, why)| format!("{pod} {}", why.predicate())).collect();
        let more = match self.off.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let named = named.join(", ");
        Some(format!("pods without an address on network {network} are skipped: {named}{more}"))
    }
}

/// A sentence about the pods of a Service that are not on the network that it requests; `None` if all are.
pub(crate) fn off_network(
    settings: &Settings,
    snapshot: &MemberSnapshot,
    service: &Object<Service>,
) -> Option<String> {
    let network = requested_network(service)?;
    let cidrs = &settings.endpoint_network_cidrs;
    PodsByNetwork::of(&pods(snapshot, service), network, cidrs).note(network)
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
            {"name":"team/odd","ips":["192.0.2.1/24"]},
            {"name":"local","ips":["169.254.169.254"]}]"#;
        for (status, network, expected) in [
            (Some(status), "flat", Ok(vec!["192.0.2.1", "2001:db8::1"])),
            (Some(status), "team/flat", Ok(vec!["192.0.2.1", "2001:db8::1"])),
            (Some(status), "other/far", Ok(vec!["192.0.2.9"])),
            (Some(status), "far", Err(AddressError::NotAttached)),
            (Some(status), "empty", Err(AddressError::NoAddress)),
            (Some(status), "odd", Err(AddressError::NoAddress)),
            (Some(status), "local", Err(AddressError::NoAddress)),
            (Some("[]"), "flat", Err(AddressError::NotAttached)),
            (Some("{"), "flat", Err(AddressError::Malformed)),
            (Some(r#"{"name":"flat"}"#), "flat", Err(AddressError::Malformed)),
            (None, "flat", Err(AddressError::NoStatus)),
        ] {
            let found = addresses(&pod(status), network, &Cidrs::default());
            let expected = expected.map(|ips| ips.into_iter().map(str::to_owned).collect());
            assert_eq!(found, expected, "{network}");
        }
    }

    #[test]
    fn more_addresses_than_an_endpoint_can_have_are_none() {
        let with = |count: usize| {
            let ips: Vec<_> = (1..=count).map(|n| format!("192.0.2.{n}")).collect();
            let status = json!([{ "name": "flat", "ips": ips }]).to_string();
            addresses(&pod(Some(&status)), "flat", &Cidrs::default()).map(|ips| ips.len())
        };
        assert_eq!(with(100), Ok(100));
        assert_eq!(with(101), Err(AddressError::TooMany));
    }

    #[test]
    fn only_addresses_in_the_ranges_count() {
        let status = r#"[{"name":"flat","ips":["192.0.2.1","2001:db8::1"]}]"#;
        let within = |cidrs: &str| addresses(&pod(Some(status)), "flat", &cidrs.parse().unwrap());
        let all = ["192.0.2.1", "2001:db8::1"].map(str::to_owned).to_vec();
        assert_eq!(within("192.0.2.0/24,2001:db8::/64"), Ok(all));
        let outside = |address: &str| Err(AddressError::Outside(address.parse().unwrap()));
        assert_eq!(within("192.0.2.0/24"), outside("2001:db8::1"));
        assert_eq!(within("198.51.100.0/24,2001:db8::/64"), outside("192.0.2.1"));
    }
}
