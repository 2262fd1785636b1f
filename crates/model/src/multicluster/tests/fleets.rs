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
    prop::collection::vec((1..4_i64, properties()), 1..=CLUSTERS.len()).prop_map(|exports| {
        let named = CLUSTERS.into_iter().zip(exports);
        named.map(|(cluster, (since, properties))| export(cluster, since, properties)).collect()
    })
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
        prop_assert_eq!(&resolved_after(&exports, &once), &once);
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
