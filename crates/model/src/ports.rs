//! When two lists of ports mean the same, and where they differ.
//!
//! API servers fill in what a writer leaves out. A comparison that took "left out" and "filled in"
//! for different would write for ever.

use std::collections::BTreeMap;

use fleet_api::{EndpointPort, Protocol, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Whether two lists of Service ports hold the same ports in any order.
///
/// Protocol and number identify a port (Service API); the order of the list says nothing.
pub fn same(a: &[ServicePort], b: &[ServicePort]) -> bool {
    let within = |a: &[ServicePort], b: &[ServicePort]| {
        a.iter().all(|port| b.iter().any(|other| same_port(port, other)))
    };
    a.len() == b.len() && within(a, b) && within(b, a)
}

fn same_port(a: &ServicePort, b: &ServicePort) -> bool {
    id(a) == id(b) && fields(a) == fields(b)
}

/// What identifies a port of a Service.
fn id(port: &ServicePort) -> (&Protocol, i32) {
    (&port.protocol, port.port)
}

/// Everything else of a port, by the name of the field, with what a server fills in.
fn fields(port: &ServicePort) -> [(&'static str, String); 3] {
    let target = port.target_port.clone().unwrap_or(IntOrString::Int(port.port));
    let target = match target {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::String(name) => format!("{name:?}"),
    };
    let quoted = |text: &str| if text.is_empty() { "none".to_owned() } else { format!("{text:?}") };
    [
        ("name", quoted(text(port.name.as_ref()))),
        ("appProtocol", quoted(text(port.app_protocol.as_ref()))),
        ("targetPort", target),
    ]
}

/// How the port of one protocol and number differs between two lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Only the first list has it.
    OnlyFirst,
    /// Only the second list has it.
    OnlySecond,
    /// A field of it: its name, and its value in either list.
    Field(&'static str, String, String),
}

/// Where two lists of Service ports differ, by protocol and number; one difference per port. Empty
/// for lists that are the [`same`].
pub fn differences<'a>(
    first: &'a [ServicePort],
    second: &'a [ServicePort],
) -> BTreeMap<(&'a Protocol, i32), Difference> {
    let lacks = |list: &[ServicePort], port| !list.iter().any(|other| id(other) == id(port));
    let alone = |list: &'a [ServicePort], other: &'a [ServicePort], difference: Difference| {
        let alone = list.iter().filter(move |port| lacks(other, port));
        alone.map(move |port| (id(port), difference.clone()))
    };
    let in_both = first.iter().filter_map(|port| {
        let other = second.iter().find(|other| id(other) == id(port))?;
        let mut pairs = fields(port).into_iter().zip(fields(other));
        let (first, second) = pairs.find(|(first, second)| first != second)?;
        Some((id(port), Difference::Field(first.0, first.1, second.1)))
    });
    alone(first, second, Difference::OnlyFirst)
        .chain(alone(second, first, Difference::OnlySecond))
        .chain(in_both)
        .collect()
}

/// Whether two lists of EndpointSlice ports are the same. Their order is that of the slice.
pub fn same_in_slices(a: &[EndpointPort], b: &[EndpointPort]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_in_slice(a, b))
}

fn same_in_slice(a: &EndpointPort, b: &EndpointPort) -> bool {
    let protocol = |port: &EndpointPort| port.protocol.clone().unwrap_or_else(|| "TCP".to_owned());
    a.port == b.port
        && text(a.name.as_ref()) == text(b.name.as_ref())
        && protocol(a) == protocol(b)
        && a.app_protocol == b.app_protocol
}

fn text(text: Option<&String>) -> &str {
    text.map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(port: i32) -> ServicePort {
        ServicePort { port, ..ServicePort::default() }
    }

    #[test]
    fn order_says_nothing() {
        assert!(same(&[port(80), port(443)], &[port(443), port(80)]));
    }

    #[test]
    fn every_part_of_a_port_counts() {
        let other = [
            ServicePort { name: Some("web".to_owned()), ..port(80) },
            ServicePort { protocol: "UDP".into(), ..port(80) },
            ServicePort { app_protocol: Some("h2c".to_owned()), ..port(80) },
            ServicePort { target_port: Some(IntOrString::Int(8080)), ..port(80) },
            port(81),
        ];
        for other in other {
            assert!(!same(&[port(80)], std::slice::from_ref(&other)), "{other:?}");
        }
        assert!(!same(&[port(80)], &[port(80), port(443)]));
        let twice = [port(80), port(80)];
        assert!(!same(&twice, &[port(80), port(443)]) && !same(&[port(80), port(443)], &twice));
    }

    #[test]
    fn what_differs_is_named() {
        let target_port = Some(IntOrString::String("web".to_owned()));
        let first = [port(443), ServicePort { target_port, ..port(80) }, port(9)];
        let second = [port(9), port(80), port(53)];
        let tcp = Protocol::Tcp;
        let target = Difference::Field("targetPort", "\"web\"".to_owned(), "80".to_owned());
        let wanted = [
            ((&tcp, 53), Difference::OnlySecond),
            ((&tcp, 80), target),
            ((&tcp, 443), Difference::OnlyFirst),
        ];
        assert_eq!(differences(&first, &second), wanted.into_iter().collect());
        assert!(differences(&first, &first).is_empty());
    }

    #[test]
    fn what_a_server_fills_in_makes_no_difference() {
        let target_port = Some(IntOrString::Int(80));
        let filled = ServicePort { name: Some(String::new()), target_port, ..port(80) };
        assert!(same(&[port(80)], &[filled]));

        let bare = EndpointPort { port: Some(80), ..EndpointPort::default() };
        let (name, protocol) = (Some(String::new()), Some("TCP".to_owned()));
        let filled = EndpointPort { name, protocol, ..bare.clone() };
        assert!(same_in_slices(std::slice::from_ref(&bare), &[filled]));
        let other = EndpointPort { protocol: Some("UDP".to_owned()), ..bare.clone() };
        assert!(!same_in_slices(&[bare], &[other]));
    }
}
