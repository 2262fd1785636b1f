//! The life of Pods, from binding to removal.

use std::time::Duration;

use fleet_accumulator::{SourceState, View};
use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::world::World;
use crate::snapshot::MemberSnapshot;

/// Annotation of a remote Pod.
const STOP_AFTER: &str = "offload.networking.fleet.azure.com/stop-after";

fn name(name: &str) -> ObjectName {
    ObjectName::new("shop", name)
}

#[test]
fn a_pod_runs_in_the_other_member_and_is_ready_here() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    let remote = world.remote();
    assert_eq!(remote.len(), 1);
    assert_eq!(remote[0]["metadata"]["namespace"], "offload-east--shop");
    let pod = world.east.pod("web").unwrap();
    assert_eq!(pod["status"]["phase"], "Running");
    assert_eq!(pod["status"]["podIP"], remote[0]["status"]["podIP"]);
    assert_eq!(World::condition(pod, "Ready").0, "True");
    assert!(world.reports("Exported") && world.reports("RemoteStarted"));
}

/// That views are complete is remembered a moment later, and is no change of them.
#[test]
fn a_pod_that_is_there_when_the_agent_starts_is_planned_again() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    let wakes = world.wakes(true, |_| {});
    assert!(wakes.contains(&Some(Duration::from_secs(1))), "{wakes:?}");
}

fn interrupted(snapshot: &mut MemberSnapshot) {
    let exports = std::mem::take(&mut snapshot.pod_exports);
    snapshot.pod_exports = exports.in_state(SourceState::Resyncing);
}

/// A Pod that is bound while the hub does not answer: that its watches go on is no change of an object.
#[test]
fn a_pod_without_an_export_is_planned_again_once_exports_are_followed() {
    let mut world = World::new();
    world.east.cut = true;
    world.create_pod("web", &json!({}));
    world.origin();
    assert!(world.exports().is_empty());
    let wakes = world.wakes(false, interrupted);
    assert!(wakes.contains(&Some(Duration::from_secs(5))), "{wakes:?}");
}

/// A Pod that is planned in the moment before the hub answers again: its node may not have noticed that it did not answer.
#[test]
fn a_pod_that_is_not_ready_because_of_the_hub_is_planned_again() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    world.east.cut = true;
    world.pass(61);
    world.round();
    assert_eq!(World::condition(world.east.pod("web").unwrap(), "Ready").0, "False");
    let wakes = world.wakes(false, interrupted);
    assert!(wakes.contains(&Some(Duration::from_secs(5))), "{wakes:?}");
}

#[test]
fn a_deleted_pod_goes_after_the_remote_one() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    world.east.own.delete_pod(&name("web"), Some(10)).unwrap();
    world.round();
    world.round();
    assert!(world.east.pod("web").is_some(), "the executor has not confirmed it");
    assert_eq!(world.remote()[0]["metadata"]["deletionGracePeriodSeconds"], 10);
    for _ in 0..3 {
        world.pass(5);
        world.settle();
    }
    assert!(world.east.pod("web").is_none());
    assert!(world.remote().is_empty() && world.exports().is_empty() && world.imports().is_empty());
    let spaces = world.west.own.names(kinds::NAMESPACE);
    assert!(spaces.iter().all(|space| !space.name.starts_with("offload-")), "{spaces:?}");
}

#[test]
fn a_pod_that_does_not_cross_says_why_and_goes_at_once() {
    let mut world = World::new();
    world.create_pod("web", &json!({ "hostNetwork": true }));
    world.settle();
    let pod = world.east.pod("web").unwrap();
    assert_eq!(
        (&pod["status"]["phase"], &pod["status"]["reason"]),
        (&json!("Pending"), &json!("HostAccess"))
    );
    assert!(pod["status"]["message"].as_str().unwrap().contains("hostNetwork"));
    assert!(world.exports().is_empty());
    world.east.own.delete_pod(&name("web"), None).unwrap();
    world.round();
    assert!(world.east.pod("web").is_none());
}

