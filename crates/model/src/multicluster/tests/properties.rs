//! Who decides what.

use fleet_api::multicluster::{
    ConflictReason, InternalTrafficPolicy, IpFamily, ServiceType, SessionAffinity,
};

use super::*;

fn plain() -> ServiceProperties {
    with_ports(&["http 80/TCP"])
}

fn headless() -> ServiceProperties {
    ServiceProperties { type_: ServiceType::Headless, ..plain() }
}

fn with_families(ip_families: &[IpFamily]) -> ServiceProperties {
    ServiceProperties { ip_families: ip_families.to_vec(), ..plain() }
}

#[test]
fn without_exports_nothing_is_resolved() {
    assert_eq!(resolve(&service(), &[], Some(&plain())), None);
}

#[test]
fn the_oldest_export_decides_and_the_name_between_equals() {
    let local = ServiceProperties {
        internal_traffic_policy: InternalTrafficPolicy::Local,
        traffic_distribution: Some("PreferClose".to_owned()),
        ..plain()
    };
    for (since, winner) in [(1, "b"), (2, "a"), (3, "a")] {
        let found = resolved(&[export("a", 2, plain()), export("b", since, local.clone())]);
        assert_eq!(found.spec.winner, winner);
        let is_local =
            found.spec.properties.internal_traffic_policy == InternalTrafficPolicy::Local;
        assert_eq!(is_local, winner == "b");
        assert_eq!(found.spec.properties.traffic_distribution.is_some(), winner == "b");
        assert_eq!(reasons(&found), "InternalTrafficPolicyConflict,TrafficDistributionConflict");
    }
}

/// An address is not taken away because the oldest export left, nor because an older one comes.
#[test]
fn the_type_in_force_stays_while_any_export_has_it() {
    let (old, new) = (export("a", 1, plain()), export("b", 2, headless()));
    let both = resolved(&[old.clone(), new.clone()]);
    assert_eq!(
        (both.spec.properties.type_, reasons(&both).as_str()),
        (ServiceType::ClusterSetIP, "TypeConflict")
    );
    let alone = resolved(&[new.clone()]);
    assert_eq!(alone.spec.properties.type_, ServiceType::Headless);
    let joined = resolved_after(&[old.clone(), new.clone()], &alone);
    assert_eq!((joined.spec.properties.type_, &*joined.spec.winner), (ServiceType::Headless, "b"));
    let left = resolved_after(&[old], &joined);
    assert_eq!((left.spec.properties.type_, &*left.spec.winner), (ServiceType::ClusterSetIP, "a"));
}

/// All but type and families follow the new winner at once.
#[test]
fn what_a_winner_decided_goes_with_it() {
    let sticky = ServiceProperties {
        session_affinity: SessionAffinity::ClientIP,
        affinity_timeout_seconds: Some(60),
        ..with_families(&[IpFamily::IPv4])
    };
    let dual = with_families(&[IpFamily::IPv6, IpFamily::IPv4]);
    let (old, new) = (export("a", 1, sticky), export("b", 2, dual));
    let both = resolved(&[old, new.clone()]);
    assert_eq!(both.spec.properties.affinity_timeout_seconds, Some(60));
    let left = resolved_after(&[new], &both);
    let properties = &left.spec.properties;
    assert_eq!(
        (properties.session_affinity, properties.affinity_timeout_seconds),
        (SessionAffinity::None, None)
    );
    assert_eq!(properties.ip_families, [IpFamily::IPv4], "they stay while an export has them");
}

#[test]
fn families_that_nobody_has_any_more_give_way() {
    let (four, six) = (with_families(&[IpFamily::IPv4]), with_families(&[IpFamily::IPv6]));
    let dual = with_families(&[IpFamily::IPv4, IpFamily::IPv6]);
    let before = resolved(&[export("a", 1, dual.clone())]);
    let both = resolved_after(&[export("a", 1, dual), export("b", 2, six.clone())], &before);
    assert_eq!((both.spec.properties.ip_families.len(), &*reasons(&both)), (2, "IPFamilyConflict"));
    let left = resolved_after(&[export("b", 2, six.clone())], &both);
    assert_eq!(
        (left.spec.properties.ip_families.as_slice(), &*reasons(&left)),
        (&[IpFamily::IPv6][..], "")
    );
    let other = resolved_after(&[export("c", 3, four)], &left);
    assert_eq!(other.spec.properties.ip_families, [IpFamily::IPv4]);
}

