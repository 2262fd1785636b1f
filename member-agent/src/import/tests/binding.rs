//! Which derived Service an import is bound to: the label on the MultiClusterService names it, and is only output.

use fleet_api::{annotations, events, kinds, labels};
use serde_json::{Value, json};

use super::{World, derived, granted, imported, shop, system};

fn label(world: &mut World, value: &Value) {
    world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), |mcs| {
        let labels = &mut mcs["metadata"]["labels"];
        labels[labels::DERIVED_SERVICE] = value.clone();
        labels.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    });
}

fn labelled(world: &World) -> &Value {
    &world.mcs(&shop()).unwrap()["metadata"]["labels"][labels::DERIVED_SERVICE]
}

/// MESI-3: while the label is empty nothing binds. Here it is filled at once, and then the slice
/// binds.
#[test]
fn an_empty_derived_label_is_filled_before_anything_binds() {
    let mut world = World::importing();
    world.own.delete(kinds::ENDPOINT_SLICE, &imported()).unwrap();
    label(&mut world, &json!(""));
    let first = world.plan();
    assert!(first.steps.iter().all(|step| step.kind != kinds::ENDPOINT_SLICE), "{first:#?}");
    world.settle();
    assert_eq!(labelled(&world), "team-shop");
    assert!(world.slice().is_some());
}

/// MESI-10: of several MultiClusterServices for a Service the one that holds the import gives the
/// binding, with a label or without. (The original takes the first label in the order of a list.)
#[test]
fn the_holder_gives_the_binding() {
    let mut world = World::importing();
    let first = fleet_api::ObjectName::new("team", "a-first-in-every-list");
    world.create_mcs(&first, "shop");
    world.edit(kinds::MULTI_CLUSTER_SERVICE, &first, |mcs| {
        mcs["metadata"]["labels"] = json!({ labels::DERIVED_SERVICE: "elsewhere" });
    });
    label(&mut world, &Value::Null);
    world.rest();
    let slice = world.slice().unwrap();
    assert_eq!(slice["metadata"]["labels"][labels::SERVICE_NAME], "team-shop");
}

/// MESI-11: a label that is no name of a Service, or of none that is there, binds nothing and is
/// rewritten.
#[test]
fn a_label_that_names_no_service_is_rewritten() {
    for wrong in ["9-Shop", "no-such-service"] {
        let mut world = World::importing();
        label(&mut world, &json!(wrong));
        assert_eq!(world.reasons(), [events::DERIVED_SERVICE_LABEL_REWRITTEN]);
        world.settle();
        assert_eq!(labelled(&world), "team-shop");
        assert_eq!(world.slice().unwrap()["metadata"]["labels"][labels::SERVICE_NAME], "team-shop");
    }
}

/// S11, F33: a label selects no victim.
#[test]
fn a_tampered_derived_label_is_rewritten_and_its_victim_untouched() {
    let mut world = World::importing();
    let victim = system("victim");
    world.own.create(kinds::SERVICE, &victim, json!({ "spec": { "type": "ClusterIP" } })).unwrap();
    let before = world.own.get(kinds::SERVICE, &victim).cloned();
    label(&mut world, &json!("victim"));
    assert_eq!(world.reasons(), [events::DERIVED_SERVICE_LABEL_REWRITTEN]);
    world.settle();
    assert_eq!(world.own.get(kinds::SERVICE, &victim).cloned(), before);
    assert_eq!(labelled(&world), "team-shop");
    assert_eq!(world.slice().unwrap()["metadata"]["labels"][labels::SERVICE_NAME], "team-shop");

    // Not even by a MultiClusterService that is deleted before its label is corrected.
    label(&mut world, &json!("victim"));
    world.delete_mcs(&shop());
    world.settle();
    assert_eq!(world.own.get(kinds::SERVICE, &victim).cloned(), before);
    assert!(world.mcs(&shop()).is_none());
}

/// The derived Service of another MultiClusterService is no less foreign.
#[test]
fn a_label_does_not_take_over_the_service_of_another_mcs() {
    let mut world = World::importing();
    let other = system("team-desk");
    let object = json!({
        "metadata": {
            "labels": {
                labels::MULTI_CLUSTER_SERVICE_NAMESPACE: "team",
                labels::MULTI_CLUSTER_SERVICE_NAME: "desk",
            },
            "annotations": { annotations::MULTI_CLUSTER_SERVICE_UID: "another" },
        },
        "spec": { "type": "LoadBalancer", "ports": [] },
    });
    world.own.create(kinds::SERVICE, &other, object).unwrap();
    let before = world.own.get(kinds::SERVICE, &other).cloned();
    label(&mut world, &json!("team-desk"));
    world.settle();
    assert_eq!(labelled(&world), "team-shop");
    assert_eq!(world.own.get(kinds::SERVICE, &other).cloned(), before);
}

