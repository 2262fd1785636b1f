//! In the place of the built-in controller: Services, pods and their slices.

use std::time::{Duration, Instant};

use fleet_api::{ObjectName, kinds};
use fleet_plan::Action;
use fleet_runtime::queue::Queue;
use serde_json::json;

use super::super::Mode;
use super::world::{World, pod};
use crate::slicing::testing;

const TRIGGER: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// EPS-82, EPS-83: a Service without selector, and one that is another name, keep the slices they have, and get none.
#[test]
fn services_that_select_nothing_are_left_alone() {
    for spec in [json!({ "selector": {} }), json!({ "type": "ExternalName" })] {
        let mut world = World::new(Mode::All);
        world.add_service("web", &spec);
        world.add_pod("web-1", "10.1.0.1");
        assert!(world.follow().is_empty(), "{spec}");
    }
}

/// EPS-84: a Service being deleted gets no new slice.
#[test]
fn a_service_being_deleted_gets_no_slice() {
    let mut world = World::with_service(Mode::All);
    world.edit_service(|service| service["metadata"]["finalizers"] = json!(["example.com/hold"]));
    world.own.delete(kinds::SERVICE, &super::world::web()).unwrap();
    world.add_pod("web-1", "10.1.0.1");
    assert!(world.follow().is_empty());
}

/// EPS-85: no pods: one empty slice, dated by the Service.
#[test]
fn a_service_without_pods_has_an_empty_slice() {
    let mut world = World::with_service(Mode::All);
    let made = world.own.now().to_string();
    assert_eq!(world.follow(), ["create"]);
    let slice = world.slice();
    assert_eq!((&slice["endpoints"], &slice["ports"]), (&json!([]), &json!([])));
    assert_eq!(slice["metadata"]["annotations"][TRIGGER], made);
    let labels = &slice["metadata"]["labels"];
    assert_eq!(labels["endpointslice.kubernetes.io/managed-by"], "endpointslice-controller.k8s.io");
    assert_eq!(labels["kubernetes.io/service-name"], "web");
    assert_eq!(slice["metadata"]["ownerReferences"][0]["name"], "web");
}

/// EPS-86: a missing Service is nothing to do, and its share of the gauges goes.
#[test]
fn a_missing_service_is_forgotten() {
    let mut world = World::with_service(Mode::All);
    world.add_pod("web-1", "10.1.0.1");
    world.follow();
    assert!((world.metric("endpoint_slice_controller_endpoints_desired") - 1.0).abs() < 0.1);
    world.own.delete(kinds::SERVICE, &super::world::web()).unwrap();
    assert!(world.follow().is_empty());
    assert!(world.metric("endpoint_slice_controller_endpoints_desired").abs() < 0.1);
}

/// EPS-87: the pod that matches, and no other.
#[test]
fn only_what_is_selected_becomes_an_endpoint() {
    let mut world = World::with_service(Mode::All);
    world.add_pod("web-1", "10.1.0.1");
    world.add_pod("other", "10.1.0.2");
    world.edit_pod("other", |pod| pod["metadata"]["labels"]["app"] = json!("mail"));
    assert_eq!(world.follow(), ["create"]);
    assert_eq!(world.addresses(), ["10.1.0.1"]);
    let endpoint = world.endpoints()[0];
    assert_eq!(endpoint["targetRef"]["kind"], "Pod");
    assert_eq!(endpoint["targetRef"]["name"], "web-1");
    assert_eq!((&endpoint["nodeName"], &endpoint["zone"]), (&json!("node-a"), &json!("a")));
}

/// EPS-89: slices of other managers are not ours to touch.
#[test]
fn slices_of_others_stay() {
    let mut world = World::with_service(Mode::All);
    for (name, manager) in [("theirs", "somebody.example.com"), ("nobodys", "")] {
        let labels = json!({
            "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": manager,
        });
        let slice = json!({ "metadata": { "labels": labels }, "addressType": "IPv4",
            "endpoints": [{ "addresses": ["192.0.2.1"] }] });
        world.own.create(kinds::ENDPOINT_SLICE, &ObjectName::new("team", name), slice).unwrap();
    }
    assert_eq!(world.follow(), ["create"]);
    assert_eq!(world.slices().len(), 3);
}

