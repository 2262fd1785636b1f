//! The union of ports, and what it withholds from whom.

use super::*;
use crate::multicluster::ports::{are_unique, is_valid};

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

/// An empty name is a name, and a number is one per protocol.
#[test]
fn names_and_numbers_are_taken_once() {
    let union = |oldest: &[&str], newer: &[&str]| {
        let found =
            resolved(&[export("a", 1, with_ports(oldest)), export("b", 2, with_ports(newer))]);
        (found.spec.properties.ports, found.spec.exporters[1].withheld.clone())
    };
    assert_eq!(union(&[" 80/TCP"], &[" 81/TCP"]), (ports(&[" 80/TCP"]), texts(&[""])));
    assert_eq!(
        union(&["dns 53/UDP"], &["dns-tcp 53/TCP"]),
        (ports(&["dns 53/UDP", "dns-tcp 53/TCP"]), vec![])
    );
    // The name counts before the number: a port of the same name is never added under another protocol.
    assert_eq!(union(&["dns 53/UDP"], &["dns 53/TCP"]), (ports(&["dns 53/UDP"]), texts(&["dns"])));
    // One that was skipped takes nothing.
    assert_eq!(
        union(&["a 1/TCP"], &["a 2/TCP", "b 2/TCP"]),
        (ports(&["a 1/TCP", "b 2/TCP"]), texts(&["a"]))
    );
}

/// The order is that of the exports, the winner first, whatever their ports are called.
#[test]
fn the_union_is_in_the_order_of_age() {
    let found = resolved(&[
        export("a", 3, with_ports(&["a 1/TCP", "z 9/TCP"])),
        export("b", 2, with_ports(&["m 5/TCP"])),
        export("c", 1, with_ports(&["z 8/TCP"])),
    ]);
    assert_eq!(found.spec.properties.ports, ports(&["z 8/TCP", "m 5/TCP", "a 1/TCP"]));
    assert_eq!(found.spec.exporters[0].withheld, ["z"]);
}

/// The application protocol is a hint: the winner's is in force, and the others' endpoints get traffic all the same.
#[test]
fn the_application_protocol_is_the_winners() {
    let spoken = |app: Option<&str>| {
        let mut properties = with_ports(&["http 80/TCP"]);
        properties.ports[0].app_protocol = app.map(str::to_owned);
        properties
    };
    for (oldest, newer) in [(Some("grpc"), None), (None, Some("grpc"))] {
        let found = resolved(&[export("a", 1, spoken(oldest)), export("b", 2, spoken(newer))]);
        assert_eq!(found.spec.properties.ports[0].app_protocol.as_deref(), oldest);
        assert_eq!(
            (&*reasons(&found), found.spec.exporters[1].withheld.len()),
            ("PortConflict", 0)
        );
    }
}

/// Ports follow the exports at once, and one that was skipped comes into force when its rival leaves.
#[test]
fn ports_go_with_their_exporter() {
    let (first, second) =
        (export("a", 1, with_ports(&["http 80/TCP"])), export("b", 2, with_ports(&["web 80/TCP"])));
    let both = resolved(&[first, second.clone()]);
    let left = resolved_after(&[second], &both);
    assert_eq!(left.spec.properties.ports, ports(&["web 80/TCP"]));
    assert!(left.spec.exporters[0].withheld.is_empty());
}

/// Headless Services may have no ports.
#[test]
fn no_ports_are_a_set_of_ports() {
    let none = with_ports(&[]);
    let found = resolved(&[export("a", 1, none.clone()), export("b", 2, none.clone())]);
    assert_eq!((found.spec.properties.ports.len(), &*reasons(&found)), (0, ""));
    let found = resolved(&[export("a", 1, none), export("b", 2, with_ports(&["a 1/TCP"]))]);
    assert_eq!((found.spec.properties.ports.len(), &*reasons(&found)), (1, "PortConflict"));
}

/// What no Service can have would keep importers from making theirs.
#[test]
fn ports_are_those_of_a_service() {
    for text in [" 1/TCP", "http 65535/UDP", "a-1 80/SCTP"] {
        assert!(is_valid(&ports(&[text])[0]), "{text}");
    }
    for text in ["HTTP 80/TCP", "-a 80/TCP", "a.b 80/TCP", "a 0/TCP", "a 65536/TCP", "a 80/TLS"] {
        assert!(!is_valid(&ports(&[text])[0]), "{text}");
    }
    let long = format!("{} 80/TCP", "x".repeat(64));
    assert!(!is_valid(&ports(&[&long])[0]));
    let spoken = |app: &str| {
        let port = ports(&["a 1/TCP"]).remove(0);
        is_valid(&ServicePort { app_protocol: Some(app.to_owned()), ..port })
    };
    assert!(spoken("grpc") && spoken("example.com/tls") && spoken("kubernetes.io/h2c"));
    assert!(!spoken("") && !spoken("a b") && !spoken("a/b/c"));
}

