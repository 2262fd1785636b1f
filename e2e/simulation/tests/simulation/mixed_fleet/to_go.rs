//! Go agents take over a member from ours.

use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model_server::ModelServer;
use member_agent::rollback::annotate;
use serde_json::{Value, json};

use crate::mixed_fleet::go::{Agents, Class, classify, is_leftover};
use crate::mixed_fleet::member::{Member, field, shop, user_slice};
use crate::mixed_fleet::shapes::{EXPORTED, desk, exported};

/// A check of the model: what it has exported itself stays, and what lost its reason goes.
#[test]
fn the_model_exports_and_unexports() {
    let mut member = Member::new();
    member.user_exports();
    let valid = |export: &mut Value| {
        export["status"] = json!({ "conditions": [
            { "type": "Valid", "status": "True" }, { "type": "Conflict", "status": "False" },
        ] });
    };
    member.own.edit(kinds::SERVICE_EXPORT, &shop(), valid).unwrap();
    Agents::of(&mut member).settle();
    assert_eq!(member.copies().len(), 1);
    assert_eq!(Agents::of(&mut member).settle(), Vec::<String>::new());

    let spoil = |export: &mut Value| {
        export["status"]["conditions"][1]["status"] = json!("True");
    };
    member.own.edit(kinds::SERVICE_EXPORT, &shop(), spoil).unwrap();
    Agents::of(&mut member).settle();
    assert!(member.copies().is_empty());
}

#[test]
fn the_models_rules_are_those_of_the_specification() {
    let slice = user_slice();
    assert_eq!(classify(&slice, None), Class::Skip);
    let mut exported = slice.clone();
    exported["metadata"]["annotations"] =
        json!({ "networking.fleet.azure.com/fleet-unique-name": "x" });
    assert_eq!(classify(&exported, None), Class::Unexport);
    let copy = |name: &str| json!({ "metadata": { "name": name } });
    assert!(!is_leftover(&copy("x"), Some(&exported)));
    assert!(is_leftover(&copy("y"), Some(&exported)));
    assert!(is_leftover(&copy("x"), Some(&slice)));
    assert!(is_leftover(&copy("x"), None));
}

/// What our agent has exported is the Go agents' as it is, but for the names of slices.
#[test]
fn the_exported_service_stays() {
    let mut member = Member::exporting();
    let uid = field(&member.hub, kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), "/metadata/uid");
    let writes = Agents::of(&mut member).settle();
    let after = field(&member.hub, kinds::INTERNAL_SERVICE_EXPORT, &on_hub(), "/metadata/uid");
    assert_eq!(after, uid, "{writes:#?}");
    assert!(!writes.iter().any(|write| write.contains("ServiceExport team/")), "{writes:#?}");
}

fn on_hub() -> ObjectName {
    ObjectName::new("fleet-member-a", "team-shop")
}

/// Our slices carry no unique name (docs/design/rules.md#user-objects): to the original's collector every copy is a
/// leftover, and its slice is exported anew under another name.
#[test]
fn unprepared_every_copy_is_deleted() {
    let mut member = Member::exporting();
    let before = member.copies();
    let writes = Agents::of(&mut member).settle();
    let name = before.first().unwrap();
    let deleted = format!("delete EndpointSliceExport fleet-member-a/{name}");
    assert!(writes.contains(&deleted), "{writes:#?}");
    assert!(member.copies().is_disjoint(&before));
}

/// A request for an import keeps its object, whichever agent wrote it.
#[test]
fn an_import_keeps_its_request() {
    let mut member = Member::new();
    let wish = json!({ "spec": { "serviceImport": { "name": "desk" } } });
    member.own.create(kinds::MULTI_CLUSTER_SERVICE, &desk(), wish).unwrap();
    member.settle();
    let request = ObjectName::new("fleet-member-a", "team-desk");
    let uid = field(&member.hub, kinds::INTERNAL_SERVICE_IMPORT, &request, "/metadata/uid");
    assert!(uid.is_string());
    Agents::of(&mut member).settle();
    let after = field(&member.hub, kinds::INTERNAL_SERVICE_IMPORT, &request, "/metadata/uid");
    assert_eq!(after, uid);
}

/// What `member-agent --prepare-rollback` does to a member.
fn prepare(member: &mut Member) -> usize {
    fn all<T: serde::de::DeserializeOwned>(server: &ModelServer, kind: ResourceKind) -> Vec<T> {
        let names = server.names(kind).into_iter();
        let objects = names.map(|name| server.get(kind, &name).unwrap().clone());
        objects.map(|object| serde_json::from_value(object).unwrap()).collect()
    }
    let slices = all(&member.own, kinds::ENDPOINT_SLICE);
    let copies = all(&member.hub, kinds::ENDPOINT_SLICE_EXPORT);
    let steps = annotate(&slices, &copies);
    for step in &steps {
        member.own.execute(step).unwrap();
    }
    steps.len()
}

/// Once prepared, the copies are the Go agents' as they are.
#[test]
fn prepared_no_copy_is_deleted() {
    let mut member = Member::exporting();
    let second = ObjectName::new("team", "shop-x2");
    member.own.create(kinds::ENDPOINT_SLICE, &second, user_slice()).unwrap();
    member.settle();
    let before = member.copies();
    assert_eq!(before.len(), 2);
    assert_eq!(prepare(&mut member), 2);
    assert_eq!(prepare(&mut member), 0, "once");

    let writes = Agents::of(&mut member).settle();
    assert_eq!(member.copies(), before);
    assert!(writes.iter().all(|write| !write.starts_with("delete")), "{writes:#?}");
    assert!(writes.iter().all(|write| !write.starts_with("create")), "{writes:#?}");

    // The Go agents go on with them.
    let change = |slice: &mut Value| slice["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
    member.own.edit(kinds::ENDPOINT_SLICE, &second, change).unwrap();
    Agents::of(&mut member).settle();
    assert_eq!(member.copies(), before);
}

/// There and back again: our agent finds its own copies as it left them.
#[test]
fn a_member_that_comes_back_is_adopted_again() {
    let mut member = Member::exporting();
    let before = member.copies();
    prepare(&mut member);
    Agents::of(&mut member).settle();
    assert_eq!(member.settle(), Vec::<String>::new());
    assert_eq!(member.copies(), before);
}

/// The annotations of what Go agents exported are still there: nothing has to be prepared.
#[test]
fn adopted_copies_need_no_preparation() {
    let mut member = Member::new();
    exported(&mut member);
    member.settle();
    assert_eq!(prepare(&mut member), 0);
    Agents::of(&mut member).settle();
    assert_eq!(member.copies(), [EXPORTED.to_owned()].into());
}
