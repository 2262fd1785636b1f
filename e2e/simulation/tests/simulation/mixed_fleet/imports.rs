//! Imports that Go agents take over from ours, and ours from them: what is bound stays bound.

use fleet_api::{ObjectName, annotations, finalizers, kinds};
use serde_json::{Value, json};

use crate::mixed_fleet::go::Agents;
use crate::mixed_fleet::member::{Member, field};
use crate::mixed_fleet::shapes::{IMPORTED, derived, desk, imported, imported_slice, resolved};

fn request() -> ObjectName {
    ObjectName::new("fleet-member-a", "team-desk")
}

fn copy() -> ObjectName {
    ObjectName::new("fleet-member-a", IMPORTED)
}

/// What a hub agent of ours distributes.
fn distribute(member: &mut Member) {
    let grant = |request: &mut Value| request["status"] = resolved();
    member.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request(), grant).unwrap();
    let object = json!({
        "metadata": {
            "finalizers": [finalizers::ENDPOINT_SLICE_IMPORT],
            "annotations": {
                annotations::ORIGIN_NAMESPACE: "fleet-member-b",
                annotations::SLICE_EXPORT_UID: "uid-of-export",
            },
        },
        "spec": {
            "addressType": "IPv4", "endpoints": [{ "addresses": ["10.2.0.1"] }],
            "ports": [{ "name": "web", "protocol": "TCP", "port": 8080 }],
            "endpointSliceReference": {
                "clusterId": "b", "kind": "EndpointSlice", "namespace": "team",
                "name": "desk-y1", "namespacedName": "team/desk-y1", "uid": "uid-of-y1",
                "resourceVersion": "77", "generation": 1, "exportedSince": "2025-12-31T23:00:00Z",
            },
            "ownerServiceReference":
                { "namespace": "team", "name": "desk", "namespacedName": "team/desk" },
        },
    });
    member.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &copy(), object).unwrap();
}

/// A member whose import of desk our agent has bound, and that has an address.
fn importing() -> Member {
    let mut member = Member::new();
    let wish = json!({ "spec": { "serviceImport": { "name": "desk" } } });
    member.own.create(kinds::MULTI_CLUSTER_SERVICE, &desk(), wish).unwrap();
    member.settle();
    distribute(&mut member);
    member.settle();
    give_address(&mut member);
    member.settle();
    assert_eq!(bound(&member), json!(["10.2.0.1"]));
    member
}

/// What the cluster's load balancer does for the derived Service.
fn give_address(member: &mut Member) {
    let address = |service: &mut Value| {
        service["spec"]["ports"][0]["nodePort"] = json!(31234);
        service["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.7" }] } });
    };
    member.own.edit(kinds::SERVICE, &derived(), address).unwrap();
}

/// Addresses of the imported slice.
fn bound(member: &Member) -> Value {
    field(&member.own, kinds::ENDPOINT_SLICE, &imported_slice(), "/endpoints/0/addresses")
}

/// Everything that traffic and users of the import depend on.
fn in_use(member: &Member) -> Vec<Value> {
    let slice = (kinds::ENDPOINT_SLICE, imported_slice());
    let (service, wish) = ((kinds::SERVICE, derived()), (kinds::MULTI_CLUSTER_SERVICE, desk()));
    let own = |(kind, name): &(_, _), path: &str| field(&member.own, *kind, name, path);
    vec![
        own(&slice, "/metadata/uid"),
        own(&slice, "/metadata/labels"),
        own(&slice, "/endpoints/0/addresses"),
        own(&service, "/metadata/uid"),
        own(&service, "/spec"),
        own(&wish, "/status/loadBalancer"),
        own(&wish, "/status/conditions/0/status"),
        own(&wish, "/metadata/labels"),
        field(&member.hub, kinds::INTERNAL_SERVICE_IMPORT, &request(), "/metadata/uid"),
        field(&member.hub, kinds::ENDPOINT_SLICE_IMPORT, &copy(), "/metadata/uid"),
    ]
}

/// Objects of ours are what Go agents expect (docs/design/contract.md#wire): nothing is deleted or made
/// anew. They refresh the version in the request, and note on the copy what they have measured.
#[test]
fn an_import_of_ours_is_theirs_as_it_is() {
    let mut member = importing();
    let before = in_use(&member);
    let writes = Agents::of(&mut member).settle();
    let expected = [
        "update InternalServiceImport fleet-member-a/team-desk".to_owned(),
        format!("update EndpointSliceImport {}", copy()),
    ];
    assert_eq!(writes, expected);
    assert_eq!(in_use(&member), before);
}