/// An unset timeout is that of Kubernetes, and one without affinity is none.
#[test]
fn affinity_is_compared_after_defaulting() {
    let sticky = |timeout| ServiceProperties {
        session_affinity: SessionAffinity::ClientIP,
        affinity_timeout_seconds: timeout,
        ..plain()
    };
    let stray = ServiceProperties { affinity_timeout_seconds: Some(5), ..plain() };
    for (one, other, expected) in [
        (sticky(None), sticky(Some(10_800)), ""),
        (sticky(None), sticky(Some(60)), "SessionAffinityConfigConflict"),
        (sticky(None), plain(), "SessionAffinityConflict"),
        (plain(), stray, ""),
    ] {
        let found = resolved(&[export("a", 1, one), export("b", 2, other)]);
        assert_eq!(reasons(&found), expected);
    }
    let headless = ServiceProperties { type_: ServiceType::Headless, ..sticky(None) };
    let found = resolved(&[export("a", 1, headless)]);
    assert_eq!(found.spec.properties.session_affinity, SessionAffinity::None);
    assert_eq!(found.spec.properties.affinity_timeout_seconds, None);
}

fn labelled(pairs: &[(&str, &str)]) -> ServiceProperties {
    let pairs = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    ServiceProperties { labels: pairs, ..plain() }
}

/// The winner's whole set, never a union, and nothing that could change what an import means.
#[test]
fn exported_labels_are_those_of_the_winner_without_reserved_keys() {
    let winner = labelled(&[("team", "a"), ("kubernetes.io/service-name", "other"), ("a b", "c")]);
    let found = resolved(&[
        export("a", 1, winner),
        export("b", 2, labelled(&[("team", "a")])),
        export("c", 3, labelled(&[("stage", "live")])),
    ]);
    assert_eq!(found.spec.properties.labels, labelled(&[("team", "a")]).labels);
    let [conflict] = &found.spec.conflicts[..] else { panic!("{found:?}") };
    assert_eq!(conflict.reason, ConflictReason::LabelsConflict);
    assert_eq!(
        conflict.message,
        "In force: one exported label of a, which has the oldest export; 1 of 3 clusters differ: c"
            .replace("clusters differ", "cluster differs")
    );
}

#[test]
fn all_conflicts_come_in_one_order() {
    let odd = ServiceProperties {
        type_: ServiceType::Headless,
        ports: ports(&["other 81/TCP"]),
        internal_traffic_policy: InternalTrafficPolicy::Local,
        traffic_distribution: Some("PreferClose".to_owned()),
        ip_families: vec![IpFamily::IPv6],
        labels: labelled(&[("a", "b")]).labels,
        annotations: labelled(&[("a", "b")]).labels,
        ..ServiceProperties::default()
    };
    let winner = ServiceProperties {
        session_affinity: SessionAffinity::ClientIP,
        ..with_families(&[IpFamily::IPv4])
    };
    let slow = ServiceProperties { affinity_timeout_seconds: Some(60), ..winner.clone() };
    let found = resolved(&[export("a", 1, winner), export("b", 2, odd), export("c", 3, slow)]);
    let all: Vec<_> = found.spec.conflicts.iter().map(|conflict| conflict.reason).collect();
    assert_eq!(all, ConflictReason::ALL);
}

/// However many clusters differ, and however long the value is.
#[test]
fn messages_are_bounded() {
    let long = ServiceProperties {
        ports: (1..101)
            .map(|port| ServicePort {
                name: format!("{port:03}{}", "x".repeat(60)),
                port,
                app_protocol: Some("y".repeat(317)),
                ..ServicePort::default()
            })
            .collect(),
        ..ServiceProperties::default()
    };
    let names: Vec<String> =
        (0..200).map(|cluster| format!("{cluster:03}{}", "c".repeat(60))).collect();
    let others = names.iter().map(|cluster| Export {
        cluster,
        since: Timestamp::from_second(2).unwrap(),
        properties: Cow::Owned(plain()),
    });
    let exports: Vec<_> = others.chain([export("a", 1, long)]).collect();
    let found = resolved(&exports);
    let [conflict] = &found.spec.conflicts[..] else { panic!("{:?}", found.spec.conflicts) };
    assert!(conflict.message.chars().count() <= 1024, "{}", conflict.message);
    assert!(
        conflict.message.contains("200 of 201 clusters differ: 000ccc"),
        "{}",
        conflict.message
    );
    assert!(conflict.message.ends_with(" and 197 more"), "{}", conflict.message);
}
