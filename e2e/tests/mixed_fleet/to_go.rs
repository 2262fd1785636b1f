//! Go agents take over a member from ours.

use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use crate::go::{Agents, Class, classify, is_leftover};
use crate::member::{Member, field, shop, user_slice};
use crate::shapes::desk;

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

/// Our slices carry no unique name (design rule 5): to the original's collector every copy is a
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

/// A request for an import keeps its object, whoever wrote it.
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
