//! The life of a MultiClusterService: made, granted, re-pointed, deleted.

use fleet_api::{ObjectName, events, finalizers, kinds, labels};
use fleet_plan::{Account, Affected, AffectedKey, Controller as _};
use serde_json::{Value, json};

use super::{World, derived, granted, request, shop};
use crate::import::{ImportController, Key};
use crate::snapshot::MemberSnapshot;

/// MCS-1: a new MultiClusterService gets finalizer, label and a ServiceImport of its own, reports
/// Unknown, and has no derived Service. It holds without an answer of the hub. Here the
/// `derived-service` label comes with the finalizer (docs/design/rules.md#derived-service-label).
#[test]
fn a_new_mcs_asks_and_waits() {
    let mut world = World::new();
    world.create_mcs(&shop(), "shop");
    let first = world.plan();
    assert_eq!(first.steps[0].kind, kinds::MULTI_CLUSTER_SERVICE);
    assert_eq!(first.steps[1].kind, kinds::SERVICE_IMPORT);
    assert_eq!(first.steps[1].after.len(), 1, "finalizer before effect");
    world.settle();
    let waiting = world.plan();
    assert!(waiting.steps.is_empty());
    assert_eq!(waiting.debounced.len(), 1, "waiting is told only after a while");
    world.rest();

    let mcs = world.mcs(&shop()).unwrap();
    assert_eq!(mcs["metadata"]["finalizers"], json!([finalizers::MULTI_CLUSTER_SERVICE]));
    assert_eq!(mcs["metadata"]["labels"][labels::SERVICE_IMPORT], "shop");
    let owner = &world.import().unwrap()["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], mcs["metadata"]["uid"]);
    assert_eq!((&owner["controller"], &owner["blockOwnerDeletion"]), (&json!(true), &json!(true)));
    assert_eq!(world.valid(&shop()).0, "Unknown");
    assert!(world.derived().is_none());
}

/// MCS-2: with ports and clusters granted the derived Service comes, and the MultiClusterService is Valid.
#[test]
fn a_granted_mcs_has_a_derived_service() {
    let mut world = World::waiting();
    world.grant(granted());
    assert_eq!(world.reasons(), [events::FOUND_VALID_SERVICE]);
    world.settle();
    let service = world.derived().expect("derived");
    assert_eq!(service["spec"]["type"], "LoadBalancer");
    assert!(service["spec"]["selector"].is_null());
    assert_eq!(service["spec"]["ports"][0]["port"], 80);
    let labels = &service["metadata"]["labels"];
    assert_eq!(labels[labels::MULTI_CLUSTER_SERVICE_NAMESPACE], "team");
    assert_eq!(labels[labels::MULTI_CLUSTER_SERVICE_NAME], "shop");
    assert_eq!(world.valid(&shop()).0, "True");
    assert_eq!(world.import().unwrap()["status"], granted());
}

/// MCS-4: changed to name a Service that is not exported, the MultiClusterService releases import, derived Service
/// and address at once, and owns the new import.
#[test]
fn a_re_pointed_mcs_lets_go_of_everything() {
    let mut world = World::importing();
    // No grace for a Service of an earlier import.
    world.settings.derived_service_grace = std::time::Duration::from_mins(10);
    let ingress = json!({ "ingress": [{ "ip": "192.0.2.1" }] });
    world.edit(kinds::SERVICE, &derived(), |service| {
        service["status"] = json!({ "loadBalancer": ingress });
    });
    world.settle();
    world.point(&shop(), "desk");
    let desk = ObjectName::new("team", "desk");
    let both = [desk.clone(), shop()];
    assert_eq!(world.plan_for(&desk).wake_after, None);
    world.rest_for(&both);
    world.let_go();
    world.rest_for(&both);

    assert!(world.derived().is_none());
    assert!(world.slice().is_none(), "nobody here imports shop any more");
    assert_eq!(world.own.names(kinds::SERVICE_IMPORT), std::slice::from_ref(&desk));
    let mcs = world.mcs(&shop()).unwrap();
    assert_eq!(mcs["metadata"]["labels"][labels::SERVICE_IMPORT], "desk");
    assert_eq!(mcs["status"]["loadBalancer"], json!({}));
    let owner = &world.own.get(kinds::SERVICE_IMPORT, &desk).unwrap()["metadata"];
    assert_eq!(owner["ownerReferences"][0]["uid"], mcs["metadata"]["uid"]);
    assert_eq!(world.valid(&shop()).0, "Unknown");
}

/// MCS-5: a deleted MultiClusterService takes along whatever exists of derived Service and import,
/// and goes.
#[test]
fn a_deleted_mcs_takes_everything_along() {
    let missing: [&[fleet_api::ResourceKind]; 4] = [
        &[],
        &[kinds::SERVICE],
        &[kinds::SERVICE_IMPORT],
        &[kinds::SERVICE, kinds::SERVICE_IMPORT],
    ];
    for missing in missing {
        for kept in [labels::SERVICE_IMPORT, labels::DERIVED_SERVICE, ""] {
            let mut world = World::importing();
            for kind in missing {
                let name = if *kind == kinds::SERVICE { derived() } else { shop() };
                let free = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
                world.edit(*kind, &name, free);
                world.own.delete(*kind, &name).unwrap();
            }
            world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), |mcs| {
                let labels = mcs["metadata"]["labels"].as_object_mut().unwrap();
                labels.retain(|key, _| kept.is_empty() || key == kept);
            });
            world.delete_mcs(&shop());
            world.settle();
            assert!(world.own.names(kinds::MULTI_CLUSTER_SERVICE).is_empty(), "{missing:?} {kept}");
            assert!(world.own.names(kinds::SERVICE_IMPORT).is_empty(), "{missing:?} {kept}");
            assert!(world.own.names(kinds::SERVICE).is_empty(), "{missing:?} {kept}");
            assert!(world.own.names(kinds::ENDPOINT_SLICE).is_empty(), "{missing:?} {kept}");
            let request = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &request()).unwrap();
            assert!(!request["metadata"]["deletionTimestamp"].is_null(), "the hub holds it");
        }
    }
}

