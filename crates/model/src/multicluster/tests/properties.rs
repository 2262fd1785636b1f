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
    assert_eq!(resolve(&service(), &[], Some(former(&plain()))), None);
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
    let alone = resolved(std::slice::from_ref(&new));
    assert_eq!(alone.spec.properties.type_, ServiceType::Headless);
    let joined = resolved_after(&[old.clone(), new.clone()], &alone);
    assert_eq!((joined.spec.properties.type_, &*joined.spec.winner), (ServiceType::Headless, "b"));
    let left = resolved_after(&[old], &joined);
    assert_eq!((left.spec.properties.type_, &*left.spec.winner), (ServiceType::ClusterSetIP, "a"));
}

/// The winner is the oldest of the type in force, not the oldest of all, and the message contains that.
#[test]
fn an_older_export_of_another_type_decides_nothing() {
    let local = |properties: ServiceProperties| ServiceProperties {
        internal_traffic_policy: InternalTrafficPolicy::Local,
        ports: ports(&["other 81/TCP"]),
        ..properties
    };
    let before = resolved(&[export("b", 2, headless()), export("c", 3, headless())]);
    let old = export("a", 1, local(plain()));
    let all = [old, export("b", 2, headless()), export("c", 3, headless())];
    let found = resolved_after(&all, &before);
    let properties = &found.spec.properties;
    assert_eq!((&*found.spec.winner, properties.type_), ("b", ServiceType::Headless));
    assert_eq!(properties.internal_traffic_policy, InternalTrafficPolicy::Cluster);
    assert_eq!(properties.ports, ports(&["http 80/TCP", "other 81/TCP"]));
    assert_eq!(
        found.spec.conflicts[0].message,
        "In force: type Headless of b, which has the oldest export of the type in force; 1 of 3 clusters differs: a"
    );
    // Between those of the type in force, the next oldest follows.
    let left = resolved_after(&[all[0].clone(), all[2].clone()], &found);
    assert_eq!((&*left.spec.winner, left.spec.properties.type_), ("c", ServiceType::Headless));
}

/// Exports that were faster to come back to a hub that was built anew are no reason to take another one's addresses away.
#[test]
fn type_and_families_that_are_provisional_are_those_of_the_oldest() {
    let young = ServiceProperties { ip_families: vec![IpFamily::IPv4], ..headless() };
    let old = with_families(&[IpFamily::IPv6, IpFamily::IPv4]);
    let before = resolved(&[export("b", 2, young.clone())]).spec;
    let all = [export("a", 1, old.clone()), export("b", 2, young)];
    let in_force = InForce { exporters: &before.exporters, ..former(&before.properties) };
    let stays = resolve(&service(), &all, Some(in_force)).unwrap().spec;
    assert_eq!((stays.properties.type_, &*stays.winner), (ServiceType::Headless, "b"));
    let in_force = InForce { is_provisional: true, ..in_force };
    let found = resolve(&service(), &all, Some(in_force)).unwrap().spec;
    assert_eq!((found.properties.type_, &*found.winner), (ServiceType::ClusterSetIP, "a"));
    assert_eq!(found.properties.ip_families, old.ip_families);
}

