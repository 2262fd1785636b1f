//! The API of multicluster.x-k8s.io: nothing of it without the mode, and what it brings.

use std::collections::BTreeSet;

use fleet_testbed::helm::{Helm, chart, documents};
use fleet_testbed::pod::NAMESPACE;
use serde_json::{Value, json};

use crate::{find, needed, of_kind, with};

const QUOTA: &str = "fleet-member-multicluster";
const SERVED: [&str; 2] =
    ["--api-versions", "multicluster.networking.fleet.azure.com/v1alpha1/ExportedService"];

async fn rendered(more: &Value, arguments: &[&str]) -> Vec<Value> {
    let (helm, place) = (Helm::v4().await.unwrap(), (NAMESPACE, "hub-agent"));
    let values = json!({ "memberTokens": "bound", "members": [{ "name": "east" }] });
    let values = with(values, more);
    let text = helm.template_text(&chart("hub-agent"), place, &values, arguments).await.unwrap();
    documents(&text).unwrap()
}

fn mode(mode: &Value) -> Value {
    json!({ "multicluster": { "mode": mode } })
}

/// Kind and name of what a mode adds.
async fn added(by: &Value) -> BTreeSet<String> {
    let names = |objects: &[Value]| -> BTreeSet<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = |it: &Value| {
            format!(
                "{} {} {}",
                text(&it["kind"]),
                text(&it["metadata"]["namespace"]),
                text(&it["metadata"]["name"])
            )
        };
        objects.iter().map(name).collect()
    };
    let (off, on) = (rendered(&json!({}), &[]).await, rendered(by, &[]).await);
    &names(&on) - &names(&off)
}

/// YAML 1.1, which Helm reads, takes a bare `on` for true.
#[tokio::test]
async fn a_mode_brings_definitions_rights_and_policies() {
    let on = added(&mode(&json!("on"))).await;
    let expected = [
        "ClusterRole  fleet-multicluster-reader",
        "ClusterRole  hub-agent-multicluster",
        "ClusterRoleBinding  fleet-multicluster-reader-east",
        "ClusterRoleBinding  hub-agent-multicluster",
        "CustomResourceDefinition  exportedservices.multicluster.networking.fleet.azure.com",
        "CustomResourceDefinition  resolvedservices.multicluster.networking.fleet.azure.com",
        "Role fleet-member-east fleet-multicluster",
        "Role fleet-system fleet-multicluster-reader",
        "Role fleet-system hub-agent-multicluster",
        "RoleBinding fleet-member-east fleet-multicluster",
        "RoleBinding fleet-system fleet-multicluster-reader-east",
        "RoleBinding fleet-system hub-agent-multicluster",
        "ValidatingAdmissionPolicy  member-exportedservices.networking.fleet.azure.com",
        "ValidatingAdmissionPolicy  multicluster-statuses.networking.fleet.azure.com",
        "ValidatingAdmissionPolicy  resolved-services.networking.fleet.azure.com",
        "ValidatingAdmissionPolicyBinding  member-exportedservices.networking.fleet.azure.com",
        "ValidatingAdmissionPolicyBinding  strict.member-exportedservices.networking.fleet.azure.com",
        "ValidatingAdmissionPolicyBinding  multicluster-statuses.networking.fleet.azure.com",
        "ValidatingAdmissionPolicyBinding  resolved-services.networking.fleet.azure.com",
    ];
    assert_eq!(on, expected.map(str::to_owned).into());
    assert_eq!(added(&mode(&json!(true))).await, on);
    assert_eq!(added(&mode(&json!("clean-up"))).await, on);
}

/// An upgrade that does not ask for it changes nothing, values of an earlier release included.
#[tokio::test]
async fn without_the_mode_there_is_no_byte_of_it() {
    let off = rendered(&json!({}), &SERVED).await;
    assert_eq!(rendered(&mode(&json!(false)), &SERVED).await, off);
    assert_eq!(rendered(&json!({ "multicluster": null }), &SERVED).await, off);
    let text = serde_json::to_string(&off).unwrap();
    for word in ["exportedservices", "MULTICLUSTER", "resolvedservices"] {
        assert!(!text.contains(word), "{word}");
    }
}

#[tokio::test]
async fn definitions_can_be_left_to_others_or_come_first() {
    let kinds = |objects: &[Value]| of_kind(objects, "CustomResourceDefinition").len();
    let plain = kinds(&rendered(&json!({}), &[]).await);
    let first = json!({ "crds": { "multicluster": true } });
    assert_eq!(kinds(&rendered(&first, &[]).await), plain + 2);
    let others = with(mode(&json!("on")), &json!({ "crds": { "multicluster": false } }));
    assert_eq!(kinds(&rendered(&others, &[]).await), plain);
}

/// An agent of 0.1.0 would stop at a flag.
#[tokio::test]
async fn settings_are_variables() {
    let objects = rendered(&mode(&json!("on")), &[]).await;
    let container =
        &of_kind(&objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0];
    for (name, value) in [
        ("MULTICLUSTER", "on"),
        ("CLUSTERSET_ID", "fleet"),
        ("MULTICLUSTER_SETTLE", "60s"),
        ("MULTICLUSTER_WITHDRAWN_FOR", "1h"),
    ] {
        let variables = container["env"].as_array().unwrap();
        assert!(variables.contains(&json!({ "name": name, "value": value })), "{name}");
    }
    assert!(!container["args"].to_string().contains("multicluster"));
}