/// There and back, twice: after the first time no agent writes anything.
#[test]
fn there_is_no_storm_when_agents_take_turns() {
    let mut member = importing();
    let before = in_use(&member);
    Agents::of(&mut member).settle();
    for turn in 0..2 {
        assert_eq!(member.settle(), Vec::<String>::new(), "turn {turn}");
        assert_eq!(Agents::of(&mut member).settle(), Vec::<String>::new(), "turn {turn}");
    }
    assert_eq!(in_use(&member), before);

    let mut member = Member::new();
    imported(&mut member);
    assert_eq!(Agents::of(&mut member).settle(), Vec::<String>::new(), "the model is at rest");
    member.settle();
    let before = in_use(&member);
    Agents::of(&mut member).settle();
    assert_eq!(member.settle(), Vec::<String>::new());
    assert_eq!(Agents::of(&mut member).settle(), Vec::<String>::new());
    assert_eq!(in_use(&member), before);
}

/// What is changed and withdrawn under Go agents follows, whichever agent has bound it.
#[test]
fn an_import_of_ours_lives_and_ends_under_go_agents() {
    let mut member = importing();
    Agents::of(&mut member).settle();
    let change = |copy: &mut Value| {
        copy["spec"]["endpoints"] = json!([{ "addresses": ["10.2.0.9"] }]);
        copy["spec"]["endpointSliceReference"]["generation"] = json!(2);
    };
    member.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &copy(), change).unwrap();
    Agents::of(&mut member).settle();
    assert_eq!(bound(&member), json!(["10.2.0.9"]));

    member.own.delete(kinds::MULTI_CLUSTER_SERVICE, &desk()).unwrap();
    Agents::of(&mut member).settle();
    // What the hub does once the request is going.
    member.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    let release = |request: &mut Value| request["metadata"]["finalizers"] = json!([]);
    member.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request(), release).unwrap();
    Agents::of(&mut member).settle();
    for kind in [kinds::MULTI_CLUSTER_SERVICE, kinds::SERVICE_IMPORT, kinds::ENDPOINT_SLICE] {
        assert_eq!(member.own.names(kind), [], "{}", kind.kind);
    }
    assert_eq!(member.own.names(kinds::SERVICE), []);
    for kind in [kinds::INTERNAL_SERVICE_IMPORT, kinds::ENDPOINT_SLICE_IMPORT] {
        assert_eq!(member.hub.names(kind), [], "{}", kind.kind);
    }
}

/// An import that Go agents have made from nothing is ours with one write per object, and what is
/// withdrawn under our agent goes whole.
#[test]
fn an_import_that_go_agents_made_lives_and_ends_under_ours() {
    let mut member = Member::new();
    let wish = json!({ "spec": { "serviceImport": { "name": "desk" } } });
    member.own.create(kinds::MULTI_CLUSTER_SERVICE, &desk(), wish).unwrap();
    Agents::of(&mut member).settle();
    // A hub's finalizer on what a Go agent asks for.
    let hold = |request: &mut Value| {
        request["metadata"]["finalizers"] = json!([finalizers::INTERNAL_SERVICE_IMPORT]);
    };
    member.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request(), hold).unwrap();
    distribute(&mut member);
    Agents::of(&mut member).settle();
    give_address(&mut member);
    Agents::of(&mut member).settle();
    let before = in_use(&member);
    assert_eq!(bound(&member), json!(["10.2.0.1"]));

    let writes = member.settle();
    assert!(writes.iter().all(|write| !write.contains("delete")), "{writes:#?}");
    assert!(writes.len() <= 3, "one for each object of ours: {writes:#?}");
    assert_eq!(in_use(&member), before);
    assert_eq!(member.settle(), Vec::<String>::new());

    member.own.delete(kinds::MULTI_CLUSTER_SERVICE, &desk()).unwrap();
    member.settle();
    member.hub.delete(kinds::ENDPOINT_SLICE_IMPORT, &copy()).unwrap();
    let release = |request: &mut Value| request["metadata"]["finalizers"] = json!([]);
    member.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request(), release).unwrap();
    member.settle();
    for kind in [kinds::MULTI_CLUSTER_SERVICE, kinds::SERVICE_IMPORT, kinds::ENDPOINT_SLICE] {
        assert_eq!(member.own.names(kind), [], "{}", kind.kind);
    }
    assert_eq!(member.hub.names(kinds::ENDPOINT_SLICE_IMPORT), []);
}
