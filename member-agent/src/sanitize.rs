//! The valid entries of a slice that another cluster has exported.
//!
//! The slice comes from another cluster and may contain anything. Entries that the API server would reject must not
//! block the rest of a slice, and addresses that lead back into this
//! cluster's nodes or to everybody must not become endpoints (C6, S25): they are left
//! out, an Event names them, the rest is imported.

use std::borrow::Cow;
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fleet_api::{AddressType, Endpoint, EndpointPort, ExportedSliceSpec, limits, names};
use fleet_model::addresses::is_cloud_service;

use crate::reserved::{Reason, Verdict};

const ENDPOINTS: usize = limits::slice::ENDPOINTS.accepted;
const ADDRESSES: usize = limits::slice::ADDRESSES.accepted;
const PORTS: usize = limits::slice::PORTS.accepted;

/// How many reserved addresses are named.
const NAMED: usize = 3;

const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];

/// The content of a slice as it is imported.
#[derive(Debug, PartialEq)]
pub(crate) struct Sanitized<'a> {
    pub(crate) address_type: &'a AddressType,
    pub(crate) ready: Cow<'a, [Endpoint]>,
    pub(crate) draining: Cow<'a, [Endpoint]>,
    pub(crate) ports: Cow<'a, [EndpointPort]>,
    /// Valid endpoints that are left out because an address is reserved in this cluster.
    pub(crate) refused: Reserved,
    /// Those with such an address that are imported all the same, since it was in force before.
    pub(crate) in_force: Reserved,
}

/// Endpoints with reserved addresses.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Reserved {
    pub(crate) count: usize,
    /// Some of the addresses, and what they are reserved for.
    named: Vec<(IpAddr, Reason)>,
}

impl Reserved {
    fn note(&mut self, address: IpAddr, reason: Reason) {
        self.count += 1;
        if self.named.len() < NAMED {
            self.named.push((address, reason));
        }
    }

    /// Some of the addresses with what they are reserved for; `None` if there is none.
    pub(crate) fn described(&self) -> Option<String> {
        let named = self.named.iter().map(|(address, reason)| format!("{address} is {reason}"));
        let more = (self.count > NAMED).then(|| format!("and {} more", self.count - NAMED));
        let all: Vec<_> = named.chain(more).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

impl<'a> Sanitized<'a> {
    /// The unchecked content of a slice, to compare with an imported one.
    pub(crate) fn unchecked(spec: &'a ExportedSliceSpec) -> Self {
        Self {
            address_type: &spec.address_type,
            ready: Cow::Borrowed(&spec.endpoints),
            draining: Cow::Borrowed(&spec.draining_endpoints),
            ports: Cow::Borrowed(&spec.ports),
            refused: Reserved::default(),
            in_force: Reserved::default(),
        }
    }

    /// How many entries of `spec` are not imported because no cluster can take them; `None` if there is none.
    pub(crate) fn skipped(&self, spec: &ExportedSliceSpec) -> Option<String> {
        let endpoints = spec.endpoints.len() + spec.draining_endpoints.len();
        let endpoints = endpoints - self.ready.len() - self.draining.len() - self.refused.count;
        let ports = spec.ports.len() - self.ports.len();
        (endpoints + ports > 0).then(|| format!("endpoints: {endpoints}, ports: {ports}"))
    }
}

/// The entries of a slice that are valid and whose addresses are not reserved here, as `verdict` decides; `None` if its
/// address type is not imported.
pub(crate) fn sanitize(
    spec: &ExportedSliceSpec,
    verdict: impl Fn(IpAddr) -> Verdict,
) -> Option<Sanitized<'_>> {
    let valid: fn(&str) -> Option<IpAddr> = match &spec.address_type {
        AddressType::IPv4 => |text| valid_ipv4(text).map(IpAddr::V4),
        AddressType::IPv6 => |text| valid_ipv6(text).map(IpAddr::V6),
        AddressType::Other(_) => return None,
    };
    let (mut refused, mut in_force) = (Reserved::default(), Reserved::default());
    let mut is_usable = |endpoint: &Endpoint| {
        let count = endpoint.addresses.len();
        let addresses = endpoint.addresses.iter().map(|text| valid(text));
        let Some(addresses) = addresses.collect::<Option<Vec<_>>>() else { return false };
        if !(1..=ADDRESSES).contains(&count) {
            return false;
        }
        let judged = addresses.into_iter().map(|address| (address, verdict(address)));
        match judged.max_by_key(|(_, verdict)| verdict.clone()) {
            Some((address, Verdict::Refused(reason))) => {
                refused.note(address, reason);
                false
            }
            Some((address, Verdict::InForce(reason))) => {
                in_force.note(address, reason);
                true
            }
            _ => true,
        }
    };
    let ready = first(&spec.endpoints, ENDPOINTS, &mut is_usable);
    let draining = first(&spec.draining_endpoints, ENDPOINTS - ready.len(), &mut is_usable);
    let mut names = HashSet::new();
    let ports = first(&spec.ports, PORTS, |port| {
        is_port(port) && names.insert(port.name.clone().unwrap_or_default())
    });
    Some(Sanitized { address_type: &spec.address_type, ready, draining, ports, refused, in_force })
}

/// The first `limit` usable items. Borrows if those are all.
fn first<T: Clone>(list: &[T], limit: usize, is_usable: impl FnMut(&T) -> bool) -> Cow<'_, [T]> {
    let usable: Vec<_> = list.iter().map(is_usable).collect();
    if list.len() <= limit && usable.iter().all(|usable| *usable) {
        return Cow::Borrowed(list);
    }
    let usable = list.iter().zip(usable).filter_map(|(item, usable)| usable.then_some(item));
    usable.take(limit).cloned().collect()
}

