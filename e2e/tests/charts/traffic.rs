//! Which endpoints get new connections: nothing of it unless it is asked for.

use std::collections::BTreeSet;

use serde_json::json;

use crate::{CHARTS, names, rendered, with};

const DEFINITIONS: [&str; 3] = ["fleettraffics", "membertraffics", "servicetraffics"];

fn definition(plural: &str) -> String {
    format!("CustomResourceDefinition {plural}.traffic.networking.fleet.azure.com")
}

#[tokio::test]
async fn the_values_of_definitions_bring_these_and_nothing_else() {
    let off = rendered("hub-agent", &json!({})).await;
    let on = rendered("hub-agent", &json!({ "crds": { "traffic": true } })).await;
    assert_eq!(&names(&on) - &names(&off), DEFINITIONS.map(definition).into());
    let off = rendered("member-agent", &json!({})).await;
    let on = rendered("member-agent", &json!({ "crds": { "traffic": true } })).await;
    assert_eq!(&names(&on) - &names(&off), [definition("servicetraffics")].into());
}

/// Definitions, rights of the agent and of members, Leases, policies, and the flags. The object of the fleet comes once its
/// definition is there.
#[tokio::test]
async fn a_hub_that_decides_about_traffic_has_all_that_it_takes() {
    let base = json!({ "members": [{ "name": "east" }], "memberTokens": "bound" });
    let off = rendered("hub-agent", &base).await;
    let traffic = json!({ "enabled": true, "members": [{ "name": "west" }] });
    let on = rendered("hub-agent", &with(base, &json!({ "traffic": traffic }))).await;
    let mut expected: BTreeSet<_> = DEFINITIONS.map(definition).into();
    expected.extend(DEFINITIONS.iter().flat_map(|plural| {
        ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]
            .map(|kind| format!("{kind} traffic-{plural}.networking.fleet.azure.com"))
    }));
    for name in ["hub-agent-traffic", "hub-agent-member-lease"] {
        expected.extend(["ClusterRole", "ClusterRoleBinding"].map(|kind| format!("{kind} {name}")));
    }
    let own = [
        "ClusterRole fleet-traffic-reader",
        "ClusterRoleBinding fleet-traffic-reader-east",
        "ClusterRoleBinding fleet-traffic-reader-west",
        "ClusterRole fleet-member-lease",
        "RoleBinding fleet-member-lease",
        "ResourceQuota fleet-member-lease",
    ];
    expected.extend(own.map(str::to_owned));
    assert_eq!(&names(&on) - &names(&off), expected);
    let deployment = on.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let env = deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
    for name in ["TRAFFIC", "MEMBER_LEASE"] {
        assert!(env.iter().any(|it| it["name"] == *name && it["value"] == "true"), "{name}");
    }
    for binding in on.iter().filter(|it| {
        let name = it["metadata"]["name"].as_str().unwrap_or_default();
        it["kind"] == "ClusterRoleBinding" && name.starts_with("fleet-traffic-reader-")
    }) {
        let name = binding["metadata"]["name"].as_str().unwrap();
        let member = name.trim_start_matches("fleet-traffic-reader-");
        assert_eq!(binding["subjects"][0]["namespace"], format!("fleet-member-{member}"));
    }
}

/// Values of an earlier release, which are reused, do not have it.
#[tokio::test]
async fn without_the_value_there_is_no_byte_of_it() {
    for name in CHARTS {
        let off = rendered(name, &json!({})).await;
        let text = serde_json::to_string(&off).unwrap().to_lowercase();
        for word in ["traffic.networking", "\"traffic\"", "traffic-reader", "fleettraffic"] {
            assert!(!text.contains(word), "{name}: {word}");
        }
        let without = rendered(name, &json!({ "crds": { "traffic": null } })).await;
        assert_eq!(without, off);
    }
    let off = rendered("hub-agent", &json!({})).await;
    assert_eq!(rendered("hub-agent", &json!({ "traffic": null })).await, off);
}

/// A flag of the agent lets derived Services have a selector, and its admission policy allows one with the mark.
#[tokio::test]
async fn a_selector_is_allowed_where_administrators_want_it() {
    const MARK: &str = "traffic.networking.fleet.azure.com/local-endpoints";
    let with_value = async |selectors: bool, enabled: bool| {
        let more = json!({
            "multicluster": { "mode": "on" },
            "traffic": { "enabled": enabled, "derivedSelectors": selectors },
        });
        rendered("member-agent", &more).await
    };
    for (selectors, enabled) in [(true, true), (false, true), (true, false)] {
        let objects = with_value(selectors, enabled).await;
        let text = serde_json::to_string(&objects).unwrap();
        let expected = selectors && enabled;
        assert_eq!(text.contains("DERIVED_SELECTORS"), expected);
        assert_eq!(text.contains(MARK), expected);
    }
}
