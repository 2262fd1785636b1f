//! The definitions of traffic: everything in them has a bound and a description, and their rules are these.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

use super::outline::{items, values, without_description};
use super::*;

fn definitions() -> Vec<CustomResourceDefinition> {
    crate::crds::traffic()
}

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

fn is_bounded(schema: &JSONSchemaProps) -> bool {
    match schema.type_.as_deref() {
        Some("array") => schema.max_items.is_some(),
        // What is not listed is pruned.
        Some("object") => schema.additional_properties.is_none() || schema.max_properties.is_some(),
        Some("string") => {
            let closed = schema.enum_.is_some() || schema.format.is_some();
            closed || schema.max_length.is_some()
        }
        Some("integer") => schema.format.is_some() || schema.maximum.is_some(),
        Some("boolean") => true,
        _ => false,
    }
}

#[test]
fn every_list_map_text_and_number_has_a_bound_and_a_description() {
    for crd in definitions() {
        let mut unbounded = Vec::new();
        visit(root(&crd), "", &mut |path, schema| {
            // Kubernetes' own type, which has none.
            if !is_bounded(schema) && !path.contains(".conditions[]") {
                unbounded.push(path.to_owned());
            }
            assert_eq!(schema.x_kubernetes_preserve_unknown_fields, None, "{path}");
        });
        let kind = &crd.spec.names.kind;
        assert_eq!(unbounded, Vec::<String>::new(), "{kind}");
        assert_eq!(without_description(root(&crd)), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn two_are_of_the_cluster_and_all_have_a_status() {
    for crd in definitions() {
        let kind = &*crd.spec.names.kind;
        let version = &crd.spec.versions[0];
        let scope = if kind == "ServiceTraffic" { "Namespaced" } else { "Cluster" };
        assert_eq!((&*crd.spec.scope, &*version.name), (scope, "v1alpha1"), "{kind}");
        assert!(version.subresources.as_ref().unwrap().status.is_some());
        assert_eq!(
            crd.spec.names.categories.as_deref(),
            Some(&["fleet-networking".to_owned()][..])
        );
        super::columns::check(&crd, version);
    }
}

#[test]
fn the_rules_are_these() {
    let selectors =
        "has(self.clusterSelectors) == (has(self.preference) && self.preference == 'Selectors')";
    let empty = "(has(self.matchProperties) && size(self.matchProperties) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)";
    let values =
        "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)";
    let keys = "self.all(key, size(key) <= 253)";
    let of_policy = |root: &str| {
        let selector = format!("{root}.clusterSelectors[].propertySelector");
        BTreeMap::from([
            (root.to_owned(), selectors.to_owned()),
            (selector.clone(), empty.to_owned()),
            (format!("{selector}.matchProperties"), keys.to_owned()),
            (format!("{selector}.matchExpressions[]"), values.to_owned()),
        ])
    };
    let more = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(path, rule)| ((*path).to_owned(), (*rule).to_owned())).collect()
    };
    let mut service = of_policy(".spec");
    service.extend(more(&[("", "size(self.metadata.name) < 64")]));
    let mut fleet = of_policy(".spec.defaults");
    fleet.extend(more(&[
        ("", "self.metadata.name == 'fleet'"),
        (".spec", "self.silentAfterSeconds >= 3 * self.heartbeatSeconds"),
    ]));
    let member = more(&[
        ("", "size(self.metadata.name) < 51"),
        (".spec.properties", keys),
        (".status.properties", keys),
    ]);
    let expected =
        [("ServiceTraffic", service), ("FleetTraffic", fleet), ("MemberTraffic", member)];
    for (crd, (kind, expected)) in definitions().iter().zip(expected) {
        assert_eq!(crd.spec.names.kind, kind);
        let mut found = BTreeMap::new();
        visit(root(crd), "", &mut |path, schema| {
            for rule in schema.x_kubernetes_validations.iter().flatten() {
                assert!(rule.message.is_some(), "{path}");
                found.insert(path.to_owned(), rule.rule.clone());
            }
        });
        assert_eq!(found, expected, "{kind}");
    }
}
