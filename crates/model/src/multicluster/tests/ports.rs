//! The union of ports, and what it withholds from whom.

use super::*;

/// Exports of two clusters, the union, and what the younger one gets no traffic on.
#[test]
fn the_union_is_what_a_service_can_have() {
    for (oldest, newer, union, withheld) in [
        (
            &["tcp 42/TCP", "udp 42/UDP"][..],
            &["tcp 42/TCP", "stcp 142/SCTP"][..],
            &["tcp 42/TCP", "udp 42/UDP", "stcp 142/SCTP"][..],
            &[][..],
        ),
        (&["tcp 42/TCP", "udp 42/UDP"], &["tcp 43/TCP"], &["tcp 42/TCP", "udp 42/UDP"], &["tcp"]),
        (&["tcp 42/TCP"], &["tcp2 4242/TCP"], &["tcp 42/TCP", "tcp2 4242/TCP"], &[]),
        (&["http 80/TCP"], &["web 80/TCP"], &["http 80/TCP"], &["web"]),
        (&[" 80/TCP"], &["http 80/TCP"], &[" 80/TCP"], &["http"]),
    ] {
        let found = resolved(&[
            export("newer", 2, with_ports(newer)),
            export("oldest", 1, with_ports(oldest)),
        ]);
        assert_eq!(found.spec.properties.ports, ports(union));
        assert_eq!(reasons(&found), "PortConflict", "{oldest:?} {newer:?}");
        let [of_newer, of_oldest] = &found.spec.exporters[..] else { panic!("{found:?}") };
        assert_eq!((&*of_newer.withheld, &*of_oldest.withheld), (&texts(withheld)[..], &[][..]));
    }
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The same ports in another order, and harmless unions.
#[test]
fn ports_are_compared_as_sets() {
    let one = with_ports(&["a 1/TCP", "b 2/TCP"]);
    let other = with_ports(&["b 2/TCP", "a 1/TCP"]);
    assert_eq!(reasons(&resolved(&[export("x", 1, one.clone()), export("y", 2, other)])), "");
    let mut grpc = one.clone();
    grpc.ports[0].app_protocol = Some("grpc".to_owned());
    let found = resolved(&[export("x", 1, one), export("y", 2, grpc)]);
    assert_eq!(reasons(&found), "PortConflict");
    assert!(found.spec.exporters.iter().all(|exporter| exporter.withheld.is_empty()));
}

/// A third cluster's port is measured against the union, not against the winner.
#[test]
fn every_exporter_is_measured_against_the_union() {
    let found = resolved(&[
        export("a", 1, with_ports(&["http 80/TCP"])),
        export("b", 2, with_ports(&["admin 81/TCP"])),
        export("c", 3, with_ports(&["admin 81/TCP", "web 80/TCP", "http 81/TCP"])),
    ]);
    assert_eq!(found.spec.properties.ports, ports(&["http 80/TCP", "admin 81/TCP"]));
    assert_eq!(found.spec.exporters[2].withheld, ["web", "http"]);
}

#[test]
fn a_union_has_at_most_a_hundred_ports() {
    let many = |from: i32| ServiceProperties {
        ports: (from..from + 60)
            .map(|port| ServicePort { name: format!("p{port}"), port, ..ServicePort::default() })
            .collect(),
        ..ServiceProperties::default()
    };
    let found = resolved(&[export("a", 1, many(1)), export("b", 2, many(101))]);
    assert_eq!(found.spec.properties.ports.len(), 100);
    assert_eq!(found.spec.exporters[1].withheld.len(), 20);
}

/// Names without use must not fill an object that all members read.
#[test]
fn exports_whose_withheld_ports_find_no_room_are_refused() {
    let clashing = |cluster: usize| ServiceProperties {
        ports: (1..101)
            .map(|port| ServicePort {
                name: format!("{cluster:04}-{port:03}{}", "x".repeat(55)),
                port,
                ..ServicePort::default()
            })
            .collect(),
        ..ServiceProperties::default()
    };
    let names: Vec<String> = (0..40).map(|cluster| format!("c{cluster:02}")).collect();
    let exports: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(at, cluster)| Export {
            cluster,
            since: Timestamp::from_second(1).unwrap(),
            properties: Cow::Owned(clashing(at)),
        })
        .collect();
    let found = resolved(&exports);
    let kept = found.spec.exporters.len();
    assert!(kept > 10 && kept + found.refused.len() == 40, "{kept}");
    assert_eq!(found.refused, names[kept..], "the youngest find no room");
    let written = serde_json::to_string(&found.spec.exporters).unwrap().len();
    assert!(written < 160 << 10, "{written}");
    let again: Vec<_> = exports.into_iter().rev().collect();
    assert_eq!(resolved_after(&again, &found), found);
}
