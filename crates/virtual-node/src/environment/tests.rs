//! The environment of containers, by the cases of the original's own tests and by its defects.

use std::collections::BTreeMap;

use fleet_api::offload::ConfigKind;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::pod::LocalPod;

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other}"),
    }
}

fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn pod() -> LocalPod {
    LocalPod {
        namespace: "shop".to_owned(),
        name: "web-7".to_owned(),
        uid: "u".to_owned(),
        labels: texts(&[("b", "2"), ("a", "1 \"x\"")]),
        annotations: texts(&[("team/cost", "9")]),
        spec: map(json!({ "serviceAccountName": "builder" })),
        ..LocalPod::default()
    }
}

fn content(kind: ConfigKind, name: &str) -> Option<BTreeMap<String, String>> {
    match (kind, name) {
        (ConfigKind::ConfigMap, "c") => Some(texts(&[("A", "c1"), ("B", "c2"), ("k", "v")])),
        (ConfigKind::Secret, "s") => Some(texts(&[("B", "s2"), ("P", "s3")])),
        (ConfigKind::ConfigMap, "odd") => Some(texts(&[("9", "x"), ("a b", "y"), ("Z", "z")])),
        _ => None,
    }
}

fn service(name: &str) -> ServiceLink {
    let port =
        |name: &str, port| ServicePort { name: name.to_owned(), port, protocol: "TCP".to_owned() };
    ServiceLink {
        name: name.to_owned(),
        cluster_ip: "10.96.0.1".to_owned(),
        ports: vec![port("web-ui", 80), port("", 443)],
    }
}

fn resolved_for(
    pod: &LocalPod,
    container: Value,
    services: &[ServiceLink],
) -> Result<Environment, MissingConfig> {
    let kubernetes = service("kubernetes");
    let sources = Sources { pod, config: &content, services, kubernetes: Some(&kubernetes) };
    resolve(&map(container), &sources)
}

fn resolved(container: Value) -> Result<Environment, MissingConfig> {
    let sources = Sources { pod: &pod(), config: &content, services: &[], kubernetes: None };
    resolve(&map(container), &sources)
}

fn values(environment: &Environment) -> BTreeMap<&str, &str> {
    let values = environment.variables.iter().filter_map(|one| match &one.value {
        Resolved::Value(value) => Some((one.name.as_str(), value.as_str())),
        Resolved::Reference(_) => None,
    });
    values.collect()
}

#[test]
fn values_come_from_literals_config_maps_and_secrets() {
    let environment = resolved(json!({ "env": [
        { "name": "L", "value": "literal" },
        { "name": "C", "valueFrom": { "configMapKeyRef": { "name": "c", "key": "k" } } },
        { "name": "S", "valueFrom": { "secretKeyRef": { "name": "s", "key": "B" } } },
    ] }));
    let environment = environment.unwrap();
    assert_eq!(values(&environment), BTreeMap::from([("C", "v"), ("L", "literal"), ("S", "s2")]));
}

#[test]
fn fields_of_the_pod_are_values() {
    for (path, value) in [
        ("metadata.name", "web-7"),
        ("metadata.namespace", "shop"),
        ("metadata.uid", "u"),
        ("metadata.labels", "a=\"1 \\\"x\\\"\"\nb=\"2\""),
        ("metadata.labels['b']", "2"),
        ("metadata.annotations['team/cost']", "9"),
        ("spec.serviceAccountName", "builder"),
    ] {
        let field =
            json!({ "env": [{ "name": "F", "valueFrom": { "fieldRef": { "fieldPath": path } } }] });
        assert_eq!(values(&resolved(field).unwrap())["F"], value, "{path}");
    }
}

/// The original accepted these at first and failed later: such a Pod never started (V4).
#[test]
fn what_only_the_place_of_a_pod_knows_is_handed_on() {
    for source in [
        json!({ "fieldRef": { "fieldPath": "status.podIP" } }),
        json!({ "fieldRef": { "fieldPath": "status.hostIP" } }),
        json!({ "fieldRef": { "fieldPath": "status.podIPs" } }),
        json!({ "fieldRef": { "fieldPath": "spec.nodeName" } }),
        json!({ "resourceFieldRef": { "resource": "limits.cpu" } }),
    ] {
        let environment =
            resolved(json!({ "env": [{ "name": "F", "valueFrom": source }] })).unwrap();
        assert_eq!(environment.variables[0].value, Resolved::Reference(source));
    }
}

#[test]
fn later_sources_override_earlier_ones_and_variables_both() {
    let environment = resolved(json!({
        "envFrom": [
            { "configMapRef": { "name": "c" } },
            { "secretRef": { "name": "s" } },
            { "prefix": "X_", "configMapRef": { "name": "c" } },
        ],
        "env": [{ "name": "A", "value": "own" }],
    }));
    let environment = environment.unwrap();
    let values = values(&environment);
    assert_eq!((values["A"], values["B"], values["X_B"], values["P"]), ("own", "s2", "c2", "s3"));
}

#[test]
fn keys_that_are_no_names_are_left_out_with_a_warning_for_each_source() {
    let odd = json!({ "configMapRef": { "name": "odd" } });
    let environment = resolved(json!({ "envFrom": [odd, odd] })).unwrap();
    assert_eq!(values(&environment), BTreeMap::from([("Z", "z")]));
    let bad = vec!["9".to_owned(), "a b".to_owned()];
    let warning = Warning::InvalidNames(ConfigKind::ConfigMap, "odd".to_owned(), bad);
    assert_eq!(warning.reason(), "InvalidEnvironmentVariableNames");
    assert_eq!(environment.warnings, [warning.clone(), warning]);
}

