use std::time::Duration;

use fleet_api::traffic::{PolicySource, ServiceTrafficSpec};
use fleet_traffic::{
    Fallback, LocalEndpoints, Operator, Preference, SilenceAction, SilencePolicy, SpillPolicy,
    Weighting,
};
use serde_json::{Value, json};

use crate::traffic::rules::Rules;

fn spec(value: Value) -> ServiceTrafficSpec {
    serde_json::from_value(value).unwrap()
}

fn source(rules: &Rules, field: &str) -> PolicySource {
    rules.sources.iter().find(|(name, _)| *name == field).unwrap().1
}

#[test]
fn without_objects_the_built_in_rules_hold() {
    let rules = Rules::of(&[]);
    let plain = Rules { sources: rules.sources.clone(), ..Rules::default() };
    assert_eq!(rules, plain);
    assert_eq!(rules.preference, Preference::None);
    assert_eq!(rules.silence, SilencePolicy::default());
    assert!(rules.sources.iter().all(|(_, source)| *source == PolicySource::BuiltIn));
    assert_eq!(rules.sources.len(), 8);
}

/// Each field of each object: the strongest that has it wins, field by field.
#[test]
fn each_field_comes_from_the_strongest_object_that_has_it() {
    let fields = [
        ("preference", json!("LocalFirst")),
        ("fallback", json!("None")),
        ("weighting", json!("Clusters")),
        ("weights", json!([{ "cluster": "b", "weight": 3 }])),
        ("minSubsetPercent", json!(20)),
        ("spill", json!({ "belowPercent": 80 })),
        ("onSilence", json!({ "action": "Keep" })),
        ("localEndpoints", json!("Kubernetes")),
    ];
    for (field, value) in fields {
        let with = spec(json!({ (field): value }));
        let without = spec(json!({}));
        let sources = [PolicySource::Importer, PolicySource::Hub, PolicySource::Fleet];
        for holder in 0..3 {
            let objects: Vec<_> = sources
                .iter()
                .enumerate()
                .map(|(at, source)| (*source, if at >= holder { &with } else { &without }))
                .collect();
            let rules = Rules::of(&objects);
            assert_eq!(source(&rules, field), sources[holder], "{field}");
            let others = rules.sources.iter().filter(|(name, _)| *name != field);
            assert!(others.clone().all(|(_, source)| *source == PolicySource::BuiltIn));
        }
    }
}

/// Selectors belong to their preference: those of a weaker object are not taken for it.
#[test]
fn selectors_come_with_their_preference() {
    let selectors = spec(json!({
        "preference": "Selectors",
        "clusterSelectors": [{ "propertySelector": {
            "matchProperties": { "region": "@SameAsImporter@" },
            "matchExpressions": [
                { "key": "tier", "operator": "NotIn", "values": ["test"] },
                { "key": "cheap", "operator": "Exists" },
                { "key": "old", "operator": "DoesNotExist" },
            ],
        } }],
    }));
    let local = spec(json!({ "preference": "LocalFirst" }));
    let rules = Rules::of(&[(PolicySource::Importer, &local), (PolicySource::Hub, &selectors)]);
    assert_eq!(rules.preference, Preference::LocalFirst);
    let rules = Rules::of(&[(PolicySource::Hub, &selectors), (PolicySource::Fleet, &local)]);
    let Preference::Selectors(all) = rules.preference else { panic!("{rules:?}") };
    assert_eq!(all[0].properties["region"], "@SameAsImporter@");
    let operators: Vec<_> = all[0].requirements.iter().map(|one| one.operator).collect();
    assert_eq!(operators, [Operator::NotIn, Operator::Exists, Operator::DoesNotExist]);
    assert_eq!(all[0].requirements[0].values, ["test"]);
}

#[test]
fn values_are_taken_over() {
    let whole = spec(json!({
        "fallback": "None", "weighting": "Clusters",
        "weights": [{ "cluster": "b", "weight": 0 }, { "cluster": "c", "weight": 1000 }],
        "minSubsetPercent": 25, "spill": { "belowPercent": 80, "size": 12 },
        "onSilence": { "action": "Remove", "holdSeconds": 5, "removeAfterSeconds": 600 },
        "localEndpoints": "Kubernetes",
    }));
    let rules = Rules::of(&[(PolicySource::Hub, &whole)]);
    assert_eq!(rules.fallback, Fallback::None);
    assert_eq!(rules.policy.weighting, Weighting::Clusters { min_subset_percent: 25 });
    assert_eq!(rules.policy.spill, Some(SpillPolicy { below_percent: 80, size: 12 }));
    assert_eq!(
        rules.weights.into_iter().collect::<Vec<_>>(),
        [("b".to_owned(), 0), ("c".to_owned(), 1000)]
    );
    let (hold, remove_after) = (Duration::from_secs(5), Duration::from_mins(10));
    let silence = SilencePolicy { action: SilenceAction::Remove, hold, remove_after };
    assert_eq!((rules.silence, rules.local), (silence, LocalEndpoints::Kubernetes));
}

/// Definitions bound values; objects that were stored before them need not keep to that.
#[test]
fn values_out_of_bounds_are_bounded() {
    let wild = spec(json!({
        "weights": [{ "cluster": "b", "weight": -7 }, { "cluster": "c", "weight": 1_000_000 }],
        "spill": { "belowPercent": 900, "size": -1 },
        "onSilence": { "holdSeconds": -1 }, "weighting": "Clusters", "minSubsetPercent": -5,
    }));
    let rules = Rules::of(&[(PolicySource::Hub, &wild)]);
    assert_eq!((rules.weights["b"], rules.weights["c"]), (0, 1000));
    assert_eq!(rules.policy.spill, Some(SpillPolicy { below_percent: 100, size: 0 }));
    assert_eq!(rules.silence.hold, Duration::ZERO);
    assert_eq!(rules.policy.weighting, Weighting::Clusters { min_subset_percent: 0 });
}

/// An importer chooses among what the owner offers.
#[test]
fn no_importer_uses_what_the_owner_has_put_out_of_use() {
    let weights = |rows: &[(&str, i64)]| {
        let rows: Vec<_> = rows
            .iter()
            .map(|(cluster, weight)| json!({ "cluster": cluster, "weight": weight }))
            .collect();
        spec(json!({ "weights": rows }))
    };
    let importer = weights(&[("a", 5), ("b", 7)]);
    let hub = weights(&[("b", 0), ("c", 0), ("a", 9)]);
    let objects = [(PolicySource::Importer, &importer), (PolicySource::Hub, &hub)];
    let rules = Rules::of(&objects);
    let expected = [("a", 5), ("b", 0), ("c", 0)].map(|(name, weight)| (name.to_owned(), weight));
    assert_eq!(rules.weights, expected.into());
    assert_eq!(source(&rules, "weights"), PolicySource::Importer);
}