/// A slice goes when its addresses are in the one that takes them, and not before.
#[test]
fn an_address_that_moves_to_a_slice_in_use_is_never_in_no_slice() {
    let mut world = World::with_service(Mode::All);
    world.pack(2);
    for n in 1..=4 {
        world.add_pod(&format!("web-{n}"), &format!("10.1.0.{n}"));
    }
    world.follow();
    let full: Vec<_> = world.slices().into_iter().cloned().collect();
    for slice in &full {
        let leaving = testing::endpoints(slice)[0]["targetRef"]["name"].as_str().unwrap();
        world.own.delete(kinds::POD, &pod(leaving)).unwrap();
    }
    assert_eq!(world.follow(), ["update", "update"]);
    world.edit_service(|service| service["spec"]["ports"][0]["targetPort"] = json!(8081));
    let plan = world.plan();
    let [update, delete] = &plan.steps[..] else { panic!("{plan:#?}") };
    assert!(matches!(update.action, Action::Replace { .. }) && update.after.is_empty());
    assert!(matches!(delete.action, Action::Delete { .. }));
    assert_eq!(delete.after.iter().map(|step| step.index()).collect::<Vec<_>>(), [0]);
    assert_eq!(world.follow(), ["update", "delete"]);
    assert_eq!(world.addresses().len(), 2);
}

/// EPS-90: a slice that is no longer ours is replaced.
#[test]
fn a_slice_given_away_is_replaced() {
    let mut world = World::with_service(Mode::All);
    world.add_pod("web-1", "10.1.0.1");
    world.follow();
    let name = world.own.names(kinds::ENDPOINT_SLICE).remove(0);
    let key = "endpointslice.kubernetes.io/managed-by";
    world
        .own
        .edit(kinds::ENDPOINT_SLICE, &name, |slice| slice["metadata"]["labels"][key] = json!("me"))
        .unwrap();
    assert_eq!(world.follow(), ["create"]);
    assert_eq!(world.slices().len(), 2);
}

/// The same where one watch shows it before the other does.
#[test]
fn a_slice_given_away_is_replaced_whichever_watch_shows_it_first() {
    for managed_first in [true, false] {
        let mut world = World::with_service(Mode::All);
        world.add_pod("web-1", "10.1.0.1");
        world.follow();
        let before = world.snapshot();
        let name = world.own.names(kinds::ENDPOINT_SLICE).remove(0);
        let key = "endpointslice.kubernetes.io/managed-by";
        let give = |slice: &mut serde_json::Value| slice["metadata"]["labels"][key] = json!("me");
        world.own.edit(kinds::ENDPOINT_SLICE, &name, give).unwrap();
        let mut half = world.snapshot();
        if managed_first {
            half.endpoint_slices = before.endpoint_slices;
        } else {
            half.managed_slices = before.managed_slices;
        }
        world.see(half);
        world.follow();
        assert_eq!(world.slices().len(), 2, "{managed_first}");
    }
}

/// A slice that a user changes or deletes is restored.
#[test]
fn tampering_is_undone() {
    let mut world = World::with_service(Mode::All);
    world.add_pod("web-1", "10.1.0.1");
    world.follow();
    let name = world.own.names(kinds::ENDPOINT_SLICE).remove(0);
    let spoil = |slice: &mut serde_json::Value| slice["endpoints"] = json!([]);
    world.own.edit(kinds::ENDPOINT_SLICE, &name, spoil).unwrap();
    assert_eq!(world.follow(), ["update"]);
    world.own.delete(kinds::ENDPOINT_SLICE, &name).unwrap();
    assert_eq!(world.follow(), ["create"]);
    assert_eq!(world.addresses(), ["10.1.0.1"]);
}