#[test]
fn what_is_optional_warns_and_what_is_mandatory_stops() {
    let warned = resolved(json!({
        "envFrom": [
            { "configMapRef": { "name": "none", "optional": true } },
            { "secretRef": { "name": "none", "optional": true } },
        ],
        "env": [
            { "name": "K", "valueFrom": { "configMapKeyRef": { "name": "c", "key": "no", "optional": true } } },
        ],
    }));
    let reasons: Vec<_> = warned.unwrap().warnings.iter().map(Warning::reason).collect();
    assert_eq!(
        reasons,
        ["OptionalConfigMapNotFound", "OptionalSecretNotFound", "OptionalConfigMapKeyNotFound"]
    );
    for (container, reason) in [
        (
            json!({ "envFrom": [{ "configMapRef": { "name": "none" } }] }),
            "MandatoryConfigMapNotFound",
        ),
        (json!({ "envFrom": [{ "secretRef": { "name": "none" } }] }), "MandatorySecretNotFound"),
        (
            json!({ "env": [{ "name": "K", "valueFrom": { "secretKeyRef": { "name": "s", "key": "no" } } }] }),
            "MandatorySecretKeyNotFound",
        ),
        (
            json!({ "env": [{ "name": "K", "valueFrom": { "configMapKeyRef": { "name": "none", "key": "k" } } }] }),
            "MandatoryConfigMapNotFound",
        ),
    ] {
        assert_eq!(resolved(container).unwrap_err().reason(), reason);
    }
}

#[test]
fn services_have_variables_that_override_nothing() {
    let own = [service("shop-db")];
    let container = json!({ "env": [{ "name": "SHOP_DB_PORT", "value": "mine" }] });
    let environment = resolved_for(&pod(), container, &own).unwrap();
    let all = values(&environment);
    for (name, value) in [
        ("KUBERNETES_SERVICE_HOST", "10.96.0.1"),
        ("SHOP_DB_SERVICE_HOST", "10.96.0.1"),
        ("SHOP_DB_SERVICE_PORT", "80"),
        ("SHOP_DB_SERVICE_PORT_WEB_UI", "80"),
        ("SHOP_DB_PORT", "mine"),
        ("SHOP_DB_PORT_443_TCP", "tcp://10.96.0.1:443"),
        ("SHOP_DB_PORT_443_TCP_PROTO", "tcp"),
        ("SHOP_DB_PORT_443_TCP_PORT", "443"),
        ("SHOP_DB_PORT_443_TCP_ADDR", "10.96.0.1"),
    ] {
        assert_eq!(all[name], value, "{name}");
    }
    let mut without = pod();
    without.spec.insert("enableServiceLinks".to_owned(), false.into());
    let environment = resolved_for(&without, json!({}), &own).unwrap();
    assert!(values(&environment).keys().all(|name| name.starts_with("KUBERNETES_")));
    let headless = ServiceLink { cluster_ip: "None".to_owned(), ..service("headless") };
    let environment = resolved_for(&pod(), json!({}), &[headless]).unwrap();
    assert!(values(&environment).keys().all(|name| name.starts_with("KUBERNETES_")));
}

#[test]
fn values_are_composed_of_earlier_ones() {
    let container = json!({ "env": [
        { "name": "A", "value": "1" },
        { "name": "B", "value": "" },
        { "name": "AB", "value": "$(A)$(B)$(C)" },
        { "name": "C", "value": "$(AB)-$(KUBERNETES_SERVICE_PORT)" },
    ] });
    let environment = resolved_for(&pod(), container, &[]).unwrap();
    let all = values(&environment);
    assert_eq!((all["AB"], all["B"], all["C"]), ("1$(C)", "", "1$(C)-80"));
}

#[test]
fn references_expand_as_in_kubernetes() {
    let value = |name: &str| (name == "A").then(|| "x".to_owned());
    for (text, expanded) in [
        ("", ""),
        ("$(A)", "x"),
        ("-$(A)-$(A)", "-x-x"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$x"),
        ("$$", "$"),
        ("$", "$"),
        ("$(B)", "$(B)"),
        ("$(A", "$(A"),
        ("$A", "$A"),
        ("$()", "$()"),
        ("$($(A))", "$($(A))"),
    ] {
        assert_eq!(expand(text, value), expanded, "{text}");
    }
}

#[test]
fn subscripts_name_labels_and_annotations() {
    assert_eq!(subscript("metadata.labels['a/b']"), Some(("metadata.labels", "a/b")));
    for other in ["metadata.name", "metadata.labels", "spec.x['a']", "metadata.labels[a]"] {
        assert_eq!(subscript(other), None, "{other}");
    }
}

proptest! {
    /// Twice the sign is the sign: what the origin knows of a Pod arrives as it is.
    #[test]
    fn an_escaped_value_expands_to_itself(text in "[$()A-C ]{0,20}") {
        let escaped = text.replace('$', "$$");
        prop_assert_eq!(expand(&escaped, |_| Some("x".to_owned())), text);
    }

    /// Equal sources give an equal environment, in the same order: no update without a change.
    #[test]
    fn an_environment_is_the_same_each_time(names in proptest::collection::vec("[A-Z]{1,3}", 0..9)) {
        let env: Vec<_> = names.iter().map(|name| json!({ "name": name, "value": "v" })).collect();
        let container = json!({ "env": env, "envFrom": [{ "configMapRef": { "name": "c" } }] });
        let first = resolved(container.clone()).unwrap();
        prop_assert_eq!(&first, &resolved(container).unwrap());
        let found: Vec<_> = first.variables.iter().map(|one| one.name.clone()).collect();
        let mut sorted = found.clone();
        sorted.sort_unstable();
        sorted.dedup();
        prop_assert_eq!(found, sorted);
    }
}
