//! How a definition of a cluster differs from that of this program: what it lacks. Pure.
//!
//! What it has in addition is no fault: a newer release may have more fields.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::seen::Kind;

/// Bounds of which a lower value is the stricter one.
const UPPER: [&str; 4] = ["maxLength", "maxItems", "maxProperties", "maximum"];
/// Bounds of which a higher value is the stricter one.
const LOWER: [&str; 3] = ["minLength", "minItems", "minimum"];
/// Bounds that are compared as they are.
const EXACT: [&str; 2] = ["pattern", "enum"];
/// Rules in the common expression language.
const RULES: &str = "x-kubernetes-validations";

/// What a cluster's definition lacks; all of it if there is none.
pub(super) fn compared(ours: &Value, theirs: Option<&Value>) -> Kind {
    let name = ours["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let mut kind = Kind { name, exists: theirs.is_some(), ..Kind::default() };
    let Some(theirs) = theirs else { return kind };
    kind.owner = owner(theirs);
    for version in served(ours) {
        let name = version["name"].as_str().unwrap_or_default();
        let schema = |version: &'_ Value| version["schema"]["openAPIV3Schema"].clone();
        match served(theirs).find(|it| it["name"] == name) {
            Some(found) => walk(&schema(version), &schema(found), "", &mut kind),
            None => kind.versions.push(name.to_owned()),
        }
    }
    for list in [&mut kind.fields, &mut kind.bounds] {
        list.sort();
        list.dedup();
    }
    kind
}

/// The release of Helm that an object belongs to.
fn owner(object: &Value) -> Option<String> {
    let of =
        |what: &str| object["metadata"]["annotations"][format!("meta.helm.sh/{what}")].as_str();
    Some(format!("{}/{}", of("release-namespace")?, of("release-name")?))
}

fn served(definition: &Value) -> impl Iterator<Item = &Value> {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    versions.filter(|version| version["served"] == true)
}

fn walk(ours: &Value, theirs: &Value, path: &str, kind: &mut Kind) {
    bounds(ours, theirs, path, kind);
    let empty = Map::new();
    let fields = |schema: &Value| schema["properties"].as_object().cloned();
    let (mine, others) = (fields(ours).unwrap_or_default(), fields(theirs).unwrap_or(empty));
    for (name, schema) in &mine {
        let path = format!("{path}.{name}");
        match others.get(name) {
            Some(found) => walk(schema, found, &path, kind),
            None => kind.fields.push(path),
        }
    }
    for (part, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if ours[part].is_object() {
            walk(&ours[part], &theirs[part], &format!("{path}{mark}"), kind);
        }
    }
}

fn bounds(ours: &Value, theirs: &Value, path: &str, kind: &mut Kind) {
    let number = |schema: &Value, key: &str| schema[key].as_f64();
    let upper = UPPER.iter().filter(|key| {
        number(ours, key).is_some_and(|own| number(theirs, key).is_none_or(|found| found > own))
    });
    let lower = LOWER.iter().filter(|key| {
        number(ours, key).is_some_and(|own| number(theirs, key).is_none_or(|found| found < own))
    });
    let exact = EXACT.iter().filter(|key| !ours[**key].is_null() && ours[**key] != theirs[**key]);
    let missing: Vec<_> =
        upper.chain(lower).chain(exact).map(|key| format!("{path} ({key})")).collect();
    kind.bounds.extend(missing);
    if rules(ours).difference(&rules(theirs)).next().is_some() {
        kind.bounds.push(format!("{path} (rules)"));
    }
}

fn rules(schema: &Value) -> BTreeSet<&str> {
    let rules = schema[RULES].as_array().into_iter().flatten();
    rules.filter_map(|rule| rule["rule"].as_str()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn own() -> Vec<Value> {
        let all = [
            fleet_api::crds::networking(),
            fleet_api::crds::reports(),
            fleet_api::crds::multicluster(),
            fleet_api::crds::traffic(),
        ];
        all.concat().iter().map(|crd| serde_json::to_value(crd).unwrap()).collect()
    }

    #[test]
    fn a_definition_lacks_nothing_of_itself() {
        for definition in own() {
            let found = compared(&definition, Some(&definition));
            let expected = Kind { name: found.name.clone(), exists: true, ..Kind::default() };
            assert_eq!(found, expected);
            assert!(!compared(&definition, None).exists);
        }
    }

    #[test]
    fn a_definition_has_the_release_that_installed_it() {
        let mut found =
            json!({ "metadata": { "annotations": { "meta.helm.sh/release-name": "a" } } });
        assert_eq!(compared(&json!({}), Some(&found)).owner, None);
        found["metadata"]["annotations"]["meta.helm.sh/release-namespace"] = json!("net");
        assert_eq!(compared(&json!({}), Some(&found)).owner.as_deref(), Some("net/a"));
    }

    #[test]
    fn each_difference_is_named() {
        let schema = |spec: Value| {
            json!({ "metadata": { "name": "k" }, "spec": { "versions": [{ "name": "v1", "served": true,
                "schema": { "openAPIV3Schema": { "properties": { "spec": spec } } } }] } })
        };
        let ours = schema(json!({ "properties": {
            "a": { "maxLength": 5, "minLength": 1, "pattern": "x" },
            "b": { "items": { "maximum": 3 }, "x-kubernetes-validations": [{ "rule": "r" }] },
            "c": { "additionalProperties": { "maxLength": 2 } },
            "d": {},
        }}));
        let wider = schema(json!({ "properties": {
            "a": { "maxLength": 6, "minLength": 0, "pattern": "y" }, "b": { "items": {} }, "c": {},
        }}));
        let found = compared(&ours, Some(&wider));
        assert_eq!(found.fields, [".spec.d"]);
        assert_eq!(
            found.bounds,
            [
                ".spec.a (maxLength)",
                ".spec.a (minLength)",
                ".spec.a (pattern)",
                ".spec.b (rules)",
                ".spec.b[] (maximum)",
                ".spec.c{} (maxLength)"
            ]
        );
        let stricter = schema(json!({ "properties": {
            "a": { "maxLength": 4, "minLength": 2, "pattern": "x" },
            "b": { "items": { "maximum": 1 }, "x-kubernetes-validations": [{ "rule": "s" }, { "rule": "r" }] },
            "c": { "additionalProperties": { "maxLength": 1 } }, "d": {}, "e": {},
        }}));
        let found = compared(&ours, Some(&stricter));
        assert_eq!((found.fields.len(), found.bounds.len()), (0, 0), "{found:?}");
        let mut gone = ours.clone();
        gone["spec"]["versions"][0]["served"] = json!(false);
        assert_eq!(compared(&ours, Some(&gone)).versions, ["v1"]);
    }
}