/// EPS-93, EPS-94: terminating pods, ready and not.
#[test]
fn a_terminating_pod_is_not_ready_and_may_serve() {
    let mut world = World::with_service(Mode::All);
    world.add_pod("web-1", "10.1.0.1");
    let hold =
        |pod: &mut serde_json::Value| pod["metadata"]["finalizers"] = json!(["example.com/x"]);
    world.edit_pod("web-1", hold);
    world.own.delete(kinds::POD, &pod("web-1")).unwrap();
    world.follow();
    let expected = |serving| json!({ "ready": false, "serving": serving, "terminating": true });
    assert_eq!(world.endpoints()[0]["conditions"], expected(true));
    world.turn_pod("web-1", "False");
    assert_eq!(world.follow(), ["update"]);
    assert_eq!(world.endpoints()[0]["conditions"], expected(false));
}

/// EPS-74: a pod that changes its labels leaves one Service and joins another.
#[test]
fn labels_move_a_pod_between_services() {
    let mut world = World::with_service(Mode::All);
    world.add_service("mail", &json!({}));
    world.add_pod("web-1", "10.1.0.1");
    world.follow();
    world.edit_pod("web-1", |pod| pod["metadata"]["labels"]["app"] = json!("mail"));
    assert_eq!(world.follow(), ["update", "update"]);
    let of = |world: &World, service: &str| -> usize {
        let slices = world.slices().into_iter();
        let of = slices
            .filter(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == service);
        of.filter_map(|slice| slice["endpoints"].as_array()).map(Vec::len).sum()
    };
    assert_eq!((of(&world, "web"), of(&world, "mail")), (0, 1));
}

/// EPS-56: the Service that a slice is of is named by a label; without it, or with an empty one, no slices are touched.
/// EPS-88: nor are those that are going already.
#[test]
fn slices_of_no_service_and_those_that_go_are_left_alone() {
    let mut world = World::with_service(Mode::All);
    assert_eq!(world.follow(), ["create"]);
    let of = |service: &str| {
        json!({
            "metadata": {
                "labels": {
                    "kubernetes.io/service-name": service,
                    "endpointslice.kubernetes.io/managed-by": fleet_endpointslice::MANAGER,
                },
                "finalizers": ["example.com/held"],
            },
            "addressType": "IPv4", "endpoints": [], "ports": [],
        })
    };
    world.own.create(kinds::ENDPOINT_SLICE, &pod("nobodys"), of("")).unwrap();
    let mut unlabelled = of("");
    unlabelled["metadata"]["labels"].as_object_mut().unwrap().remove("kubernetes.io/service-name");
    world.own.create(kinds::ENDPOINT_SLICE, &pod("unlabelled"), unlabelled).unwrap();
    world.own.create(kinds::ENDPOINT_SLICE, &pod("going"), of("web")).unwrap();
    world.own.delete(kinds::ENDPOINT_SLICE, &pod("going")).unwrap();
    assert!(world.follow().is_empty());
}

/// EPS-97 to EPS-99: three changes, 100 ms or a second apart, of pods that come, turn and go.
#[test]
fn changes_of_pods_wait_for_each_other() {
    let (soon, second) = (Duration::from_millis(100), Duration::from_secs(1));
    let changes: [fn(&mut World, usize); 3] = [
        |world, count| world.add_pod(&format!("web-{count}"), &format!("10.1.0.{count}")),
        |world, count| world.turn_pod(&format!("web-{count}"), "False"),
        |world, count| world.own.delete(kinds::POD, &pod(&format!("web-{count}"))).unwrap(),
    ];
    for (period, last_after, expected) in
        [(Duration::ZERO, soon, 3), (second, soon, 1), (second, second * 2, 2)]
    {
        let mut world = World::with_service(Mode::All);
        world.batch(period);
        let (mut queue, mut now) = (Queue::new(1), Instant::now());
        world.work(&mut queue, now);
        for change in changes {
            let mut writes = 0;
            for (count, pause) in [(1, soon), (2, soon), (3, last_after)] {
                now += pause;
                // What became due in the pause.
                writes += world.work(&mut queue, now);
                change(&mut world, count);
                writes += world.work(&mut queue, now);
            }
            now += second;
            writes += world.work(&mut queue, now);
            assert_eq!(writes, expected, "{period:?} {last_after:?}");
        }
    }
}

