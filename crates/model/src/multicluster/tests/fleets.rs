//! Random fleets: the result depends on the exports alone.

use std::collections::HashSet;

use fleet_api::limits::{exported, resolved as bounds};
use fleet_api::multicluster::{InternalTrafficPolicy, IpFamily, ServiceType, SessionAffinity};
use proptest::prelude::*;

use super::*;

const CLUSTERS: [&str; 5] = ["a", "b", "c", "d", "e"];

fn port() -> impl Strategy<Value = ServicePort> {
    ("[ab]?", prop_oneof![Just("TCP"), Just("UDP")], 1..4_i32).prop_map(|(name, protocol, port)| {
        ServicePort { name, protocol: protocol.into(), port, app_protocol: None }
    })
}

fn properties() -> impl Strategy<Value = ServiceProperties> {
    let ports = prop::collection::vec(port(), 0..4);
    let families = prop::sample::subsequence(vec![IpFamily::IPv4, IpFamily::IPv6], 0..=2);
    let labels = prop::collection::btree_map("[xy]", "[12]", 0..3);
    (ports, families, labels, any::<[bool; 3]>(), prop::option::of(1..3_i32)).prop_map(
        |(mut ports, ip_families, labels, [headless, sticky, local], affinity_timeout_seconds)| {
            let mut seen = HashSet::new();
            ports.retain(|port| {
                seen.insert(port.name.clone())
                    && seen.insert(format!("{}/{}", port.port, port.protocol.as_str()))
            });
            ServiceProperties {
                type_: if headless { ServiceType::Headless } else { ServiceType::ClusterSetIP },
                ports,
                session_affinity: if sticky {
                    SessionAffinity::ClientIP
                } else {
                    SessionAffinity::None
                },
                affinity_timeout_seconds,
                internal_traffic_policy: if local {
                    InternalTrafficPolicy::Local
                } else {
                    InternalTrafficPolicy::Cluster
                },
                ip_families,
                labels,
                ..ServiceProperties::default()
            }
        },
    )
}

/// Up to five exports, some of one age.
fn exports() -> impl Strategy<Value = Vec<Export<'static>>> {
    let precedence =
        prop::sample::select(vec![Precedence::ByAge, Precedence::ByAge, Precedence::Yields]);
    prop::collection::vec((1..4_i64, properties(), precedence), 1..=CLUSTERS.len()).prop_map(
        |all| {
            let named = CLUSTERS.into_iter().zip(all);
            let export = |(cluster, (since, properties, precedence))| Export {
                precedence,
                ..export(cluster, since, properties)
            };
            named.map(export).collect()
        },
    )
}

/// The same exports, and what is to change for the silence of their members.
fn with(
    exports: &[Export<'static>],
    precedence: impl Fn(Precedence) -> Precedence,
) -> Vec<Export<'static>> {
    let of = |export: &Export<'static>| Export {
        precedence: precedence(export.precedence),
        ..export.clone()
    };
    exports.iter().map(of).collect()
}

proptest! {
    #[test]
    fn the_order_of_arrival_never_matters(exports in exports(), before in properties()) {
        let expected = resolve(&service(), &exports, Some(former(&before)));
        let mut order = exports;
        permute(&mut order, 0, &mut |order| {
            assert_eq!(resolve(&service(), order, Some(former(&before))), expected);
        });
    }

    /// A hub agent that starts anew over the same exports writes nothing.
    #[test]
    fn what_is_in_force_stays(exports in exports(), before in properties()) {
        let once = resolve(&service(), &exports, Some(former(&before))).unwrap();
        prop_assert_eq!(&resolved_after(&exports, &once).spec, &once.spec);
    }

    /// Mass silence, a hub agent that has just started, a watch that has broken off: what yielded stays so, and nothing else does.
    #[test]
    fn what_is_not_certain_moves_nothing(exports in exports(), before in properties()) {
        let once = resolve(&service(), &exports, Some(former(&before))).unwrap();
        let as_before = |it| if it == Precedence::Yields { Precedence::AsBefore } else { it };
        let found = resolved_after(&with(&exports, as_before), &once);
        prop_assert_eq!(&found.spec, &once.spec);
        // And where none had yielded before.
        let plain = resolved_after(&with(&exports, |_| Precedence::ByAge), &once);
        let found = resolved_after(&with(&exports, as_before), &plain);
        prop_assert_eq!(&found.spec.properties, &plain.spec.properties);
        prop_assert_eq!(&found.spec.exporters, &plain.spec.exporters);
    }

    /// Ports of the oldest export whose age counts are in force, unless others whose age counts contradict them.
    #[test]
    fn silent_members_take_no_port_from_others(exports in exports()) {
        let found = resolve(&service(), &exports, None).unwrap();
        let others: Vec<_> = exports.iter().filter(|it| it.precedence.is_by_age()).collect();
        let Some(oldest) = others.iter().min_by_key(|export| export.age()) else { return Ok(()) };
        prop_assert_eq!(found.spec.properties.type_, oldest.type_());
        let exporter = found.spec.exporters.iter().find(|it| it.cluster == oldest.cluster).unwrap();
        for port in oldest.properties.ports.iter().filter(|it| exporter.withheld.contains(&it.name)) {
            let mut ports = others.iter().flat_map(|export| &export.properties.ports);
            let number = |port: &ServicePort| (port.protocol.clone(), port.port);
            let is_contradicted =
                ports.any(|other| (other.name == port.name) != (number(other) == number(port)));
            prop_assert!(is_contradicted);
        }
    }

    #[test]
    fn the_result_is_valid(exports in exports(), before in properties()) {
        let found = resolve(&service(), &exports, Some(former(&before))).unwrap();
        let spec = &found.spec;
        prop_assert!(super::super::ports::are_unique(&spec.properties.ports));
        prop_assert!(spec.properties.ports.len() <= exported::PORTS.accepted);
        let longest = spec.conflicts.iter().map(|conflict| conflict.message.chars().count()).max();
        prop_assert!(longest <= Some(bounds::MESSAGE.accepted));
        prop_assert!(spec.conflicts.is_sorted_by_key(|conflict| conflict.reason));
        prop_assert_eq!(spec.exporters.len(), exports.len());
        prop_assert!(exports.iter().any(|export| export.cluster == spec.winner));
        // Traffic to a port goes to exporters that have it as it is in force, and to no others.
        for exporter in &spec.exporters {
            let own = exports.iter().find(|export| export.cluster == exporter.cluster).unwrap();
            for port in &own.properties.ports {
                let is_in_force = spec.properties.ports.iter().any(|other| {
                    (&other.name, &other.protocol, other.port) == (&port.name, &port.protocol, port.port)
                });
                prop_assert_eq!(exporter.withheld.contains(&port.name), !is_in_force);
            }
        }
    }
}

/// Calls with every order of the exports.
fn permute<'a>(order: &mut Vec<Export<'a>>, from: usize, each: &mut impl FnMut(&[Export<'a>])) {
    if from == order.len() {
        return each(order);
    }
    for at in from..order.len() {
        order.swap(from, at);
        permute(order, from + 1, each);
        order.swap(from, at);
    }
}
