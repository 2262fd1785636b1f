//! The definitions of offloading: everything in them has a bound and a description, and their rules are these.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

use super::outline::{items, values, without_description};
use super::*;
use crate::offload::pod_fields::{self, POD, Record, Rule, Shape};

fn root(crd: &CustomResourceDefinition) -> &JSONSchemaProps {
    let schema = crd.spec.versions[0].schema.as_ref().unwrap();
    schema.open_api_v3_schema.as_ref().unwrap()
}

fn visit(schema: &JSONSchemaProps, path: &str, found: &mut impl FnMut(&str, &JSONSchemaProps)) {
    found(path, schema);
    for (name, property) in schema.properties.iter().flatten() {
        visit(property, &format!("{path}.{name}"), found);
    }
    for below in items(schema).into_iter().chain(values(schema)) {
        visit(below, &format!("{path}[]"), found);
    }
}

/// Status included: the other cluster writes it.
#[test]
fn every_list_map_text_and_number_has_a_bound() {
    for crd in offloading() {
        let mut unbounded = Vec::new();
        visit(root(&crd), "", &mut |path, schema| {
            let bounded = match schema.type_.as_deref() {
                Some("array") => schema.max_items.is_some(),
                // What is not listed is pruned.
                Some("object") => {
                    schema.additional_properties.is_none() || schema.max_properties.is_some()
                }
                Some("string") => {
                    let closed = schema.enum_.is_some() || schema.format.is_some();
                    closed || schema.max_length.is_some()
                }
                Some("integer") => schema.format.is_some() || schema.maximum.is_some(),
                Some("boolean") => true,
                None => {
                    schema.x_kubernetes_int_or_string == Some(true) && schema.max_length.is_some()
                }
                Some(_) => false,
            };
            if !bounded {
                unbounded.push(path.to_owned());
            }
        });
        assert_eq!(unbounded, Vec::<String>::new(), "{}", crd.spec.names.kind);
    }
}

/// An open object could carry what the table does not have.
#[test]
fn nothing_keeps_fields_that_are_not_listed() {
    for crd in offloading() {
        visit(root(&crd), "", &mut |path, schema| {
            assert_eq!(schema.x_kubernetes_preserve_unknown_fields, None, "{path}");
        });
    }
}

/// Kubernetes' own documentation has the fields of a Pod.
#[test]
fn every_property_but_those_of_a_pod_has_a_description() {
    for crd in offloading() {
        let schema = root(&crd);
        let mut without = without_description(schema);
        without.retain(|path| !path.contains(".pod."));
        assert_eq!(without, Vec::<String>::new(), "{}", crd.spec.names.kind);
    }
}

fn rules(kind: &str) -> BTreeMap<String, String> {
    let crds = offloading();
    let crd = crds.iter().find(|crd| crd.spec.names.kind == kind).unwrap();
    let mut found = BTreeMap::new();
    visit(root(crd), "", &mut |path, schema| {
        for rule in schema.x_kubernetes_validations.iter().flatten() {
            assert!(rule.message.is_some(), "{path}");
            if !rule.rule.starts_with("self.all(key, ") {
                found.insert(path.to_owned(), rule.rule.clone());
            }
        }
    });
    found
}

fn expected(rules: &[(&str, &str)]) -> BTreeMap<String, String> {
    rules.iter().map(|(path, rule)| ((*path).to_owned(), (*rule).to_owned())).collect()
}

#[test]
fn the_rules_are_these() {
    let disconnect = "has(self.seconds) == (self.mode == 'StopAfter')";
    assert_eq!(rules("OffloadOffer"), expected(&[(".spec.terms.disconnect", disconnect)]));
    assert_eq!(
        rules("VirtualNode"),
        expected(&[
            ("", "self.metadata.name == self.spec.executor"),
            (".spec.executor", "self == oldSelf"),
            (".spec.terms.disconnect", disconnect),
        ])
    );
    assert_eq!(
        rules("PodExport"),
        expected(&[
            ("", "self.metadata.name == self.spec.origin.uid"),
            (".spec.disconnect", disconnect),
            (".spec.executor", "self == oldSelf"),
            (".spec.origin", "self == oldSelf"),
            (".spec.stopGraceSeconds", "self <= oldSelf"),
            (".status.released", "self || !oldSelf"),
        ])
    );
    assert_eq!(
        rules("PodImport"),
        expected(&[
            (
                "",
                "self.metadata.name == self.spec.export.origin.uid + '.' + self.spec.export.origin.cluster",
            ),
            (".spec", "!has(oldSelf.stop) || has(self.stop)"),
            (".spec.export.disconnect", disconnect),
            (".spec.export.executor", "self == oldSelf"),
            (".spec.export.origin", "self == oldSelf"),
            (".spec.export.stopGraceSeconds", "self <= oldSelf"),
            (".spec.stop.graceSeconds", "self <= oldSelf"),
            (".status.released", "self || !oldSelf"),
        ])
    );
}

