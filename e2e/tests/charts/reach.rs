//! Proof of reachability: nothing of it unless it is asked for, and what the values bring.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{CHARTS, find, names, of_kind, rendered, with};

/// Values of an earlier release, which are reused, have none.
#[tokio::test]
async fn without_the_values_there_is_no_byte_of_it() {
    for name in CHARTS {
        let off = rendered(name, &json!({})).await;
        assert_eq!(rendered(name, &json!({ "reachability": null })).await, off);
        let text = serde_json::to_string(&off).unwrap();
        for word in ["reachreports", "fleet-reach", "REACHABILITY"] {
            assert!(!text.contains(word), "{word} in {name}");
        }
    }
}

#[tokio::test]
async fn a_hub_that_takes_reports_has_all_that_it_takes() {
    let base = json!({ "members": [{ "name": "east" }], "memberTokens": "bound" });
    let off = rendered("hub-agent", &base).await;
    let subjects = json!([{ "kind": "User", "name": "west" }]);
    let members = json!([{ "name": "west", "subjects": subjects }]);
    let reachability = json!({ "enabled": true, "members": members });
    let on = rendered("hub-agent", &with(base, &json!({ "reachability": reachability }))).await;
    let expected = [
        "CustomResourceDefinition reachreports.multicluster.networking.fleet.azure.com",
        "Role fleet-reach",
        "RoleBinding fleet-reach",
        "ValidatingAdmissionPolicy reachreports.networking.fleet.azure.com",
        "ValidatingAdmissionPolicyBinding reachreports.networking.fleet.azure.com",
    ];
    assert_eq!(&names(&on) - &names(&off), expected.map(str::to_owned).into());
    let bindings = of_kind(&on, "RoleBinding");
    let of_west = bindings.iter().find(|it| {
        it["metadata"]["name"] == "fleet-reach"
            && it["metadata"]["namespace"] == "fleet-member-west"
    });
    assert_eq!(of_west.unwrap()["subjects"], subjects);
}

/// Helm installs nothing if an object is there twice.
#[tokio::test]
async fn a_member_in_two_lists_has_its_rights_once() {
    let subjects = json!([{ "kind": "User", "name": "west" }]);
    let again = json!({ "enabled": true, "members": [{ "name": "west", "subjects": subjects }] });
    let values = json!({
        "members": [{ "name": "west" }], "memberTokens": "bound",
        "reachability": again, "traffic": again, "memberLease": again,
    });
    let objects = rendered("hub-agent", &values).await;
    let place = |it: &Value| {
        let named = &it["metadata"];
        format!("{} {} {}", it["kind"], named["namespace"], named["name"])
    };
    let places: Vec<_> = objects.iter().map(place).collect();
    let distinct: BTreeSet<_> = places.iter().collect();
    assert!(distinct.iter().any(|it| it.contains("fleet-reach")));
    assert_eq!(places.len(), distinct.len(), "{places:?}");
}

/// `--reuse-values` brings the rules of the release before.
#[tokio::test]
async fn a_rule_that_the_values_do_not_know_is_in_force() {
    let policy = "ValidatingAdmissionPolicy reachreports.networking.fleet.azure.com";
    for (rule, expected) in [(json!(null), true), (json!(true), true), (json!(false), false)] {
        let rules = json!({ "rules": { "P18": rule } });
        let values = json!({ "reachability": { "enabled": true }, "policies": rules });
        let objects = names(&rendered("hub-agent", &values).await);
        assert_eq!(objects.contains(policy), expected, "{values}");
    }
}

/// A variable, a way through the network policy, and no right.
#[tokio::test]
async fn a_member_that_dials_may_connect_to_any_port() {
    let policy = json!({ "networkPolicy": { "enabled": true } });
    let off = rendered("member-agent", &policy).await;
    let mode = json!({ "reachability": { "mode": "names" } });
    let on = rendered("member-agent", &with(policy, &mode)).await;
    assert_eq!(names(&on), names(&off));
    let deployment = &of_kind(&on, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0];
    let variable = json!({ "name": "REACHABILITY", "value": "names" });
    assert!(deployment["env"].as_array().unwrap().contains(&variable), "{deployment}");
    let any = json!({ "ports": [{ "protocol": "TCP" }] });
    let egress = |objects: &[Value]| {
        let policy = find(objects, "NetworkPolicy", "member-agent").unwrap();
        policy["spec"]["egress"].as_array().unwrap().contains(&any)
    };
    assert!(egress(&on) && !egress(&off));
}
