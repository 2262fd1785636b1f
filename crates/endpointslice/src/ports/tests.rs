use k8s_openapi::api::discovery::v1::EndpointPort;
use serde_json::json;

use super::{Alike, PortKey, resolved};
use crate::Config;
use crate::tests::fixture::{object, service, with};

/// EPS-80: no list is the empty list; order does not matter; absent is not empty.
#[test]
fn keys_are_sets() {
    assert_eq!(PortKey::of(None), PortKey::of(Some(&[])));
    let ports: Vec<EndpointPort> =
        object(json!([{"name": "a", "port": 1}, {"name": "", "port": 2}, {"port": 2}]));
    let reversed: Vec<EndpointPort> = ports.iter().rev().cloned().collect();
    assert_eq!(PortKey::of(Some(&ports)), PortKey::of(Some(&reversed)));
    assert_ne!(PortKey::of(Some(&ports[1..2])), PortKey::of(Some(&ports[2..])));
}

/// Ports that are alike but for the number, one of which may be unresolved, are looked up as the endpoint ports that they lead to.
#[test]
fn numbers_that_lead_to_the_same_ports_are_looked_up_as_one() {
    let ports = json!([
        {"name": "a", "port": 1}, {"name": "a", "port": 2, "protocol": "TCP"}, {"name": "b", "port": 3},
        {"name": "a", "port": 4, "protocol": "UDP"}, {"name": "a", "port": 5, "appProtocol": "x"},
    ]);
    let service = with(&service(), "/spec/ports", ports);
    for app_protocol in [true, false] {
        let config = Config { app_protocol, ..Config::pods() };
        let alike = Alike::of(&service, &config);
        let choices = [None, Some(1), Some(2)];
        let number = |at: usize, place: u32| choices[at / 3_usize.pow(place) % 3];
        let all: Vec<_> =
            (0..243).map(|at| [0, 1, 2, 3, 4].map(|place| number(at, place))).collect();
        for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
            let ports = [one, other].map(|numbers| resolved(&service, numbers, &config));
            let same = PortKey::of(Some(&ports[0])) == PortKey::of(Some(&ports[1]));
            assert_eq!(alike.resolved(one) == alike.resolved(other), same, "{one:?}, {other:?}");
        }
    }
}

/// Hashes and order of the original.
#[test]
fn hashes_are_those_of_the_original() {
    for (ports, hash) in [
        (json!([]), "b823fa277840572f948b7ebdb09f7a1d"),
        (
            json!([{"name": "", "protocol": "TCP", "port": 8080}]),
            "9207c6ac1b8f032fc1c6f6954720fed7",
        ),
        (json!([{"protocol": "TCP", "port": 8080}]), "66a3a3b65d492fdf8c3824884e482778"),
        (
            json!([{"name": "http", "protocol": "TCP", "port": 8080, "appProtocol": "kubernetes.io/h2c"}]),
            "ca6645587a86de054144c4747138770a",
        ),
    ] {
        assert_eq!(PortKey::hash(&object::<Vec<EndpointPort>>(ports)), hash);
    }
    let ports: Vec<EndpointPort> = object(json!([
        {"name": "tcp-example", "protocol": "TCP", "port": 80},
        {"name": "udp-example", "protocol": "UDP", "port": 161},
        {"name": "sctp-example", "protocol": "SCTP", "port": 3456},
    ]));
    assert_eq!(PortKey::hash(&ports), "f5ebada0ff5e4e36605c05e8976a5343");
    let ordered = PortKey::order(ports);
    let names: Vec<_> = ordered.iter().filter_map(|port| port.name.as_deref()).collect();
    assert_eq!(names, ["udp-example", "tcp-example", "sctp-example"]);
}
