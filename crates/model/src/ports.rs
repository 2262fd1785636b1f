//! Comparison of port lists: whether two lists are equivalent, and where they differ.
//!
//! API servers fill in defaults. A comparison that treated an absent field and its default as different would write
//! the object again and again. Members write the lists, so no comparison costs more than sorting them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use fleet_api::{EndpointPort, Protocol, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Whether two lists of Service ports hold the same ports in any order.
///
/// Protocol and number identify a port (Service API); the order of the list has no meaning.
pub fn same(a: &[ServicePort], b: &[ServicePort]) -> bool {
    a.len() == b.len() && (same_in_order(a, b) || set(a) == set(b))
}

/// Whether two lists of Service ports hold the same ports in the same order.
pub fn same_in_order(a: &[ServicePort], b: &[ServicePort]) -> bool {
    a.len() == b.len() && a.iter().map(normal).eq(b.iter().map(normal))
}

/// Whether clients cannot distinguish two lists of Service ports: as [`same`], but for `targetPort`.
///
/// A target port is a matter between a Service and its own Pods: an EndpointSlice contains the resolved numbers, so
/// clusters whose Pods listen on different ports can export one Service (EndpointSlice API, `ports`).
pub fn same_for_clients(a: &[ServicePort], b: &[ServicePort]) -> bool {
    fn seen(port: &ServicePort) -> (PortId<'_>, ClientFields<'_>) {
        (id(port), client_fields(port))
    }
    fn set(ports: &[ServicePort]) -> BTreeSet<(PortId<'_>, ClientFields<'_>)> {
        ports.iter().map(seen).collect()
    }
    a.len() == b.len() && (a.iter().map(seen).eq(b.iter().map(seen)) || set(a) == set(b))
}

fn set(ports: &[ServicePort]) -> BTreeSet<(PortId<'_>, Fields<'_>)> {
    ports.iter().map(normal).collect()
}

fn normal(port: &ServicePort) -> (PortId<'_>, Fields<'_>) {
    (id(port), fields(port))
}

/// What identifies a port of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortId<'a> {
    /// Transport protocol.
    pub protocol: &'a Protocol,
    /// Number of the port on the Service.
    pub number: i32,
}

impl Ord for PortId<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        #[cfg(test)]
        tests::COMPARED.with(|count| count.set(count.get() + 1));
        (self.protocol, self.number).cmp(&(other.protocol, other.number))
    }
}

impl PartialOrd for PortId<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn id(port: &ServicePort) -> PortId<'_> {
    PortId { protocol: &port.protocol, number: port.port }
}

/// All fields of a port but those that identify it.
type Fields<'a> = (ClientFields<'a>, Target<'a>);

/// The fields that clients depend on, by name; empty if there is none.
type ClientFields<'a> = [(&'static str, &'a str); 2];

/// A port of the endpoints, with the default that a server fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target<'a> {
    /// By number.
    Number(i32),
    /// By name.
    Name(&'a str),
}

fn fields(port: &ServicePort) -> Fields<'_> {
    let target = match &port.target_port {
        None => Target::Number(port.port),
        Some(IntOrString::Int(number)) => Target::Number(*number),
        Some(IntOrString::String(name)) => Target::Name(name),
    };
    (client_fields(port), target)
}

/// A field that is added to [`ServicePort`] does not compile until it is compared here or in [`fields`].
fn client_fields(port: &ServicePort) -> ClientFields<'_> {
    let ServicePort { name, protocol: _, app_protocol, port: _, target_port: _ } = port;
    [("name", text(name.as_ref())), ("appProtocol", text(app_protocol.as_ref()))]
}

fn describe(field: &str) -> String {
    if field.is_empty() { "none".to_owned() } else { format!("{field:?}") }
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
/// that are the [`same_for_clients`].
pub fn differences<'a>(
    first: &'a [ServicePort],
    second: &'a [ServicePort],
) -> BTreeMap<PortId<'a>, Difference> {
    let (ours, theirs) = (by_id(first), by_id(second));
    let alone = ours.keys().filter(|id| !theirs.contains_key(id));
    let alone = alone.map(|id| (*id, Difference::OnlyFirst));
    let missing = theirs.keys().filter(|id| !ours.contains_key(id));
    let missing = missing.map(|id| (*id, Difference::OnlySecond));
    let in_both = first.iter().filter_map(|port| {
        let mut pairs = client_fields(port).into_iter().zip(client_fields(theirs.get(&id(port))?));
        let (first, second) = pairs.find(|(first, second)| first != second)?;
        Some((id(port), Difference::Field(first.0, describe(first.1), describe(second.1))))
    });
    alone.chain(missing).chain(in_both).collect()
}