/// The rules of the API server, and a valid port number: the server accepts any.
fn is_port(port: &EndpointPort) -> bool {
    port.name.as_deref().is_none_or(|name| name.is_empty() || names::is_dns1123_label(name))
        && port.protocol.as_deref().is_none_or(|protocol| PROTOCOLS.contains(&protocol))
        && port.port.is_none_or(|number| (1..=65535).contains(&number))
        && port.app_protocol.as_deref().is_none_or(names::is_qualified_name)
}

/// An address that some cluster can take. Rust parses canonical IPv4 text only.
fn valid_ipv4(text: &str) -> Option<Ipv4Addr> {
    let address = text.parse::<Ipv4Addr>().ok()?;
    let [first, second, ..] = address.octets();
    // "This network", loopback, link-local, multicast, and what is reserved with the broadcast.
    let special = matches!((first, second), (0 | 127 | 224.., _) | (169, 254));
    (!special && !is_cloud_service(address.into())).then_some(address)
}

fn valid_ipv6(text: &str) -> Option<Ipv6Addr> {
    let address = text.parse::<Ipv6Addr>().ok()?;
    let special = address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || address.is_unicast_link_local()
        || address.to_ipv4_mapped().is_some()
        || is_nat64(address)
        || is_cloud_service(address.into());
    (!special && address.to_string() == text).then_some(address)
}

