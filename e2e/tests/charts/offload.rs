//! Pods of one member in another: nothing of it unless it is asked for.

use std::collections::BTreeSet;

use fleet_testbed::helm::{Helm, chart};
use fleet_testbed::pod::NAMESPACE;
use serde_json::{Value, json};

use crate::{CHARTS, needed, with};

async fn rendered(name: &str, more: &Value) -> Vec<Value> {
    let helm = Helm::v4().await.unwrap();
    let values = with(needed(name), more);
    helm.template(&chart(name), (NAMESPACE, name), &values).await.unwrap()
}

fn names(objects: &[Value]) -> BTreeSet<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |it: &Value| format!("{} {}", text(&it["kind"]), text(&it["metadata"]["name"]));
    objects.iter().map(name).collect()
}

#[tokio::test]
async fn the_value_brings_four_definitions_and_nothing_else() {
    let off = rendered("hub-agent", &json!({})).await;
    let on = rendered("hub-agent", &json!({ "crds": { "offload": true } })).await;
    let added = ["offloadoffers", "podexports", "podimports", "virtualnodes"];
    let added = added.map(|plural| {
        format!("CustomResourceDefinition {plural}.offload.networking.fleet.azure.com")
    });
    assert_eq!(&names(&on) - &names(&off), added.into());
    let rest: Vec<_> = on.into_iter().filter(|object| !is_of_group(object)).collect();
    assert_eq!(rest, off, "no other object, right or setting changes");
}

fn is_of_group(object: &Value) -> bool {
    object["spec"]["group"] == "offload.networking.fleet.azure.com"
}

/// Values of an earlier release, which are reused, do not have it.
#[tokio::test]
async fn without_the_value_there_is_no_byte_of_it() {
    for name in CHARTS {
        let off = rendered(name, &json!({})).await;
        let text = serde_json::to_string(&off).unwrap().to_lowercase();
        for word in ["offload", "podexport", "podimport", "virtualnode"] {
            assert!(!text.contains(word), "{name}: {word}");
        }
    }
    let off = rendered("hub-agent", &json!({})).await;
    assert_eq!(rendered("hub-agent", &json!({ "crds": { "offload": null } })).await, off);
}