/// Each mark of a derived Service, removed or altered: it is repaired, and its address stays.
#[test]
fn marks_of_a_derived_service_heal_one_at_a_time() {
    let marks = [
        ("labels", labels::MULTI_CLUSTER_SERVICE_NAME),
        ("labels", labels::MULTI_CLUSTER_SERVICE_NAMESPACE),
        ("annotations", annotations::FLEET_SERVICE),
        ("annotations", annotations::MULTI_CLUSTER_SERVICE_UID),
    ];
    for (field, key) in marks {
        for value in [Value::Null, json!("elsewhere")] {
            if key == annotations::MULTI_CLUSTER_SERVICE_UID && !value.is_null() {
                continue; // By its labels, made for another MultiClusterService.
            }
            let mut world = World::importing();
            let before = world.derived().unwrap().clone();
            world.edit(kinds::SERVICE, &derived(), |service| {
                service["metadata"][field][key] = value.clone();
                let entries = service["metadata"][field].as_object_mut().unwrap();
                entries.retain(|_, value| !value.is_null());
            });
            world.settle();
            let after = world.derived().unwrap();
            assert_eq!(after["metadata"][field], before["metadata"][field], "{key} {value}");
            assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"], "{key} {value}");
            assert_eq!(world.own.names(kinds::SERVICE), [derived()]);
        }
    }
}

/// F33: each mark on the MultiClusterService, removed or altered, heals, and nothing is made anew.
#[test]
fn marks_of_an_mcs_heal_one_at_a_time() {
    type Change = fn(&mut Value);
    let tamper: [Change; 4] = [
        |mcs| mcs["metadata"]["labels"] = json!({}),
        |mcs| mcs["metadata"]["labels"][labels::SERVICE_IMPORT] = json!("elsewhere"),
        |mcs| mcs["metadata"]["finalizers"] = json!([]),
        |mcs| mcs["status"] = json!({}),
    ];
    for change in tamper {
        let mut world = World::importing();
        let (mcs, service) = (world.mcs(&shop()).cloned(), world.derived().cloned());
        let import = world.import().cloned();
        world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), change);
        world.settle();
        let (before, after) = (mcs.unwrap(), world.mcs(&shop()).unwrap());
        for field in ["labels", "finalizers"] {
            assert_eq!(after["metadata"][field], before["metadata"][field]);
        }
        assert_eq!(after["status"], before["status"]);
        assert_eq!(world.derived().cloned(), service);
        assert_eq!(world.import().cloned(), import);
    }
}

/// S11: no agent changes or deletes a derived Service whose uid was altered. The import continues under the next
/// name, with an Event, and the rest is deleted with the MultiClusterService (S17).
#[test]
fn a_derived_service_with_an_altered_uid_is_left_alone() {
    let mut world = World::importing();
    alter_uid(&mut world);
    let altered = world.derived().cloned();
    world.settle();
    assert_eq!(world.derived().cloned(), altered);
    assert_eq!(world.own.names(kinds::SERVICE).len(), 2);
    let name = labelled(&world).as_str().unwrap();
    assert_ne!(name, &*derived().name);
    assert!(world.own.get(kinds::SERVICE, &system(name)).is_some());
    assert_eq!(world.slice().unwrap()["metadata"]["labels"][labels::SERVICE_NAME], name);
    assert_eq!(world.valid(&shop()).0, "True");
    let [event] = world.plan().events.try_into().unwrap();
    assert_eq!(event.reason, events::DERIVED_SERVICE_NOT_OURS);
    assert!(event.note.contains("fleet-system/team-shop"), "{}", event.note);

    world.delete_mcs(&shop());
    world.settle();
    world.let_go();
    world.settle();
    assert!(world.mcs(&shop()).is_none());
    assert!(world.own.names(kinds::SERVICE).is_empty());
}