/// Whether it stands for an IPv4 address, which may be any (RFC 6052, `64:ff9b::/96`).
fn is_nat64(address: Ipv6Addr) -> bool {
    matches!(address.segments(), [0x64, 0xff9b, 0, 0, 0, 0, _, _])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where nothing is reserved.
    fn sanitize(spec: &ExportedSliceSpec) -> Option<Sanitized<'_>> {
        super::sanitize(spec, |_| Verdict::Free)
    }

    fn slice(address_type: &str, addresses: &[&str]) -> ExportedSliceSpec {
        let endpoint = |address: &&str| Endpoint::new(vec![(*address).to_owned()]);
        ExportedSliceSpec {
            address_type: address_type.into(),
            endpoints: addresses.iter().map(endpoint).collect(),
            ..ExportedSliceSpec::default()
        }
    }

    fn left<'a>(sanitized: &'a Sanitized<'_>) -> Vec<&'a str> {
        sanitized
            .ready
            .iter()
            .flat_map(|endpoint| &endpoint.addresses)
            .map(String::as_str)
            .collect()
    }

    #[test]
    fn ordinary_addresses_are_taken() {
        let v4 = ["10.0.0.1", "100.64.0.1", "169.253.0.1", "172.16.0.1", "223.255.255.254"];
        let spec = slice("IPv4", &v4);
        assert_eq!(sanitize(&spec), Some(Sanitized::unchecked(&spec)));
        let v6 = ["2001:db8::1", "fd00::5", "64:ff9b:1::a00:1"];
        let spec = slice("IPv6", &v6);
        let sanitized = sanitize(&spec).unwrap();
        assert_eq!((left(&sanitized), sanitized.skipped(&spec)), (v6.to_vec(), None));
    }

    /// The addresses of the malicious corpus of fault F45.
    #[test]
    fn addresses_that_no_cluster_should_take_are_left_out() {
        let v4 = [
            "",
            " ",
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "010.0.0.1",
            "10.0.0.01",
            "10.0.0",
            "10.0.0.256",
            "10.0.0.1/32",
            " 10.0.0.1",
            "10.0.0.1 ",
            "10.0.0.1:80",
            "1",
            "example.com",
            "::ffff:10.0.0.1",
            "2001:db8::1",
            "0x0a000001",
            "10.0.0.1\n",
            "168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
        ];
        let v6 = [
            "",
            "::",
            "::1",
            "fe80::1",
            "febf::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "::ffff:a00:1",
            "2001:DB8::1",
            "2001:db8:0:0:0:0:0:1",
            "2001:0db8::1",
            "[2001:db8::1]",
            "2001:db8::1/64",
            "fe80::1%eth0",
            "2001:db8::1%eth0",
            "64:ff9b::a9fe:a9fe",
            "fd00:ec2::254",
            "fd20:ce::254",
            "10.0.0.1",
            "example.com",
        ];
        for (address_type, good, bad) in
            [("IPv4", "10.9.9.9", v4.as_slice()), ("IPv6", "2001:db8::9", v6.as_slice())]
        {
            for bad in bad {
                let spec = slice(address_type, &[bad, good]);
                let sanitized = sanitize(&spec).unwrap();
                assert_eq!(left(&sanitized), [good], "{bad:?}");
                let refused = sanitized.skipped(&spec);
                assert_eq!(refused.as_deref(), Some("endpoints: 1, ports: 0"));
            }
        }
    }

    #[test]
    fn one_bad_address_makes_its_endpoint_bad() {
        let mut spec = slice("IPv4", &["10.0.0.1"]);
        spec.endpoints[0].addresses.push("127.0.0.1".to_owned());
        spec.endpoints.push(Endpoint::default());
        spec.endpoints.push(Endpoint::new(vec!["10.0.0.2".to_owned(); 101]));
        assert!(sanitize(&spec).unwrap().ready.is_empty());
    }

    #[test]
    fn the_limits_of_the_api_hold_with_ready_endpoints_first() {
        let many: Vec<_> = (0..1200).map(|at| format!("10.0.{}.{}", at / 250, at % 250)).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let mut spec = slice("IPv4", &many[..990]);
        spec.draining_endpoints = slice("IPv4", &many[990..]).endpoints;
        let sanitized = sanitize(&spec).unwrap();
        assert_eq!((sanitized.ready.len(), sanitized.draining.len()), (990, 10));
        assert_eq!(sanitized.skipped(&spec).as_deref(), Some("endpoints: 200, ports: 0"));
    }

    /// The worst address of an endpoint counts.
    #[test]
    fn reserved_addresses_are_counted_apart() {
        let mut spec = slice("IPv4", &["10.0.0.1", "127.0.0.1", "10.1.0.1", "10.2.0.1"]);
        spec.endpoints[3].addresses =
            ["10.0.0.2", "10.1.0.2", "10.2.0.2"].map(str::to_owned).into();
        spec.draining_endpoints =
            slice("IPv4", &["10.2.0.3", "10.2.0.4", "10.2.0.5", "10.1.0.6"]).endpoints;
        let reason = || Reason::Service("10.0.0.0/8".parse().unwrap());
        let verdict = |address: IpAddr| match address.to_string().get(..4) {
            Some("10.1") => Verdict::InForce(reason()),
            Some("10.2") => Verdict::Refused(reason()),
            _ => Verdict::Free,
        };
        let sanitized = super::sanitize(&spec, verdict).unwrap();
        assert_eq!(left(&sanitized), ["10.0.0.1", "10.1.0.1"]);
        assert_eq!(sanitized.draining.len(), 1);
        assert_eq!((sanitized.refused.count, sanitized.in_force.count), (4, 2));
        assert_eq!(sanitized.skipped(&spec).as_deref(), Some("endpoints: 1, ports: 0"));
        let range = "in the Service range 10.0.0.0/8 of this cluster";
        let expected =
            format!("10.2.0.2 is {range}, 10.2.0.3 is {range}, 10.2.0.4 is {range}, and 1 more");
        assert_eq!(sanitized.refused.described(), Some(expected));
        assert_eq!(Reserved::default().described(), None);
    }

    #[test]
    fn other_kinds_of_addresses_are_not_imported() {
        assert_eq!(sanitize(&slice("FQDN", &["example.com"])), None);
    }

    #[test]
    fn ports_that_cannot_be_are_left_out() {
        let good = EndpointPort { port: Some(80), ..EndpointPort::default() };
        let named = |name: &str| EndpointPort { name: Some(name.to_owned()), ..good.clone() };
        let bad = [
            EndpointPort { port: Some(0), ..named("a") },
            EndpointPort { port: Some(-1), ..named("b") },
            EndpointPort { port: Some(65536), ..named("c") },
            EndpointPort { protocol: Some("tcp".to_owned()), ..named("d") },
            EndpointPort { app_protocol: Some("a b".to_owned()), ..named("e") },
            named("Upper"),
            named(&"x".repeat(70)),
            named(""), // The unnamed one comes first.
        ];
        let any = EndpointPort { port: None, ..named("any") };
        let mut spec = slice("IPv4", &["10.0.0.1"]);
        spec.ports.push(good.clone());
        spec.ports.extend(bad);
        spec.ports.push(any.clone());
        let sanitized = sanitize(&spec).unwrap();
        assert_eq!(*sanitized.ports, [good.clone(), any]);
        assert_eq!(sanitized.skipped(&spec).as_deref(), Some("endpoints: 0, ports: 8"));

        spec.ports = (0..150).map(|at| named(&format!("p{at}"))).collect();
        assert_eq!(sanitize(&spec).unwrap().ports.len(), PORTS);
    }
}
