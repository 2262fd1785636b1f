use std::collections::BTreeMap;

use serde_json::json;

use super::*;

#[test]
fn an_empty_selector_selects_no_member() {
    let labels = BTreeMap::from([("tier".to_owned(), "burst".to_owned())]);
    assert!(!OriginSelector::default().selects("east", &labels));
    let named = OriginSelector { clusters: vec!["east".to_owned()], ..OriginSelector::default() };
    assert!(named.selects("east", &BTreeMap::new()) && !named.selects("west", &labels));
    let labelled = OriginSelector { match_labels: labels.clone(), ..OriginSelector::default() };
    assert!(labelled.selects("east", &labels) && !labelled.selects("east", &BTreeMap::new()));
}

#[test]
fn seconds_count_only_where_pods_are_stopped() {
    let disconnect = |mode, seconds| Disconnect { mode, seconds }.stop_after();
    assert_eq!(disconnect(DisconnectMode::StopAfter, Some(60)), Some(60));
    assert_eq!(disconnect(DisconnectMode::Keep, Some(60)), None);
    assert_eq!(disconnect(DisconnectMode::StopAfter, None), None);
    assert_eq!(disconnect(DisconnectMode::StopAfter, Some(-1)), None);
}

#[test]
fn terms_that_are_not_given_are_the_strictest() {
    let terms: OffloadTerms = serde_json::from_value(json!({ "namespaces": [] })).unwrap();
    assert_eq!(terms, OffloadTerms::default());
    assert_eq!(terms.policy_profile.level(), "restricted");
    assert_eq!((terms.max_pod_object_bytes, terms.profile_version), (65_536, FIRST_PROFILE));
    assert!(!terms.verbatim_labels && !terms.origin_dns && terms.secrets.is_empty());
    assert_eq!(PolicyProfile::Baseline.level(), "baseline");
}

#[test]
fn names_on_the_wire_are_those_of_the_variants() {
    for refusal in Refusal::ALL {
        assert_eq!(json!(refusal), json!(refusal.as_str()));
        assert!(!refusal.text().is_empty());
    }
    for phase in ["Pending", "Running", "Succeeded", "Failed"] {
        let parsed = PodPhase::parse(phase).unwrap();
        assert_eq!(json!(parsed), json!(phase));
        assert_eq!(parsed.is_terminal(), ["Succeeded", "Failed"].contains(&phase));
    }
    assert_eq!(PodPhase::parse("Unknown"), None);
    for phase in [VirtualNodePhase::Offered, VirtualNodePhase::Withdrawn] {
        assert_eq!(json!(phase), json!(phase.as_str()));
    }
    for state in [LinkState::Connected, LinkState::Silent] {
        assert_eq!(json!(state), json!(state.as_str()));
    }
    for kind in [ConfigKind::ConfigMap, ConfigKind::Secret] {
        assert_eq!(json!(kind), json!(kind.as_str()));
    }
    assert_eq!(RemoteLoss::Preempted.reason(), "RemotePreempted");
}

#[test]
fn a_spec_is_written_as_it_was_read() {
    let wire = json!({
        "origin": { "cluster": "east", "namespace": "shop", "name": "web", "uid": "1" },
        "executor": "west",
        "pod": { "containers": [{ "name": "web", "image": "web:1" }] },
        "hostname": "web",
        "labels": { "a": "b" },
        "configs": [{ "kind": "Secret", "name": "s", "type": "Opaque", "binaryData": { "k": "dg==" } }],
        "specHash": "h",
        "disconnect": { "mode": "StopAfter", "seconds": 60 },
    });
    let spec: PodExportSpec = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(serde_json::to_value(&spec).unwrap(), wire);
    assert_eq!(spec.configs[0].size(), 5);
    let status = json!({
        "observedHash": "h", "phase": "Running", "podIPs": ["10.2.0.7"],
        "conditions": [{ "type": "Ready", "status": true }],
        "containers": [{ "name": "web", "state": { "running": true }, "ready": true, "restartCount": 1 }],
    });
    let read: RemoteStatus = serde_json::from_value(status.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), status);
}
