//! Comparison of port lists: whether two lists are equivalent, and where they differ.
//!
//! API servers fill in defaults. A comparison that treated an absent field and its default as different would write
//! the object again and again.

use std::collections::BTreeMap;

use fleet_api::{EndpointPort, Protocol, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Whether two lists of Service ports hold the same ports in any order.
///
/// Protocol and number identify a port (Service API); the order of the list has no meaning. The cost grows with the
/// product of the lengths.
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

/// All other fields of a port by name, with the defaults that a server fills in. A field that is added to
/// [`ServicePort`] does not compile until it is compared here.
fn fields(port: &ServicePort) -> [(&'static str, String); 3] {
    let ServicePort { name, protocol: _, app_protocol, port, target_port } = port;
    [
        ("name", quoted(text(name.as_ref()))),
        ("appProtocol", quoted(text(app_protocol.as_ref()))),
        ("targetPort", target(target_port.as_ref(), *port)),
    ]
}

fn quoted(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { format!("{text:?}") }
}

/// The target port; the port itself if there is none.
fn target(target: Option<&IntOrString>, port: i32) -> String {
    match target {
        None => port.to_string(),
        Some(IntOrString::Int(number)) => number.to_string(),
        Some(IntOrString::String(name)) => format!("{name:?}"),
    }
}

/// The difference between two lists in the port of one protocol and number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Only the first list has it.
    OnlyFirst,
    /// Only the second list has it.
    OnlySecond,
    /// A field of it: its name, and its value in either list.
    Field(&'static str, String, String),
}

/// The differences between two lists of Service ports, by protocol and number; at most one per port. Empty for lists
/// that are the [`same`].
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

/// Whether two lists of EndpointSlice ports are the same, in the same order.
pub fn same_in_slices(a: &[EndpointPort], b: &[EndpointPort]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_in_slice(a, b))
}

fn same_in_slice(a: &EndpointPort, b: &EndpointPort) -> bool {
    normalized(a) == normalized(b)
}

/// All fields of a port, with the defaults that a server fills in. A field that is added to [`EndpointPort`] does not
/// compile until it is compared here.
fn normalized(port: &EndpointPort) -> (&str, &str, Option<i32>, Option<&String>) {
    let EndpointPort { name, protocol, port, app_protocol } = port;
    let protocol = protocol.as_deref().unwrap_or("TCP");
    (text(name.as_ref()), protocol, *port, app_protocol.as_ref())
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
    fn the_order_of_ports_has_no_meaning() {
        assert!(same(&[port(80), port(443)], &[port(443), port(80)]));
    }

    #[test]
    fn every_field_of_a_port_is_compared() {
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
    fn differences_name_the_port_and_the_field() {
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
    fn defaults_of_the_server_make_no_difference() {
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
