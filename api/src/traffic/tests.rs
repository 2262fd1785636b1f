use serde_json::json;

use super::*;

#[test]
fn an_empty_policy_asks_for_nothing() {
    let spec: ServiceTrafficSpec = serde_json::from_value(json!({})).unwrap();
    assert_eq!(spec, ServiceTrafficSpec::default());
    assert_eq!(json!(spec), json!({}));
}

#[test]
fn parts_of_silence_have_defaults_of_their_own() {
    let on_silence: OnSilence = serde_json::from_value(json!({ "action": "Keep" })).unwrap();
    assert_eq!(on_silence, OnSilence { action: SilenceAction::Keep, ..OnSilence::default() });
    assert_eq!((on_silence.hold_seconds, on_silence.remove_after_seconds), (0, 900));
}

#[test]
fn a_policy_reads_as_it_is_written() {
    let wire = json!({
        "preference": "Selectors",
        "clusterSelectors": [{ "propertySelector": {
            "matchProperties": { "region.example.com": "@SameAsImporter@" },
            "matchExpressions": [{ "key": "tier", "operator": "NotIn", "values": ["test"] }],
        } }],
        "fallback": "None",
        "weighting": "Clusters",
        "weights": [{ "cluster": "east", "weight": 0 }],
        "minSubsetPercent": 25,
        "spill": { "belowPercent": 80, "size": 10 },
        "onSilence": { "action": "Remove", "holdSeconds": 5, "removeAfterSeconds": 300 },
        "localEndpoints": "Kubernetes",
    });
    let spec: ServiceTrafficSpec = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(json!(spec), wire);
    assert_eq!(
        spec.cluster_selectors.unwrap()[0].property_selector.match_expressions[0].key,
        "tier"
    );
}

#[test]
fn a_fleet_without_settings_has_the_documented_ones() {
    let spec: FleetTrafficSpec = serde_json::from_value(json!({})).unwrap();
    assert_eq!(spec, FleetTrafficSpec::default());
    assert_eq!((spec.heartbeat_seconds, spec.silent_after_seconds), (10, 60));
    assert_eq!((spec.max_silent_percent, spec.shape_writes_per_second), (20, 20));
    assert_eq!((spec.return_after_seconds, spec.return_over_seconds), (30, 60));
    assert!(spec.allow_remove && spec.domain_property.is_none());
}

#[test]
fn a_member_names_no_property_but_its_own() {
    let [region, zone] = OWN_PROPERTIES;
    let all =
        json!({ region: "north", CLUSTER_PROPERTY: "west", "tier": "gold", zone: "z".repeat(129) });
    let own = own_properties(&all.to_string());
    assert_eq!(own, [(region.to_owned(), "north".to_owned())].into());
    for unreadable in ["", "no JSON", "[]", r#"{"topology.kubernetes.io/region": 1}"#] {
        assert_eq!(own_properties(unreadable), [].into(), "{unreadable}");
    }
}

#[test]
fn names_on_the_wire_are_those_of_the_variants() {
    for one in [Preference::None, Preference::LocalFirst, Preference::Selectors] {
        assert_eq!(json!(one), json!(one.as_str()));
    }
    for one in [SilenceAction::Keep, SilenceAction::LastResort, SilenceAction::Remove] {
        assert_eq!(json!(one), json!(one.as_str()));
    }
    for one in
        [SilenceState::Heard, SilenceState::Silent, SilenceState::Held, SilenceState::Unmanaged]
    {
        assert_eq!(json!(one), json!(one.as_str()));
    }
    for one in
        [DrainReason::Draining, DrainReason::Drained, DrainReason::Returning, DrainReason::Refused]
    {
        assert_eq!(json!(one), json!(one.as_str()));
    }
    for one in [FleetTrafficPhase::Rebuilding, FleetTrafficPhase::Settled] {
        assert_eq!(json!(one), json!(one.as_str()));
    }
}
