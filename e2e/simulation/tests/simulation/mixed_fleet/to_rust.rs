//! Our agent takes over a member from Go agents.

use fleet_api::{ObjectName, annotations, kinds};
use serde_json::{Value, json};

use crate::mixed_fleet::member::{Member, field, shop, slice};
use crate::mixed_fleet::shapes::{
    EXPORTED, IMPORTED, derived, desk, exported, imported, imported_slice,
};

/// Nothing is written: names, finalizers, conditions and references mean the same as ours.
#[test]
fn an_export_is_adopted_as_it_is() {
    let mut member = Member::new();
    exported(&mut member);
    assert_eq!(member.settle(), Vec::<String>::new());
    assert_eq!(member.copies(), [EXPORTED.to_owned()].into());
}

/// Written once each: the derived Service and the imported slice get the annotations by which their
/// owning key follows from the object alone, the slice's with what is known of its latency and its
/// origin. The message of the MultiClusterService, where its words differ, comes along.
#[test]
fn an_import_is_adopted_with_one_write_per_object_of_ours() {
    let mut member = Member::new();
    imported(&mut member);
    let mut writes = member.settle();
    writes.retain(|write| !write.contains("MultiClusterService team/desk"));
    assert_eq!(
        writes,
        [
            format!("own: patch Service {}", derived()),
            format!("own: update EndpointSlice {}", imported_slice()),
        ]
    );
    assert_eq!(member.settle(), Vec::<String>::new());
    let uid = field(&member.own, kinds::MULTI_CLUSTER_SERVICE, &desk(), "/metadata/uid");
    let noted = field(&member.own, kinds::SERVICE, &derived(), "/metadata/annotations");
    assert_eq!(noted[annotations::MULTI_CLUSTER_SERVICE_UID], uid);
    assert_eq!(
        field(&member.own, kinds::ENDPOINT_SLICE, &imported_slice(), "/endpoints/0/addresses"),
        json!(["10.2.0.1"])
    );
    let addresses =
        field(&member.own, kinds::MULTI_CLUSTER_SERVICE, &desk(), "/status/loadBalancer");
    assert_eq!(addresses["ingress"][0]["ip"], "192.0.2.7", "the address stays");
}

/// Exporting and importing member in one.
#[test]
fn there_is_no_storm_after_the_first_writes() {
    let mut member = Member::new();
    exported(&mut member);
    imported(&mut member);
    member.settle();
    assert_eq!(member.settle(), Vec::<String>::new());
}

/// What changes after the swap goes to the adopted copy, under its name, in one write; the
/// annotations that Go agents left on the user's slice stay as they are.
#[test]
fn a_change_goes_to_the_adopted_copy() {
    let mut member = Member::new();
    exported(&mut member);
    member.settle();
    let before = field(&member.own, kinds::ENDPOINT_SLICE, &slice(), "/metadata/annotations");
    let change = |slice: &mut Value| slice["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
    member.own.edit(kinds::ENDPOINT_SLICE, &slice(), change).unwrap();
    let written = format!("hub: update EndpointSliceExport fleet-member-a/{EXPORTED}");
    assert_eq!(member.settle(), [written]);
    let after = field(&member.own, kinds::ENDPOINT_SLICE, &slice(), "/metadata/annotations");
    assert_eq!(after, before);
}

#[test]
fn an_adopted_export_is_withdrawn_whole() {
    let mut member = Member::new();
    exported(&mut member);
    member.own.delete(kinds::SERVICE_EXPORT, &shop()).unwrap();
    member.settle();
    assert!(member.copies().is_empty());
    assert!(member.own.get(kinds::SERVICE_EXPORT, &shop()).is_none());
    let left = field(&member.own, kinds::ENDPOINT_SLICE, &slice(), "/metadata/annotations");
    assert_eq!(left[annotations::FLEET_UNIQUE_NAME], EXPORTED, "read, never removed");
}

#[test]
fn an_adopted_import_is_withdrawn_whole() {
    let mut member = Member::new();
    imported(&mut member);
    member.settle();
    member.own.delete(kinds::MULTI_CLUSTER_SERVICE, &desk()).unwrap();
    member.settle();
    // What the hub does: the claim is withdrawn, so the request and the copy go.
    for (kind, name) in
        [(kinds::INTERNAL_SERVICE_IMPORT, "team-desk"), (kinds::ENDPOINT_SLICE_IMPORT, IMPORTED)]
    {
        let name = ObjectName::new("fleet-member-a", name);
        member.hub.delete(kind, &name).unwrap();
    }
    let release = |request: &mut Value| request["metadata"]["finalizers"] = json!([]);
    let request = ObjectName::new("fleet-member-a", "team-desk");
    member.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request, release).unwrap();
    member.settle();
    assert!(member.own.names(kinds::MULTI_CLUSTER_SERVICE).is_empty());
    assert!(member.own.names(kinds::SERVICE_IMPORT).is_empty());
    assert!(member.own.get(kinds::ENDPOINT_SLICE, &imported_slice()).is_none());
    assert!(member.hub.names(kinds::ENDPOINT_SLICE_IMPORT).is_empty());
    let service = member.own.get(kinds::SERVICE, &derived());
    assert!(service.is_none_or(|service| !service["metadata"]["deletionTimestamp"].is_null()));
}

/// States in which a Go agent may be replaced, other than at rest.
#[test]
fn a_half_made_export_is_finished() {
    let made: [fn(&mut Member); 4] = [
        // Nothing but the user's objects.
        |member| member.user_exports(),
        // The ServiceExport is valid and pending; nothing is on the hub.
        |member| {
            exported(member);
            for kind in [kinds::INTERNAL_SERVICE_EXPORT, kinds::ENDPOINT_SLICE_EXPORT] {
                for name in member.hub.names(kind) {
                    let strip = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
                    member.hub.edit(kind, &name, strip).unwrap();
                    member.hub.delete(kind, &name).unwrap();
                }
            }
        },
        // The slice has its name, and no copy yet.
        |member| {
            exported(member);
            let name = member.hub.names(kinds::ENDPOINT_SLICE_EXPORT).remove(0);
            member.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap();
        },
        // The hub has not answered.
        |member| {
            exported(member);
            let name = member.hub.names(kinds::INTERNAL_SERVICE_EXPORT).remove(0);
            let forget = |internal: &mut Value| internal["status"] = json!({});
            member.hub.edit(kinds::INTERNAL_SERVICE_EXPORT, &name, forget).unwrap();
        },
    ];
    for (at, make) in made.into_iter().enumerate() {
        let mut member = Member::new();
        make(&mut member);
        member.settle();
        member.hub_accepts();
        member.settle();
        assert_eq!(member.copies().len(), 1, "case {at}");
        let conditions = field(&member.own, kinds::SERVICE_EXPORT, &shop(), "/status/conditions");
        let statuses: Vec<_> =
            conditions.as_array().unwrap().iter().map(|c| &c["status"]).collect();
        assert_eq!(statuses, ["True", "False"], "case {at}");
        assert_eq!(member.settle(), Vec::<String>::new(), "case {at}");
    }
}