#[test]
fn all_are_namespaced_with_a_status() {
    for crd in offloading() {
        let version = &crd.spec.versions[0];
        assert_eq!((&*crd.spec.scope, &*version.name), ("Namespaced", "v1alpha1"));
        assert!(version.subresources.as_ref().unwrap().status.is_some());
        assert_eq!(
            crd.spec.names.categories.as_deref(),
            Some(&["fleet-networking".to_owned()][..])
        );
    }
}

/// The schema of the Pod has the fields that cross, and no others.
#[test]
fn the_schema_of_a_pod_is_the_table() {
    let crds = offloading();
    let export = crds.iter().find(|crd| crd.spec.names.kind == "PodExport").unwrap();
    let spec = &root(export).properties.as_ref().unwrap()["spec"];
    compare(&spec.properties.as_ref().unwrap()["pod"], &POD, "pod");
}

fn compare(schema: &JSONSchemaProps, record: &Record, path: &str) {
    let found: Vec<_> = schema.properties.iter().flatten().map(|(name, _)| name.as_str()).collect();
    let crossing = record.fields.iter().filter(|field| field.rule.shape().is_some());
    let expected: Vec<_> = crossing.clone().map(|field| field.name).collect();
    assert_eq!(found, expected, "{path}");
    for field in crossing {
        let below = &schema.properties.as_ref().unwrap()[field.name];
        match field.rule.shape() {
            Some(Shape::Object(record)) => compare(below, record, field.name),
            Some(Shape::List(_, Shape::Object(record))) => {
                compare(items(below).unwrap(), record, field.name);
            }
            _ => {}
        }
    }
}

/// The table is searched and read by people: its fields are in the order of their names, each once.
#[test]
fn the_table_is_sorted() {
    fn check(record: &Record) {
        let names: Vec<_> = record.fields.iter().map(|field| field.name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted);
        for field in record.fields {
            if let Some(below) = field.rule.shape().and_then(Shape::record) {
                check(below);
            }
        }
    }
    check(&POD);
}

/// What Kubernetes' own type of a Pod's spec has is in the table: nothing of it is refused as unknown.
#[test]
fn the_table_has_all_fields_of_the_kubernetes_that_this_is_built_for() {
    let schema = schemars::SchemaGenerator::default()
        .into_root_schema_for::<k8s_openapi::api::core::v1::PodSpec>();
    let schema = serde_json::to_value(schema).unwrap();
    let mut missing = Vec::new();
    known(&schema, &schema, &POD, "spec", &mut missing);
    assert_eq!(missing, Vec::<String>::new());
}

/// Adds every property that the table lacks, but in a volume: all kinds that it does not name are refused alike.
fn known(
    root: &serde_json::Value,
    schema: &serde_json::Value,
    record: &Record,
    path: &str,
    missing: &mut Vec<String>,
) {
    let schema = resolved(root, schema);
    for (name, property) in schema["properties"].as_object().unwrap() {
        let path = format!("{path}.{name}");
        match record.find(name).map(|field| field.rule) {
            None if record.otherwise == crate::offload::Refusal::UnsupportedVolume => {}
            None => missing.push(path),
            Some(rule) => match rule.shape() {
                Some(Shape::Object(below)) => known(root, property, below, &path, missing),
                Some(Shape::List(_, Shape::Object(below))) => {
                    known(root, &resolved(root, property)["items"], below, &path, missing);
                }
                _ => {}
            },
        }
    }
}

fn resolved<'a>(
    root: &'a serde_json::Value,
    schema: &'a serde_json::Value,
) -> &'a serde_json::Value {
    let target = |schema: &serde_json::Value| schema["$ref"].as_str().map(str::to_owned);
    let alternatives = schema["anyOf"].as_array().into_iter().flatten();
    let nested = schema["allOf"].as_array().into_iter().flatten();
    let found = target(schema).or_else(|| alternatives.chain(nested).find_map(target));
    match found {
        Some(target) => root.pointer(target.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

#[test]
fn rows_are_paths_with_rules() {
    let rows: BTreeMap<_, _> = pod_fields::rows(&POD).into_iter().collect();
    assert_eq!(rows["nodeName"], Rule::Drop);
    assert_eq!(rows["hostNetwork"], Rule::Reject(crate::offload::Refusal::HostAccess));
    assert_eq!(rows["containers[].ports[].hostPort"], rows["hostNetwork"]);
    assert_eq!(rows["containers[].image"], Rule::Copy(Shape::Text(512)));
    assert!(
        rows["volumes[].projected.sources[].serviceAccountToken"].text().starts_with("rejected")
    );
}