#[test]
fn a_pod_of_a_daemon_set_is_held() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    let owner = json!([{ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d" }]);
    world
        .east
        .own
        .edit(kinds::POD, &name("web"), |pod| pod["metadata"]["ownerReferences"] = owner)
        .unwrap();
    world.settle();
    assert_eq!(world.east.pod("web").unwrap()["status"]["reason"], "DaemonSetNotOffloaded");
    assert!(world.exports().is_empty());
}

#[test]
fn a_config_map_that_appears_starts_its_pod_and_is_followed() {
    let mut world = World::new();
    let env = json!([{ "name": "web", "image": "web:1", "envFrom": [{ "configMapRef": { "name": "settings" } }] }]);
    world.create_pod("web", &json!({ "containers": env }));
    world.settle();
    assert_eq!(world.east.pod("web").unwrap()["status"]["reason"], "WaitingForConfig");
    world
        .east
        .own
        .create(kinds::CONFIG_MAP, &name("settings"), json!({ "data": { "a": "1" } }))
        .unwrap();
    world.settle();
    let remote = |world: &World| -> Vec<Value> {
        let maps = world.west.own.objects(kinds::CONFIG_MAP);
        maps.filter(|(name, _)| name.namespace.starts_with("offload-"))
            .map(|(_, map)| map.clone())
            .collect()
    };
    assert_eq!(remote(&world)[0]["data"]["a"], "1");
    assert_eq!(World::condition(world.east.pod("web").unwrap(), "Ready").0, "True");
    world
        .east
        .own
        .edit(kinds::CONFIG_MAP, &name("settings"), |map| map["data"]["a"] = "2".into())
        .unwrap();
    world.settle();
    assert_eq!(remote(&world)[0]["data"]["a"], "2");
    assert_eq!(world.remote().len(), 1);
    world.east.own.delete_pod(&name("web"), Some(0)).unwrap();
    world.settle();
    for _ in 0..4 {
        world.pass(30);
        world.settle();
    }
    assert!(remote(&world).is_empty() && world.remote().is_empty(), "they go with the Pod");
}

#[test]
fn an_address_of_another_cluster_is_not_taken() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    let remote = world.remote()[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let remote = ObjectName::new("offload-east--shop", remote);
    let lie = |pod: &mut Value| {
        pod["status"]["podIP"] = "10.9.0.1".into();
        pod["status"]["podIPs"] = json!([{ "ip": "10.9.0.1" }]);
    };
    world.west.own.edit(kinds::POD, &remote, lie).unwrap();
    world.settle();
    let pod = world.east.pod("web").unwrap();
    assert!(pod["status"]["podIP"].is_null(), "{}", pod["status"]);
    assert_eq!(World::condition(pod, "Ready"), ("False", "AddressRefused"));
    assert!(world.reports("RemoteAddressRefused"));
}

#[test]
fn a_lost_pod_fails_and_is_not_made_again() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    let remote = world.remote()[0]["metadata"]["name"].as_str().unwrap().to_owned();
    world.west.own.delete_pod(&ObjectName::new("offload-east--shop", remote), Some(0)).unwrap();
    world.settle();
    let pod = world.east.pod("web").unwrap();
    assert_eq!(
        (&pod["status"]["phase"], &pod["status"]["reason"]),
        (&json!("Failed"), &json!("RemoteDeleted"))
    );
    assert!(world.remote().is_empty());
}

#[test]
fn a_cut_makes_pods_not_ready_and_starts_none_again() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    let uid = world.remote()[0]["metadata"]["uid"].clone();
    world.east.cut = true;
    world.pass(61);
    world.settle();
    let pod = world.east.pod("web").unwrap();
    assert_eq!(
        (World::condition(pod, "Ready"), &pod["status"]["phase"]),
        (("False", "HubUnreachable"), &json!("Running"))
    );
    world.east.cut = false;
    world.pass(1);
    world.settle();
    assert_eq!(World::condition(world.east.pod("web").unwrap(), "Ready").0, "True");
    assert_eq!(world.remote()[0]["metadata"]["uid"], uid);
}

#[test]
fn a_forced_deletion_is_followed_once_that_is_certain() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    world
        .east
        .own
        .edit(kinds::POD, &name("web"), |pod| pod["spec"]["nodeName"] = "".into())
        .unwrap();
    world.east.own.delete_pod(&name("web"), Some(0)).unwrap();
    world.settle();
    for _ in 0..12 {
        world.pass(30);
        world.settle();
    }
    assert!(world.remote().is_empty() && world.exports().is_empty());
}

#[test]
fn a_pod_that_stops_after_a_while_is_removed_without_confirmation_only_later() {
    let mut world = World::new();
    world.offer(&json!({ "terms": { "disconnect": { "mode": "StopAfter", "seconds": 60 } } }));
    world.settle();
    world.create_pod("web", &json!({}));
    world.settle();
    world.west.cut = true;
    world.pass(58);
    world.round();
    assert!(world.remote()[0]["metadata"]["deletionTimestamp"].is_null());
    world.pass(2);
    world.executor();
    assert_eq!(world.remote()[0]["metadata"]["deletionGracePeriodSeconds"], 10);
    world.east.own.delete_pod(&name("web"), Some(1)).unwrap();
    world.origin();
    world.pass(11);
    world.kubelet();
    assert!(world.remote().is_empty());
    world.pass(40);
    world.origin();
    assert!(world.east.pod("web").is_some(), "not before two minutes");
    world.pass(12);
    world.origin();
    world.origin();
    assert!(world.east.pod("web").is_none());
}