/// The first port of each protocol and number.
fn by_id(ports: &[ServicePort]) -> BTreeMap<PortId<'_>, &ServicePort> {
    ports.iter().rev().map(|port| (id(port), port)).collect()
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
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    thread_local! {
        /// Comparisons of ports by this thread: what a comparison of lists costs.
        pub(super) static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    fn port(port: i32) -> ServicePort {
        ServicePort { port, ..ServicePort::default() }
    }

    fn tcp(number: i32) -> PortId<'static> {
        PortId { protocol: &Protocol::Tcp, number }
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
        let app_protocol = Some("h2c".to_owned());
        let first = [port(443), ServicePort { app_protocol, ..port(80) }, port(9)];
        let second = [port(9), port(80), port(53)];
        let field = Difference::Field("appProtocol", "\"h2c\"".to_owned(), "none".to_owned());
        let wanted = [
            (tcp(53), Difference::OnlySecond),
            (tcp(80), field),
            (tcp(443), Difference::OnlyFirst),
        ];
        assert_eq!(differences(&first, &second), wanted.into_iter().collect());
        assert!(differences(&first, &first).is_empty());
    }

    #[test]
    fn a_target_port_is_no_difference_for_clients() {
        let target_port = Some(IntOrString::String("web".to_owned()));
        let named = [port(443), ServicePort { target_port, ..port(80) }];
        let plain = [port(80), port(443)];
        assert!(!same(&named, &plain) && same_for_clients(&named, &plain));
        assert!(differences(&named, &plain).is_empty());
        for other in [
            ServicePort { name: Some("web".to_owned()), ..port(80) },
            ServicePort { protocol: "UDP".into(), ..port(80) },
            ServicePort { app_protocol: Some("h2c".to_owned()), ..port(80) },
            port(81),
        ] {
            let (plain, other) = ([port(80)], [other]);
            assert!(!same_for_clients(&plain, &other), "{other:?}");
            assert!(!differences(&plain, &other).is_empty(), "{other:?}");
        }
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

    /// Ports of few kinds, so that lists have duplicates and differences in each field.
    fn ports() -> impl Strategy<Value = Vec<ServicePort>> {
        let text =
            || prop_oneof![Just(None), Just(Some(String::new())), Just(Some("a".to_owned()))];
        let target = prop_oneof![
            Just(None),
            (1..4).prop_map(|number| Some(IntOrString::Int(number))),
            Just(Some(IntOrString::String("1".to_owned()))),
        ];
        let protocol = prop_oneof![Just("TCP"), Just("UDP")].prop_map(Protocol::from);
        let port = (text(), protocol, text(), 1..4, target).prop_map(
            |(name, protocol, app_protocol, port, target_port)| ServicePort {
                name,
                protocol,
                app_protocol,
                port,
                target_port,
            },
        );
        proptest::collection::vec(port, 0..6)
    }

    /// The definition of [`same`], port by port.
    fn same_by_definition(a: &[ServicePort], b: &[ServicePort]) -> bool {
        let within = |a: &[ServicePort], b: &[ServicePort]| {
            a.iter().all(|port| b.iter().any(|other| normal(port) == normal(other)))
        };
        a.len() == b.len() && within(a, b) && within(b, a)
    }

    /// The definition of [`differences`], port by port: of two ports with one id in the first list the last that
    /// differs counts, of two in the second list the first.
    fn differences_by_definition<'a>(
        first: &'a [ServicePort],
        second: &'a [ServicePort],
    ) -> BTreeMap<PortId<'a>, Difference> {
        let find = |list: &'a [ServicePort], port| list.iter().find(|other| id(other) == id(port));
        let mut found = BTreeMap::new();
        for port in first {
            let Some(other) = find(second, port) else {
                found.insert(id(port), Difference::OnlyFirst);
                continue;
            };
            let mut pairs = client_fields(port).into_iter().zip(client_fields(other));
            if let Some((ours, theirs)) = pairs.find(|(ours, theirs)| ours != theirs) {
                let (ours_text, theirs_text) = (describe(ours.1), describe(theirs.1));
                found.insert(id(port), Difference::Field(ours.0, ours_text, theirs_text));
            }
        }
        for port in second.iter().filter(|port| find(first, port).is_none()) {
            found.insert(id(port), Difference::OnlySecond);
        }
        found
    }

    proptest! {
        #[test]
        fn lists_are_compared_as_defined(a in ports(), b in ports(), by in 0..6_usize) {
            prop_assert_eq!(same(&a, &b), same_by_definition(&a, &b));
            prop_assert_eq!(differences(&a, &b), differences_by_definition(&a, &b));
            prop_assert!(!same(&a, &b) || same_for_clients(&a, &b));
            let mut rotated = a.clone();
            rotated.rotate_left(by.min(a.len()));
            prop_assert!(same(&a, &rotated));
        }
    }

    /// Comparisons of ports that comparing two lists of `count` ports costs, in an order that no sorting knows.
    fn cost(count: i32) -> usize {
        let shuffled = |by: i32| (0..count).map(|at| port(at * by % count + 1)).collect::<Vec<_>>();
        let (one, other) = (shuffled(7919), shuffled(104_729));
        COMPARED.set(0);
        assert!(same(&one, &other) && same_for_clients(&one, &other));
        assert!(differences(&one, &other).is_empty());
        COMPARED.get()
    }

    #[test]
    fn twice_as_many_ports_cost_little_more_than_twice_as_much() {
        let (once, twice) = (cost(7000), cost(14_000));
        assert!(twice * 10 <= once * 25, "{once} and {twice} comparisons");
        assert!(twice < 14_000 * 200, "{twice} comparisons");
    }
}
