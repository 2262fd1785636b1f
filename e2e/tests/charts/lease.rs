//! Leases of members: nothing of them without the value, and what it brings.

use fleet_testbed::helm::{Helm, chart};
use fleet_testbed::pod::NAMESPACE;
use serde_json::{Value, json};

use crate::{find, needed, of_kind, with};

const RIGHT: &str = "fleet-member-lease";

async fn rendered(name: &str, more: &Value) -> Vec<Value> {
    let helm = Helm::v4().await.unwrap();
    let values = match name {
        "hub-agent" => json!({ "memberTokens": "bound", "members": [{ "name": "east" }] }),
        _ => needed(name),
    };
    let values = with(values, more);
    helm.template(&chart(name), (NAMESPACE, name), &values).await.unwrap()
}

fn enabled() -> Value {
    json!({ "memberLease": { "enabled": true } })
}

fn variables(objects: &[Value]) -> Vec<Value> {
    let pod = &of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"];
    pod["containers"][0]["env"].as_array().unwrap().clone()
}

/// Values of an earlier release, which are reused, have none.
#[tokio::test]
async fn without_the_value_there_is_no_byte_of_it() {
    for name in crate::CHARTS {
        let off = rendered(name, &json!({})).await;
        assert_eq!(rendered(name, &json!({ "memberLease": null })).await, off);
        let text = serde_json::to_string(&off).unwrap();
        for word in [RIGHT, "MEMBER_LEASE", "MEMBER_SILENT_AFTER"] {
            assert!(!text.contains(word), "{word} in {name}");
        }
    }
}

#[tokio::test]
async fn the_hub_agent_may_follow_leases_of_one_name() {
    let objects = rendered("hub-agent", &enabled()).await;
    let role = find(&objects, "ClusterRole", "hub-agent-member-lease").unwrap();
    let only = json!([{
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
        "resourceNames": ["fleet-member"], "verbs": ["list", "watch"],
    }]);
    assert_eq!(role["rules"], only);
    let binding = find(&objects, "ClusterRoleBinding", "hub-agent-member-lease").unwrap();
    assert_eq!(binding["subjects"][0]["name"], "hub-agent");
    let variables = variables(&objects);
    for (name, value) in [("MEMBER_LEASE", "true"), ("MEMBER_SILENT_AFTER", "60s")] {
        assert!(variables.contains(&json!({ "name": name, "value": value })), "{name}");
    }
}

#[tokio::test]
async fn members_may_renew_their_own_leases() {
    let north = json!({ "memberLease": { "enabled": true, "members": [
        { "name": "north", "subjects": [{ "kind": "User", "name": "north" }] },
    ] } });
    let objects = rendered("hub-agent", &north).await;
    let bindings = of_kind(&objects, "RoleBinding");
    let of = |namespace: &str| {
        let mut all = bindings.iter().filter(|it| it["metadata"]["name"] == RIGHT);
        all.find(|it| it["metadata"]["namespace"] == namespace).unwrap()["subjects"].clone()
    };
    assert_eq!(of("fleet-member-north"), json!([{ "kind": "User", "name": "north" }]));
    assert_eq!(of("fleet-member-east")[0]["namespace"], "fleet-member-east");
    let quotas = of_kind(&objects, "ResourceQuota").into_iter();
    let quotas = quotas.filter(|quota| quota["metadata"]["name"] == RIGHT);
    assert_eq!(quotas.count(), 2);
    // It is bound in namespaces of members alone.
    let everywhere = of_kind(&objects, "ClusterRoleBinding");
    assert!(everywhere.iter().all(|binding| binding["roleRef"]["name"] != RIGHT));
    let role = find(&objects, "ClusterRole", RIGHT).unwrap();
    let verbs: Vec<_> =
        role["rules"].as_array().unwrap().iter().map(|rule| &rule["verbs"]).collect();
    assert_eq!(verbs, [&json!(["get", "update"]), &json!(["create"])]);
}

#[tokio::test]
async fn a_member_agent_renews_by_a_variable() {
    let variables = variables(&rendered("member-agent", &enabled()).await);
    assert!(variables.contains(&json!({ "name": "MEMBER_LEASE", "value": "true" })));
}