/// It can list nothing of the hub, and the origin counts on it all the same.
#[test]
fn a_process_that_starts_without_the_hub_stops_what_is_to_stop() {
    let mut world = World::new();
    world.offer(&json!({ "terms": { "disconnect": { "mode": "StopAfter", "seconds": 300 } } }));
    world.settle();
    world.create_pod("web", &json!({}));
    world.settle();
    let clock = world.clock.clone();
    world.west.restart(&clock);
    world.pass(20);
    world.cut_off();
    assert!(world.remote()[0]["metadata"]["deletionTimestamp"].is_null(), "the hub is reached");
    world.west.cut = true;
    world.west.restart(&clock);
    world.pass(14);
    world.cut_off();
    assert!(world.remote()[0]["metadata"]["deletionTimestamp"].is_null(), "it may be yet");
    world.pass(1);
    world.cut_off();
    assert_eq!(world.remote()[0]["metadata"]["deletionGracePeriodSeconds"], 10);
}

#[test]
fn what_nothing_was_agreed_on_goes_on_without_the_hub() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    assert_eq!(world.remote()[0]["metadata"]["annotations"][STOP_AFTER], "never");
    let forged = |pod: &mut serde_json::Value| {
        pod["metadata"]["annotations"] = json!({ STOP_AFTER: "30" });
    };
    world.east.own.edit(kinds::POD, &name("web"), forged).unwrap();
    world.settle();
    world.west.cut = true;
    (0..30).for_each(|_| {
        world.pass(10);
        world.round();
    });
    assert!(world.remote()[0]["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(world.remote()[0]["metadata"]["annotations"][STOP_AFTER], "never");
}

/// A process that starts does not know for how long the origin has been silent, and the origin counts on the end of its Pods.
#[test]
fn a_new_process_does_not_give_a_silent_origin_its_time_again() {
    let mut world = World::new();
    world.offer(&json!({ "terms": { "disconnect": { "mode": "StopAfter", "seconds": 300 } } }));
    world.settle();
    world.create_pod("web", &json!({}));
    world.settle();
    (0..8).for_each(|_| world.pass(10));
    world.east.cut = true;
    world.round();
    (0..10).for_each(|_| world.pass(10));
    world.round();
    assert!(world.remote()[0]["metadata"]["deletionTimestamp"].is_null(), "it is not time yet");
    let clock = world.clock.clone();
    world.west.restart(&clock);
    world.pass(1);
    world.executor();
    assert_eq!(world.remote()[0]["metadata"]["deletionGracePeriodSeconds"], 10);
}

/// Views come and go without a change of an object: who depends on one asks again.
#[test]
fn what_cannot_be_decided_is_asked_for_again() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    let soon = Some(Duration::from_secs(5));
    assert!(world.wakes_with(interrupted).contains(&soon), "a new Pod, and no hub");
    world.settle();
    let own = |seen: &mut MemberSnapshot| seen.virtual_pods = View::of([]);
    assert!(world.wakes_with(own).contains(&soon), "an export, and no list of Pods");
    assert!(!world.wakes_with(interrupted).contains(&soon), "both are there");
}

#[test]
fn status_writes_of_one_pod_are_counted() {
    let mut world = World::new();
    world.create_pod("warm", &json!({}));
    world.settle();
    world.writes.clear();
    world.create_pod("web", &json!({}));
    world.settle();
    world.east.own.delete_pod(&name("web"), Some(1)).unwrap();
    for _ in 0..4 {
        world.pass(2);
        world.settle();
    }
    assert!(world.east.pod("web").is_none());
    println!("writes of the members: {:?}", world.writes);
    assert!(world.writes["Pod"] <= 7, "{:?}", world.writes);
    assert!(world.writes["PodExport"] <= 3, "{:?}", world.writes);
    assert!(world.writes["PodImport"] <= 6, "{:?}", world.writes);
}

#[test]
fn planning_twice_gives_equal_plans() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.origin();
    let counts = world.planned_twice();
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    world.settle();
    world.planned_twice();
}
