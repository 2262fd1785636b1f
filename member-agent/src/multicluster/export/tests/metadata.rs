//! Exported labels and annotations.

use fleet_api::kinds;
use serde_json::{Value, json};

use super::world::{World, web};

/// A member whose ServiceExport has this spec.
fn exported(spec: &Value) -> World {
    let mut world = World::exported();
    let set = |object: &mut Value| object["spec"] = spec.clone();
    world.own.edit(kinds::MCS_SERVICE_EXPORT, &web(), set).unwrap();
    world.settle();
    world
}

#[test]
fn they_come_from_the_spec_of_the_export_alone() {
    let mut world = exported(&json!({
        "exportedLabels": { "team": "a" }, "exportedAnnotations": { "example.com/about": "x y" },
    }));
    let label = |object: &mut Value| object["metadata"]["labels"] = json!({ "secret": "x" });
    world.own.edit(kinds::SERVICE, &web(), label).unwrap();
    world.settle();
    let offered = world.offered().unwrap();
    assert_eq!(offered["labels"], json!({ "team": "a" }));
    assert_eq!(offered["annotations"], json!({ "example.com/about": "x y" }));
    assert!(world.told().is_empty());
}

#[test]
fn what_cannot_be_exported_is_left_out_and_told() {
    let world = exported(&json!({
        "exportedLabels": {
            "team": "a", "kubernetes.io/x": "1", "sub.k8s.io/x": "1", "bad key": "1",
            "multicluster.x-k8s.io/x": "1", "networking.fleet.azure.com/x": "1",
            "value": "no label", "notk8s.io/x": "1", "empty": "",
        },
        "exportedAnnotations": { "long": "x".repeat(2049), "fits": "x".repeat(2048) },
    }));
    let offered = world.offered().unwrap();
    assert_eq!(offered["labels"], json!({ "team": "a", "notk8s.io/x": "1", "empty": "" }));
    assert_eq!(offered["annotations"], json!({ "fits": "x".repeat(2048) }));
    assert!(world.told().contains(&"ExportedMetadataRefused"));
    assert_eq!(world.conditions()[1], "True Exported", "the Service is exported");
}

#[test]
fn there_are_at_most_32_of_each() {
    let labels: serde_json::Map<_, _> =
        (0..40).map(|number| (format!("k{number:02}"), json!("v"))).collect();
    let world = exported(&json!({ "exportedLabels": labels }));
    let offered = world.offered().unwrap()["labels"].as_object().unwrap();
    assert_eq!(offered.len(), 32);
    assert!(offered.contains_key("k31") && !offered.contains_key("k32"));
}

/// Labels first, then annotations, by key: all members read them.
#[test]
fn together_they_have_at_most_8_kib() {
    let annotations: serde_json::Map<_, _> =
        (0..5).map(|number| (format!("k{number}"), json!("v".repeat(2000)))).collect();
    let mut annotations = annotations;
    annotations.insert("small".to_owned(), json!("fits"));
    let world = exported(&json!({
        "exportedLabels": { "team": "a" }, "exportedAnnotations": annotations,
    }));
    let offered = world.offered().unwrap();
    assert_eq!(offered["labels"], json!({ "team": "a" }));
    let kept: Vec<_> = offered["annotations"].as_object().unwrap().keys().collect();
    assert_eq!(kept, ["k0", "k1", "k2", "k3", "small"]);
    assert!(world.told().contains(&"ExportedMetadataRefused"));
    assert_eq!(world.conditions()[1], "True Exported");
}

#[test]
fn an_administrator_can_switch_them_off() {
    let mut world = exported(&json!({ "exportedLabels": { "team": "a" } }));
    world.settings.multicluster.exported_metadata = false;
    world.settle();
    assert!(world.offered().unwrap().get("labels").is_none());
}