#[test]
fn two_ports_of_one_export_are_told_apart() {
    for (texts, unique) in [
        (&["a 1/TCP", "b 2/TCP"][..], true),
        (&["a 1/TCP", "b 1/UDP"], true),
        (&["a 1/TCP", "a 2/TCP"], false),
        (&["a 1/TCP", "b 1/TCP"], false),
        (&[" 1/TCP", " 2/TCP"], false),
        (&[], true),
    ] {
        assert_eq!(are_unique(&ports(texts)), unique, "{texts:?}");
    }
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

/// The oldest exports count, and the object stays within its bound.
#[test]
fn a_service_has_at_most_1024_exporters() {
    let names: Vec<String> = (0..1030).map(|cluster| format!("c{cluster:04}")).collect();
    let exports = names.iter().enumerate().map(|(at, cluster)| Export {
        cluster,
        since: Timestamp::from_second(i64::try_from(at).unwrap()).unwrap(),
        precedence: Precedence::ByAge,
        properties: Cow::Owned(with_ports(&["a 1/TCP"])),
    });
    let found = resolved(&exports.rev().collect::<Vec<_>>());
    assert_eq!(found.spec.exporters.len(), 1024);
    assert!(found.refused.iter().eq(&names[1024..]));
}

/// A hundred ports with long names, of the numbers that all clusters use.
fn clashing(cluster: usize) -> ServiceProperties {
    let port = |port| ServicePort {
        name: format!("{cluster:04}-{port:03}{}", "x".repeat(55)),
        port,
        ..ServicePort::default()
    };
    ServiceProperties { ports: (1..101).map(port).collect(), ..ServiceProperties::default() }
}

/// Names without use must not fill an object that all members read.
#[test]
fn exports_whose_withheld_ports_find_no_room_are_refused() {
    let names: Vec<String> = (0..40).map(|cluster| format!("c{cluster:02}")).collect();
    let exports: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(at, cluster)| Export {
            cluster,
            since: Timestamp::from_second(1).unwrap(),
            precedence: Precedence::ByAge,
            properties: Cow::Owned(clashing(at)),
        })
        .collect();
    let found = resolved(&exports);
    let kept = found.spec.exporters.len();
    assert!(kept > 10 && kept + found.refused.len() == 40, "{kept}");
    assert!(found.refused.iter().eq(&names[kept..]), "the youngest find no room");
    let written = serde_json::to_string(&found.spec.exporters).unwrap().len();
    assert!(written < 160 << 10, "{written}");
    let again: Vec<_> = exports.into_iter().rev().collect();
    assert_eq!(resolved_after(&again, &found), found);
}

/// A member states when its export began, and may state anything.
#[test]
fn an_export_that_claims_to_be_older_takes_no_place_from_one_in_force() {
    let names: Vec<String> = (0..1024).map(|cluster| format!("c{cluster:04}")).collect();
    let of = |cluster, second| Export {
        cluster,
        since: Timestamp::from_second(second).unwrap(),
        precedence: Precedence::ByAge,
        properties: Cow::Owned(with_ports(&["a 1/TCP"])),
    };
    let mut exports: Vec<_> = names.iter().map(|cluster| of(cluster, 10)).collect();
    let before = resolved(&exports);
    exports.push(of("late", 1));
    let found = resolved_after(&exports, &before);
    assert_eq!(found.spec.exporters, before.spec.exporters);
    assert!(found.refused.iter().eq(["late"]));
    exports.remove(0);
    let found = resolved_after(&exports, &before);
    assert!(found.spec.exporters.iter().any(|exporter| exporter.cluster == "late"));
    assert_eq!((found.spec.exporters.len(), found.refused.len()), (1024, 0));
}

/// Its ports would come first, and those of all others be withheld.
#[test]
fn an_export_whose_ports_leave_no_room_for_others_is_refused() {
    let names: Vec<String> = (0..40).map(|cluster| format!("c{cluster:02}")).collect();
    let of = |cluster, second, ports| Export {
        cluster,
        since: Timestamp::from_second(second).unwrap(),
        precedence: Precedence::ByAge,
        properties: Cow::Owned(clashing(ports)),
    };
    let mut exports: Vec<_> = names.iter().map(|cluster| of(cluster, 10, 0)).collect();
    let before = resolved(&exports);
    assert_eq!(before.spec.exporters.len(), 40);
    exports.push(of("hostile", 1, 1));
    exports.push(of("late", 20, 0));
    let found = resolved_after(&exports, &before);
    assert!(found.refused.iter().eq(["hostile"]), "the next one has room");
    assert_eq!(found.spec.properties.ports, before.spec.properties.ports);
    assert_eq!(resolved_after(&exports, &found), found);
}
