//! The bounds in the definitions are those of the table, and nothing of unlimited length is missing there.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

use super::outline::{items, values};
use super::*;
use crate::limits;

/// The kinds that members write to the hub, and the one that the hub copies for them.
const BOUNDED: [ResourceKind; 7] = [
    kinds::INTERNAL_SERVICE_EXPORT,
    kinds::INTERNAL_SERVICE_IMPORT,
    kinds::ENDPOINT_SLICE_EXPORT,
    kinds::ENDPOINT_SLICE_IMPORT,
    kinds::CLUSTER_REPORT,
    kinds::EXPORTED_SERVICE,
    kinds::RESOLVED_SERVICE,
];

#[test]
fn every_list_and_text_of_a_spec_has_the_bound_of_the_table() {
    for kind in BOUNDED {
        let mut expected: BTreeMap<_, _> = limits::of_kind(kind.kind)
            .into_iter()
            .map(|(path, bound)| (path, i64::try_from(bound.stored).ok()))
            .collect();
        let crds = all();
        let crd = crds.iter().find(|crd| crd.spec.names.kind == kind.kind).unwrap();
        let schema = crd.spec.versions[0].schema.as_ref().unwrap();
        let root = schema.open_api_v3_schema.as_ref().unwrap();
        let mut found = BTreeMap::new();
        let spec = &root.properties.as_ref().unwrap()["spec"];
        lengths(spec, "spec", &mut found);
        // Fixed values, which the table is about for those who read without definitions.
        expected.retain(|path, _| found.contains_key(path) || !is_enum(root, path));
        assert_eq!(found, expected, "{}", kind.kind);
    }
}

#[test]
fn nothing_is_bounded_lower_than_agents_accept() {
    for (path, bound) in BOUNDED.iter().flat_map(|kind| limits::of_kind(kind.kind)) {
        assert!(bound.accepted <= bound.stored, "{path}");
    }
}

/// Adds every list, and every text that is neither a fixed value nor a time, with its bound.
fn lengths(schema: &JSONSchemaProps, path: &str, found: &mut BTreeMap<String, Option<i64>>) {
    let text = schema.type_.as_deref() == Some("string")
        || schema.x_kubernetes_int_or_string == Some(true);
    if schema.type_.as_deref() == Some("array") {
        found.insert(path.to_owned(), schema.max_items);
    } else if schema.additional_properties.is_some() {
        found.insert(path.to_owned(), schema.max_properties);
    } else if text && schema.enum_.is_none() && schema.format.is_none() {
        found.insert(path.to_owned(), schema.max_length);
    }
    for (name, property) in schema.properties.iter().flatten() {
        lengths(property, &format!("{path}.{name}"), found);
    }
    if let Some(items) = items(schema) {
        lengths(items, &format!("{path}[]"), found);
    }
    if let Some(values) = values(schema) {
        lengths(values, &format!("{path}{{}}"), found);
    }
}

fn is_enum(root: &JSONSchemaProps, path: &str) -> bool {
    let below = |schema: &JSONSchemaProps, segment: &str| {
        let property = schema.properties.as_ref()?.get(segment.trim_end_matches("[]")).cloned()?;
        if segment.ends_with("[]") { items(&property).cloned() } else { Some(property) }
    };
    let found = path.split('.').try_fold(root.clone(), |schema, segment| below(&schema, segment));
    found.is_some_and(|schema| schema.enum_.is_some())
}