/// What a user does to the Service takes effect at once, and with it what was waiting.
#[test]
fn a_change_of_the_service_does_not_wait() {
    let mut world = World::with_service(Mode::All);
    world.batch(Duration::from_secs(1));
    let (mut queue, now) = (Queue::new(1), Instant::now());
    world.work(&mut queue, now);
    world.add_pod("web-1", "10.1.0.1");
    assert_eq!(world.work(&mut queue, now), 0);
    world.edit_service(|service| service["metadata"]["labels"] = json!({ "tier": "x" }));
    assert_eq!(world.work(&mut queue, now), 1);
    assert_eq!(world.addresses(), ["10.1.0.1"]);
    assert_eq!(world.work(&mut queue, now + Duration::from_secs(1)), 0);
}

/// EPS-97 to EPS-99: changes between two plans are one write.
#[test]
fn many_changes_are_one_write() {
    let mut world = World::with_service(Mode::All);
    world.follow();
    for count in 1..=3 {
        world.add_pod(&format!("web-{count}"), &format!("10.1.0.{count}"));
    }
    assert_eq!(world.follow(), ["update"]);
    for count in 1..=3 {
        world.own.delete(kinds::POD, &pod(&format!("web-{count}"))).unwrap();
    }
    assert_eq!(world.follow(), ["update"]);
    let changes =
        |operation: &str| format!("endpoint_slice_controller_changes{{operation=\"{operation}\"}}");
    assert!((world.metric(&changes("update")) - 2.0).abs() < 0.1);
}

/// EPS-73: a write is dated by the turn of the pod that it shows; one without such a turn by nothing, also after a
/// restart.
#[test]
fn a_write_is_dated_by_what_it_answers() {
    let mut world = World::with_service(Mode::All);
    world.add_pod("web-1", "10.1.0.1");
    world.follow();
    let date = |world: &World| world.slice()["metadata"]["annotations"][TRIGGER].clone();
    world.own.advance(60);
    world.add_pod("web-2", "10.1.0.2");
    let added = world.own.now().to_string();
    world.own.advance(60);
    world.follow();
    assert_eq!(date(&world), added);
    world.restart();
    assert!(world.follow().is_empty());
    world.turn_pod("web-1", "False");
    let turned = world.own.now().to_string();
    world.own.advance(60);
    world.turn_pod("web-2", "False");
    world.follow();
    assert_eq!(date(&world), turned, "the earliest of two");
    world.edit_service(|service| service["metadata"]["labels"] = json!({ "tier": "x" }));
    assert_eq!(world.follow(), ["update"]);
    assert_eq!(date(&world), json!(null));
    world.own.delete(kinds::POD, &pod("web-1")).unwrap();
    assert_eq!(world.follow(), ["update"]);
    assert_eq!(date(&world), json!(null));
}

/// Another process finds nothing to do, and no memory is missing.
#[test]
fn a_restart_writes_nothing() {
    let mut world = World::with_service(Mode::All);
    for count in 1..=250 {
        world.add_pod(&format!("web-{count:03}"), &format!("10.1.0.{count}"));
    }
    assert_eq!(world.follow(), ["create"; 3]);
    world.restart();
    assert!(world.follow().is_empty());
    assert!(world.events.is_empty(), "{:?}", world.events);
}

/// A namespace on its way out takes no new slices.
#[test]
fn nothing_is_made_in_a_namespace_that_ends() {
    let mut world = World::with_service(Mode::All);
    let team = ObjectName::cluster("team");
    let hold = |namespace: &mut serde_json::Value| {
        namespace["metadata"]["finalizers"] = json!(["example.com/x"]);
    };
    world.own.edit(kinds::NAMESPACE, &team, hold).unwrap();
    world.own.delete(kinds::NAMESPACE, &team).unwrap();
    assert!(world.follow().is_empty());
}