/// Nothing sticks to a Service without exports: what was in force is over.
#[test]
fn without_anything_in_force_the_oldest_decides_the_type() {
    for (first, type_) in
        [(headless(), ServiceType::Headless), (plain(), ServiceType::ClusterSetIP)]
    {
        let other = if type_ == ServiceType::Headless { plain() } else { headless() };
        let found = resolved(&[export("b", 2, other), export("a", 1, first)]);
        assert_eq!((found.spec.properties.type_, &*found.spec.winner), (type_, "a"));
    }
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

/// What joins, or what the winner changes, adds no family: importers would need another address.
#[test]
fn families_in_force_never_widen() {
    let four = with_families(&[IpFamily::IPv4]);
    let dual = with_families(&[IpFamily::IPv4, IpFamily::IPv6]);
    let before = resolved(&[export("b", 2, four.clone())]);
    let older = [export("a", 1, dual.clone()), export("b", 2, four)];
    let joined = resolved_after(&older, &before);
    assert_eq!((&*joined.spec.winner, &*reasons(&joined)), ("a", ""), "more families do no harm");
    assert_eq!(joined.spec.properties.ip_families, [IpFamily::IPv4]);
    let alone = resolved_after(&[export("a", 1, dual.clone())], &joined);
    assert_eq!(alone.spec.properties.ip_families, [IpFamily::IPv4]);
    let edited = resolved_after(&[export("b", 2, dual)], &before);
    assert_eq!(edited.spec.properties.ip_families, [IpFamily::IPv4]);
}

/// A family goes with the last export that has it, the others stay in their order.
#[test]
fn families_in_force_shrink_and_keep_their_order() {
    let dual = with_families(&[IpFamily::IPv6, IpFamily::IPv4]);
    let other = with_families(&[IpFamily::IPv4, IpFamily::IPv6]);
    let both = resolved(&[export("a", 1, dual), export("b", 2, other.clone())]);
    let order = [IpFamily::IPv6, IpFamily::IPv4];
    assert_eq!((both.spec.properties.ip_families.as_slice(), &*reasons(&both)), (&order[..], ""));
    let left = resolved_after(&[export("b", 2, other)], &both);
    assert_eq!(left.spec.properties.ip_families, order);
    let four = resolved_after(&[export("c", 3, with_families(&[IpFamily::IPv4]))], &left);
    assert_eq!(four.spec.properties.ip_families, [IpFamily::IPv4]);
}

/// Without a family no importer could give the Service an address, although others export it.
#[test]
fn a_winner_without_families_takes_them_from_nobody() {
    let six = with_families(&[IpFamily::IPv6]);
    let found = resolved(&[export("a", 1, plain()), export("b", 2, six)]);
    assert_eq!(found.spec.properties.ip_families, [IpFamily::IPv6]);
    assert_eq!((&*found.spec.winner, &*reasons(&found)), ("a", "IPFamilyConflict"));
    assert_eq!(
        found.spec.conflicts[0].message,
        "In force: ipFamilies IPv6 as long as a cluster has them; a has the oldest export; 1 of 2 clusters differs: a"
    );
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

/// Clients of headless Services choose an address themselves.
#[test]
fn headless_exports_do_not_differ_in_affinity() {
    let sticky = ServiceProperties { session_affinity: SessionAffinity::ClientIP, ..plain() };
    let stray = ServiceProperties { session_affinity: SessionAffinity::ClientIP, ..headless() };
    for (oldest, newer) in [
        (sticky.clone(), headless()),
        (headless(), sticky),
        (headless(), ServiceProperties { affinity_timeout_seconds: Some(5), ..plain() }),
    ] {
        let found = resolved(&[export("a", 1, oldest), export("b", 2, newer)]);
        assert_eq!(reasons(&found), "TypeConflict");
    }
    let found = resolved(&[export("a", 1, headless()), export("b", 2, stray)]);
    assert_eq!(reasons(&found), "");
}

/// The timeout in force is the winner's, with the default of Kubernetes, and none without affinity.
#[test]
fn the_timeout_in_force_is_the_winners() {
    let sticky = |timeout| ServiceProperties {
        session_affinity: SessionAffinity::ClientIP,
        affinity_timeout_seconds: timeout,
        ..plain()
    };
    let in_force = |exports: &[Export<'_>]| {
        let properties = resolved(exports).spec.properties;
        (properties.session_affinity, properties.affinity_timeout_seconds)
    };
    let (none, stays) = (SessionAffinity::None, SessionAffinity::ClientIP);
    let (default, short) = (sticky(None), sticky(Some(10)));
    let [a, b] = [export("a", 1, default.clone()), export("b", 2, short.clone())];
    assert_eq!(in_force(&[a, b]), (stays, Some(10_800)));
    assert_eq!(
        in_force(&[export("a", 2, default), export("b", 1, short.clone())]),
        (stays, Some(10))
    );
    assert_eq!(in_force(&[export("a", 1, plain()), export("b", 2, short)]), (none, None));
    let stray = ServiceProperties { affinity_timeout_seconds: Some(5), ..plain() };
    assert_eq!(in_force(&[export("a", 1, stray)]), (none, None));
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
        "In force: one exported label of a, which has the oldest export; 1 of 3 clusters differs: c"
    );
}

fn annotated(pairs: &[(&str, &str)]) -> ServiceProperties {
    ServiceProperties { annotations: labelled(pairs).labels, ..plain() }
}

/// The same for annotations, whose values may be anything.
#[test]
fn exported_annotations_are_those_of_the_winner_without_reserved_keys() {
    let reserved = ("multicluster.kubernetes.io/derived-service", "victim");
    let found = resolved(&[
        export("a", 1, annotated(&[("note", "any text; of /all/ kinds"), reserved])),
        export("b", 2, annotated(&[("note", "any text; of /all/ kinds"), ("k8s.io/a", "b")])),
        export("c", 3, annotated(&[("other", "a"), ("more", "b")])),
    ]);
    let taken = annotated(&[("note", "any text; of /all/ kinds")]).annotations;
    assert_eq!(found.spec.properties.annotations, taken);
    assert_eq!(reasons(&found), "AnnotationsConflict");
    let left = resolved_after(&[export("c", 3, annotated(&[("other", "a")]))], &found);
    let taken = annotated(&[("other", "a")]).annotations;
    assert_eq!((left.spec.properties.annotations.clone(), &*reasons(&left)), (taken, ""));
}

/// Labels and annotations are two sets.
#[test]
fn a_label_is_no_annotation() {
    let found = resolved(&[
        export("a", 1, labelled(&[("team", "a")])),
        export("b", 2, annotated(&[("team", "a")])),
    ]);
    assert_eq!(reasons(&found), "LabelsConflict,AnnotationsConflict");
    assert!(found.spec.properties.annotations.is_empty());
}

/// Policies after the defaults of Kubernetes: a hint that is absent is a value, too.
#[test]
fn policies_of_the_winner_are_in_force_and_differ_by_value() {
    let hinted = |hint: Option<&str>| ServiceProperties {
        traffic_distribution: hint.map(str::to_owned),
        ..plain()
    };
    let far = Some("PreferSomethingNew");
    for (oldest, newer, expected) in [
        (far, far, ""),
        (far, None, "TrafficDistributionConflict"),
        (None, far, "TrafficDistributionConflict"),
        (None, None, ""),
    ] {
        let found = resolved(&[export("a", 1, hinted(oldest)), export("b", 2, hinted(newer))]);
        assert_eq!(reasons(&found), expected);
        assert_eq!(found.spec.properties.traffic_distribution.as_deref(), oldest);
    }
    let local =
        ServiceProperties { internal_traffic_policy: InternalTrafficPolicy::Local, ..plain() };
    let found = resolved(&[export("a", 1, plain()), export("b", 2, local)]);
    assert_eq!(reasons(&found), "InternalTrafficPolicyConflict");
    assert_eq!(found.spec.properties.internal_traffic_policy, InternalTrafficPolicy::Cluster);
}

/// A conflict is about all exports, so all users read the same, the winner's as well.
#[test]
fn one_export_agrees_with_itself() {
    let odd = ServiceProperties {
        session_affinity: SessionAffinity::ClientIP,
        internal_traffic_policy: InternalTrafficPolicy::Local,
        labels: labelled(&[("kubernetes.io/a", "b"), ("a", "b")]).labels,
        ..with_families(&[IpFamily::IPv6])
    };
    assert_eq!(reasons(&resolved(&[export("a", 1, odd)])), "");
}

/// Order of the exporters: by name, so that the object does not change with their age.
#[test]
fn exporters_are_listed_by_name() {
    let exports = [export("c", 1, plain()), export("a", 2, plain()), export("b", 3, headless())];
    let found = resolved(&exports);
    let listed: Vec<_> = found.spec.exporters.iter().map(|exporter| &*exporter.cluster).collect();
    assert_eq!((listed, &*found.spec.winner), (vec!["a", "b", "c"], "c"));
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
    let free = ServiceProperties { session_affinity: SessionAffinity::None, ..winner.clone() };
    let found = resolved(&[
        export("a", 1, winner),
        export("b", 2, odd),
        export("c", 3, slow),
        export("d", 4, free),
    ]);
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
        precedence: Precedence::ByAge,
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