/// The Event of a deleted MultiClusterService, with the write that removes the finalizer.
#[test]
fn letting_go_is_told() {
    let mut world = World::waiting();
    world.delete_mcs(&shop());
    let mut told = Vec::new();
    while world.mcs(&shop()).is_some() {
        let plan = world.plan();
        told.extend(plan.events.iter().map(|event| event.reason));
        fleet_model_server::execute(&plan, &mut [&mut world.own, &mut world.hub]);
    }
    assert_eq!(told, [events::UNIMPORTED_SERVICE]);
}

/// A MultiClusterService that names no Service reports that, has nothing, and can be deleted.
#[test]
fn an_mcs_that_names_nothing() {
    let mut world = World::importing();
    let clear = |mcs: &mut Value| mcs["spec"] = json!({});
    world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), clear);
    world.settle();
    let identity = world.settings.identity.clone();
    let plan = |world: &World| {
        super::super::mcs::plan(&identity, &shop(), &world.snapshot(), world.own.now())
    };
    let steps = plan(&world);
    let later = &steps.debounced[0].step;
    let text = format!("{:?}", later.action);
    assert!(text.contains("names no service"), "{text}");
    fleet_model_server::execute(&steps, &mut [&mut world.own, &mut world.hub]);
    assert!(world.derived().is_none());
    world.delete_mcs(&shop());
    for _ in 0..3 {
        world.settle();
        let steps = plan(&world);
        fleet_model_server::execute(&steps, &mut [&mut world.own, &mut world.hub]);
    }
    assert!(world.mcs(&shop()).is_none());
}

/// What the imports of one user need is on the account of the user's namespace, wherever the objects are: thousands of another user's
/// come in turn.
#[test]
fn imports_are_on_the_accounts_of_their_namespaces() {
    let mut world = World::waiting();
    world.grant(granted());
    let created = world.plan().steps.into_iter().find(|step| step.kind == kinds::SERVICE).unwrap();
    assert_eq!((&created.name, &*created.account), (&derived(), "team"));
    world.settle();
    let (mut accounts, snapshot) = (Vec::new(), world.snapshot());
    let mut note = |affected: AffectedKey<Key>| accounts.push((affected.key, affected.account));
    let controller = ImportController::new(world.settings.clone());
    controller.affected_keys(&MemberSnapshot::default(), &snapshot, &mut Affected::to(&mut note));
    let of_shop = (Key::Service(shop()), Account::from("team"));
    assert!(!accounts.is_empty() && accounts.iter().all(|one| *one == of_shop), "{accounts:?}");
}
