//! Pods of one member in another: nothing of it unless it is asked for.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{CHARTS, names, rendered, with};

const DEFINITIONS: [&str; 4] = ["offloadoffers", "podexports", "podimports", "virtualnodes"];

fn definitions() -> BTreeSet<String> {
    let name =
        |plural| format!("CustomResourceDefinition {plural}.offload.networking.fleet.azure.com");
    DEFINITIONS.map(name).into()
}

#[tokio::test]
async fn the_value_brings_four_definitions_and_nothing_else() {
    let off = rendered("hub-agent", &json!({})).await;
    let on = rendered("hub-agent", &json!({ "crds": { "offload": true } })).await;
    assert_eq!(&names(&on) - &names(&off), definitions());
    let rest: Vec<_> = on.into_iter().filter(|object| !is_of_group(object)).collect();
    assert_eq!(rest, off, "no other object, right or setting changes");
}

fn is_of_group(object: &Value) -> bool {
    object["spec"]["group"] == "offload.networking.fleet.azure.com"
}

/// A hub that carries Pods: definitions, rights of the agent and of members, Leases, policies, and the flag.
#[tokio::test]
async fn a_hub_that_carries_pods_has_all_that_it_takes() {
    let members = json!([{ "name": "east" }]);
    let base = json!({ "members": members, "memberTokens": "bound" });
    let off = rendered("hub-agent", &base).await;
    let served = json!({ "enabled": true, "members": [{ "name": "west" }] });
    let more = with(base, &json!({ "virtualNodes": served }));
    let on = rendered("hub-agent", &more).await;
    let mut expected = definitions();
    expected.extend(DEFINITIONS.iter().flat_map(|plural| {
        ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]
            .map(|kind| format!("{kind} offload-{plural}.networking.fleet.azure.com"))
    }));
    for name in ["hub-agent-offload", "hub-agent-member-lease"] {
        expected.extend(["ClusterRole", "ClusterRoleBinding"].map(|kind| format!("{kind} {name}")));
    }
    let own = [
        "ClusterRole fleet-member-lease",
        "RoleBinding fleet-member-lease",
        "ResourceQuota fleet-member-lease",
        "Role fleet-offload",
        "RoleBinding fleet-offload",
    ];
    expected.extend(own.map(str::to_owned));
    assert_eq!(&names(&on) - &names(&off), expected);
    let deployment = on.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let env = deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
    for name in ["VIRTUAL_NODES", "MEMBER_LEASE"] {
        assert!(env.iter().any(|it| it["name"] == *name && it["value"] == "true"), "{name}");
    }
    // A member alone has rights in its namespace.
    for binding in on
        .iter()
        .filter(|it| it["kind"] == "RoleBinding" && it["metadata"]["name"] == "fleet-offload")
    {
        assert_eq!(binding["subjects"][0]["namespace"], binding["metadata"]["namespace"]);
    }
}

/// Values of an earlier release, which are reused, do not have it.
#[tokio::test]
async fn without_the_value_there_is_no_byte_of_it() {
    for name in CHARTS {
        let off = rendered(name, &json!({})).await;
        let text = serde_json::to_string(&off).unwrap().to_lowercase();
        // The ranges of executors are part of a member policy, with or without them.
        let text = text.replace("offload-cidrs", "").replace("offload-namespaces", "");
        for word in ["offload", "podexport", "podimport", "virtualnode", "virtual_node"] {
            assert!(!text.contains(word), "{name}: {word}");
        }
    }
    let off = rendered("hub-agent", &json!({})).await;
    assert_eq!(rendered("hub-agent", &json!({ "crds": { "offload": null } })).await, off);
    assert_eq!(rendered("hub-agent", &json!({ "virtualNodes": null })).await, off);
}