#[tokio::test]
async fn members_that_others_have_joined_can_be_named() {
    let north = json!({ "multicluster": { "mode": "on", "members": [
        { "name": "north", "subjects": [{ "kind": "User", "name": "north" }] },
    ] } });
    let objects = rendered(&north, &SERVED).await;
    let binding = find(&objects, "ClusterRoleBinding", "fleet-multicluster-reader-north").unwrap();
    assert_eq!(binding["subjects"], json!([{ "kind": "User", "name": "north" }]));
    let quotas = objects.iter().filter(|object| object["metadata"]["name"] == QUOTA);
    assert_eq!(quotas.count(), 2);
    let limit = json!({ "memberQuotas": { "limits": { "exportedservices": 7 } } });
    let objects = rendered(&with(mode(&json!("on")), &limit), &SERVED).await;
    let hard = &find(&objects, "ResourceQuota", QUOTA).unwrap()["spec"]["hard"];
    assert_eq!(
        hard,
        &json!({ "count/exportedservices.multicluster.networking.fleet.azure.com": "7" })
    );
}

/// What the chart of the member agent renders.
async fn of_member(more: &Value) -> Vec<Value> {
    let helm = Helm::v4().await.unwrap();
    let values = with(needed("member-agent"), more);
    helm.template(&chart("member-agent"), (NAMESPACE, "member-agent"), &values).await.unwrap()
}

#[tokio::test]
async fn a_member_has_nothing_of_it_without_the_mode() {
    let off = of_member(&json!({})).await;
    assert_eq!(of_member(&mode(&json!(false))).await, off);
    assert_eq!(of_member(&json!({ "multicluster": null })).await, off);
    assert_eq!(of_member(&json!({ "multicluster": {} })).await, off);
    let text = serde_json::to_string(&off).unwrap();
    for word in ["multicluster.x-k8s.io", "MULTICLUSTER", "about.k8s.io"] {
        assert!(!text.contains(word), "{word}");
    }
}

#[tokio::test]
async fn a_member_gets_rights_and_variables_with_it() {
    let on = of_member(&mode(&json!("on"))).await;
    assert_eq!(of_member(&mode(&json!(true))).await, on);
    for name in ["multicluster", "multicluster-view", "multicluster-edit"] {
        assert!(find(&on, "ClusterRole", &format!("member-agent-{name}")).is_some(), "{name}");
    }
    for chosen in ["on", "clean-up"] {
        let objects = of_member(&mode(&json!(chosen))).await;
        let container =
            &of_kind(&objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0];
        let variables = container["env"].as_array().unwrap();
        assert!(variables.contains(&json!({ "name": "MULTICLUSTER", "value": chosen })));
        assert!(variables.contains(&json!({ "name": "MULTICLUSTER_SETTLE", "value": "60s" })));
        assert!(!container["args"].to_string().contains("multicluster"), "0.1.0 stops at flags");
    }
}

/// What it may write in users' namespaces has a policy of its own.
#[tokio::test]
async fn a_member_chooses_what_it_imports() {
    let chosen = json!({ "multicluster": {
        "mode": "on", "importNamespaces": ["shop", "team/web"], "zones": false,
    } });
    let objects = of_member(&chosen).await;
    let container =
        &of_kind(&objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0];
    let variables = container["env"].as_array().unwrap();
    for (name, value) in
        [("MULTICLUSTER_IMPORT_NAMESPACES", "shop,team/web"), ("MULTICLUSTER_ZONES", "false")]
    {
        assert!(variables.contains(&json!({ "name": name, "value": value })), "{name}");
    }
    let policies = of_kind(&objects, "ValidatingAdmissionPolicy");
    for name in ["standard-services", "standard-imports"] {
        let name = format!("{name}.member-agent.networking.fleet.azure.com");
        assert!(policies.iter().any(|policy| policy["metadata"]["name"] == *name), "{name}");
    }
}

/// In many clusters the role of CoreDNS is reset to what their provider ships.
#[tokio::test]
async fn coredns_may_read_imports_where_that_is_asked_for() {
    let name = "member-agent-multicluster-coredns";
    let plain = of_member(&mode(&json!("on"))).await;
    assert!(find(&plain, "ClusterRole", name).is_none());
    let asked = json!({ "multicluster": { "mode": "on", "coreDNS": true } });
    let objects = of_member(&asked).await;
    let rules = &find(&objects, "ClusterRole", name).unwrap()["rules"];
    assert_eq!(rules[0]["resources"], json!(["serviceimports"]));
    assert_eq!(
        (rules.as_array().unwrap().len(), &rules[0]["verbs"]),
        (1, &json!(["list", "watch"]))
    );
    let binding = find(&objects, "ClusterRoleBinding", name).unwrap();
    assert_eq!(binding["subjects"][0]["name"], "coredns");
}

/// They belong to others in many clusters, so users ask for them.
#[tokio::test]
async fn definitions_of_the_standard_api_come_where_they_are_asked_for() {
    let kinds = |objects: &[Value]| -> BTreeSet<String> {
        let definitions = of_kind(objects, "CustomResourceDefinition").into_iter();
        definitions.filter_map(|it| Some(it["metadata"]["name"].as_str()?.to_owned())).collect()
    };
    let plain = kinds(&of_member(&mode(&json!("on"))).await);
    let all = json!({ "crds": { "multicluster": true, "about": true } });
    let more = &kinds(&of_member(&all).await) - &plain;
    let expected = [
        "clusterproperties.about.k8s.io",
        "serviceexports.multicluster.x-k8s.io",
        "serviceimports.multicluster.x-k8s.io",
    ];
    assert_eq!(more, expected.map(str::to_owned).into());
}