/// One that is older than the MultiClusterService in its labels was made for an earlier one of the name, which
/// went without taking it along: it is replaced (S17).
#[test]
fn a_derived_service_of_an_earlier_mcs_is_replaced() {
    let mut world = World::importing();
    world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), |mcs| {
        mcs["metadata"]["finalizers"] = json!([]);
    });
    world.own.delete(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
    world.own.advance(1);
    world.create_mcs(&shop(), "shop");
    world.rest();
    world.let_go();
    world.rest();
    world.grant(granted());
    world.settle();
    let services = world.own.names(kinds::SERVICE);
    assert_eq!(services, [derived()], "clients know it by this name");
    assert_eq!(labelled(&world), &json!(services[0].name));
    let uid = &world.mcs(&shop()).unwrap()["metadata"]["uid"];
    let service = world.own.get(kinds::SERVICE, &services[0]).unwrap();
    let marks = &service["metadata"]["annotations"];
    assert_eq!(&marks[annotations::MULTI_CLUSTER_SERVICE_UID], uid);
}

/// One with a load balancer takes a while to go: a MultiClusterService that is made again meanwhile waits for its name.
#[test]
fn the_name_of_a_derived_service_that_is_going_is_waited_for() {
    let mut world = World::importing();
    world.edit(kinds::SERVICE, &derived(), |service| {
        service["metadata"]["finalizers"] = json!(["service.kubernetes.io/load-balancer-cleanup"]);
    });
    world.own.delete(kinds::MULTI_CLUSTER_SERVICE, &shop()).unwrap();
    world.rest();
    world.let_go();
    world.rest();
    assert!(world.mcs(&shop()).is_none(), "it has what it waits for: the deletion was asked for");
    world.own.advance(1);
    world.create_mcs(&shop(), "shop");
    world.rest();
    world.grant(granted());
    world.rest();
    assert_eq!(labelled(&world), &json!(derived().name));
    assert_eq!(world.own.names(kinds::SERVICE), [derived()]);
    world.edit(kinds::SERVICE, &derived(), |service| service["metadata"]["finalizers"] = json!([]));
    world.settle();
    let uid = &world.mcs(&shop()).unwrap()["metadata"]["uid"];
    let service = world.derived().unwrap();
    let marks = &service["metadata"]["annotations"];
    assert_eq!(&marks[annotations::MULTI_CLUSTER_SERVICE_UID], uid);
}

fn alter_uid(world: &mut World) {
    world.edit(kinds::SERVICE, &derived(), |service| {
        let uid = json!("00000000-0000-4000-8000-ffffffffffff");
        service["metadata"]["annotations"][annotations::MULTI_CLUSTER_SERVICE_UID] = uid;
    });
}

/// No agent deletes a Service that only its annotation binds to the import (S11).
#[test]
fn a_service_without_the_uid_of_an_mcs_is_no_orphan() {
    let mut world = World::new();
    let victim = system("victim");
    let object = json!({
        "metadata": { "annotations": { annotations::FLEET_SERVICE: "team/shop" } },
        "spec": { "type": "ClusterIP" },
    });
    world.own.create(kinds::SERVICE, &victim, object).unwrap();
    world.settle();
    assert!(world.own.get(kinds::SERVICE, &victim).is_some());
    // One that was made for a MultiClusterService which is no more goes.
    world.edit(kinds::SERVICE, &victim, |service| {
        let uid = json!("00000000-0000-4000-8000-ffffffffffff");
        service["metadata"]["annotations"][annotations::MULTI_CLUSTER_SERVICE_UID] = uid;
    });
    world.settle();
    assert!(world.own.get(kinds::SERVICE, &victim).is_none());
}

/// A Go agent's derived Service is kept under its name, whatever it is.
#[test]
fn an_adopted_derived_service_is_kept_under_its_name() {
    let mut world = World::waiting();
    world.grant(granted());
    let adopted = system("made-by-another-agent");
    let object = json!({
        "metadata": { "labels": {
            labels::MULTI_CLUSTER_SERVICE_NAMESPACE: "team",
            labels::MULTI_CLUSTER_SERVICE_NAME: "shop",
        }},
        "spec": { "type": "LoadBalancer", "ports": [] },
    });
    world.own.create(kinds::SERVICE, &adopted, object).unwrap();
    world.settle();
    assert_eq!(world.own.names(kinds::SERVICE), [adopted]);
    assert_eq!(labelled(&world), "made-by-another-agent");
}
