//! What goes, and what stays until the hub's word counts.

use fleet_api::{ObjectName, events, kinds};
use fleet_plan::{Affected, AffectedKey, Controller as _};
use serde_json::json;

use super::super::trust::Held;
use super::super::{Key, StandardImportController, count};
use super::world::{HUB, ListedAnew, World, in_force};
use crate::measurement::Plan;
use crate::settings::MulticlusterMode;

/// The store was restored from a backup: what was exported since is missing until its exporters have written it again.
#[test]
fn nothing_goes_until_the_hub_was_followed_for_a_while() {
    let mut world = World::imported();
    world.settled = false;
    world.unexport_slice("b", "web-1");
    world.forget();
    world.rest();
    world.resolve(&["c"]);
    world.export_slice("c", "web-1", &["10.2.0.1"]);
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 http", "c 10.2.0.1 http"], "what is there is added");
    let clusters = world.import().unwrap()["status"]["clusters"].clone();
    assert_eq!(clusters, json!([{ "cluster": "b" }, { "cluster": "c" }]));
    world.settled = true;
    world.settle();
    assert_eq!(world.slices(), ["c 10.2.0.1 http"]);
    world.rest();
}

#[test]
fn ports_are_added_but_not_taken_until_then() {
    let mut world = World::imported();
    world.settled = false;
    world.respec("ports", json!([super::world::port("other", 81)]));
    world.respec("sessionAffinity", json!("ClientIP"));
    world.rest();
    assert_eq!(world.slices(), ["b 10.1.0.1 http"]);
    world.settled = true;
    world.settle();
    let import = world.import().unwrap();
    assert_eq!(import["spec"]["ports"][0]["name"], "other");
    assert_eq!(import["spec"]["sessionAffinity"], "ClientIP");
}

/// A slice that is being deleted, of a cluster that still exports: that is the exporter's word.
#[test]
fn a_slice_that_is_being_deleted_goes_at_once() {
    let mut world = World::imported();
    world.settled = false;
    let name = World::on_hub("b", "web-1");
    let set = |object: &mut serde_json::Value| object["metadata"]["finalizers"] = json!(["x/y"]);
    world.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, set).unwrap();
    world.hub.delete(kinds::ENDPOINT_SLICE_EXPORT, &name).unwrap();
    world.settle();
    assert!(world.slices().is_empty());
}

/// A hub that was built anew knows nothing: nothing goes until the exporters have reported to it what they export.
#[test]
fn a_rebuilt_hub_takes_nothing_away() {
    let mut world = World::imported();
    let ips = world.ips();
    world.rebuild_hub();
    world.rest();
    world.publish("b", HUB);
    world.rest();
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    world.resolve(&["b"]);
    world.settle();
    assert_eq!(world.mark(), "other-uid/0");
    assert_eq!((world.ips(), world.slices().len()), (ips, 1));
    world.rest();
}

/// An exporter is listed before its slices are there: until then the hub's word on them does not count.
#[test]
fn on_a_rebuilt_hub_the_slices_of_each_exporter_are_waited_for() {
    let mut world = World::imported();
    world.rebuild_hub();
    world.resolve(&["b"]);
    world.settle();
    assert_eq!((world.mark(), world.slices().len()), (HUB, 1));
    world.rest();
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    world.settle();
    assert_eq!((world.mark(), world.slices().len()), ("other-uid/0", 1));
    world.rest();
}

/// The hub begins another incarnation, and waits for members to come back. This one has.
fn restore(world: &mut World, incarnation: &str) {
    world.incarnate("a", incarnation);
    world.publish("a", incarnation);
    let rebuilding = json!({ "spec": {}, "status": { "phase": "Rebuilding" } });
    world.hub.create(kinds::FLEET_TRAFFIC, &ObjectName::cluster("fleet"), rebuilding).unwrap();
    world.rest();
}

/// One that takes no part any more leaves what it exported on the hub, and does not come back.
#[test]
fn an_exporter_is_waited_for_until_members_have_had_their_time() {
    let restored = "hub-uid/1";
    let mut world = World::imported();
    world.publish("b", HUB);
    world.export_slice("b", "web-3", &["10.1.0.5"]);
    let backup = world.hub.clone();
    world.unexport_slice("b", "web-3");
    world.settle();
    world.hub = backup;
    restore(&mut world, restored);
    assert_eq!((world.mark(), world.slices()), (HUB, vec!["b 10.1.0.1 http".to_owned()]));
    let settled = |fleet: &mut serde_json::Value| fleet["status"]["phase"] = json!("Settled");
    world.hub.edit(kinds::FLEET_TRAFFIC, &ObjectName::cluster("fleet"), settled).unwrap();
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 http", "b 10.1.0.5 http"]);
    assert_eq!(world.mark(), restored);
}

/// A backup has earlier contents of slices, and slices that are long gone. Another Pod may have the address of such an endpoint by now.
#[test]
fn on_a_restored_hub_earlier_slices_wait_for_their_exporter() {
    let restored = "hub-uid/1";
    let mut world = World::imported();
    world.publish("b", HUB);
    world.export_slice("b", "web-0", &["10.1.0.9"]);
    let backup = world.hub.clone();
    world.unexport_slice("b", "web-0");
    world.move_endpoints("b", "web-1", &["10.1.0.2"]);
    world.move_endpoints("b", "web-1", &["10.1.0.3"]);
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.3 http"]);
    world.rest();
    world.hub = backup;
    restore(&mut world, restored);
    assert_eq!(world.mark(), HUB);
    // It comes back, with what has changed meanwhile. Its later contents need not wait.
    for address in ["10.1.0.2", "10.1.0.3", "10.1.0.4"] {
        world.move_endpoints("b", "web-1", &[address]);
    }
    world.settle();
    assert_eq!(world.writes(), ["update EndpointSlice"]);
    assert_eq!((world.mark(), world.slices()), (HUB, vec!["b 10.1.0.4 http".to_owned()]));
    world.unexport_slice("b", "web-0");
    world.export_slice("b", "web-3", &["10.1.0.5"]);
    world.rest();
    world.publish("b", restored);
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.4 http", "b 10.1.0.5 http"]);
    assert_eq!(world.mark(), restored);
    world.rest();
}

/// Of two exporters that contradict each other, that of the port in force comes back last: the other one gets no traffic of it.
#[test]
fn on_a_rebuilt_hub_ports_stay_with_the_exporters_that_had_them() {
    let mut world = World::imported();
    let exporters = json!([{ "cluster": "b" }, { "cluster": "c", "withheld": ["http"] }]);
    world.respec("exporters", exporters);
    world.export_slice("c", "web-1", &["10.2.0.1"]);
    world.settle();
    let before = ["b 10.1.0.1 http", "c 10.2.0.1 "];
    assert_eq!(world.slices(), before);
    world.rest();
    world.rebuild_hub();
    world.resolve(&["c"]);
    world.respec("ports", json!([super::world::port("http", 81)]));
    world.export_slice("c", "web-1", &["10.2.0.1"]);
    world.settle();
    assert_eq!((world.mark(), world.slices()), (HUB, before.map(str::to_owned).to_vec()));
    assert_eq!(world.writes(), [""; 0]);
}

/// This cluster is an exporter that has to come back, too, whichever other was faster. The hub may list it before its own export
/// shows.
#[test]
fn on_a_rebuilt_hub_this_cluster_is_waited_for() {
    let mut world = World::imported();
    world.export_own(&["10.9.0.1"]);
    world.resolve(&["a", "b"]);
    world.settle();
    world.rebuild_hub();
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    world.resolve(&["b"]);
    world.settle();
    assert_eq!(world.slices(), ["a 10.9.0.1 http", "b 10.1.0.1 http"]);
    assert_eq!(world.mark(), HUB);
    world.rest();
    world.resolve(&["a", "b"]);
    world.settle();
    assert_eq!(world.slices(), ["a 10.9.0.1 http", "b 10.1.0.1 http"]);
    assert_eq!(world.mark(), "other-uid/0");
}

/// The hub agent of another hub is slow: what this cluster exports itself is not forgotten for that.
#[test]
fn an_import_of_own_endpoints_alone_waits_for_another_hub() {
    let mut world = World::new();
    world.export_own(&["10.9.0.1"]);
    world.resolve(&["a"]);
    world.settle();
    let ips = world.ips();
    world.rebuild_hub();
    world.rest();
    assert_eq!((world.ips(), world.slices()), (ips, vec!["a 10.9.0.1 http".to_owned()]));
    world.own.delete(kinds::MCS_SERVICE_EXPORT, &super::world::web()).unwrap();
    world.settle();
    assert!(world.slices().is_empty());
    world.wait();
    world.settle();
    assert!(world.is_clean());
}

/// Another exporter came back first: the one that has not keeps its endpoints.
#[test]
fn on_a_rebuilt_hub_each_exporter_is_waited_for() {
    let mut world = World::imported();
    world.resolve(&["b", "c"]);
    world.export_slice("c", "web-1", &["10.2.0.1"]);
    world.settle();
    world.rebuild_hub();
    world.export_slice("c", "web-1", &["10.2.0.1"]);
    world.resolve(&["c"]);
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 http", "c 10.2.0.1 http"]);
    assert_eq!(world.mark(), HUB);
    world.publish("b", "other-uid/0");
    world.settle();
    assert_eq!(world.slices(), ["c 10.2.0.1 http"]);
    assert_eq!(world.mark(), "other-uid/0");
    world.rest();
}

/// A process that has just become the leader may have an old view: what the former one has written since is newer.
#[test]
fn an_old_view_brings_nothing_back() {
    let mut old = World::imported();
    old.export_slice("b", "web-2", &["10.1.0.5"]);
    let hub = old.hub.clone();
    old.settle();
    old.move_endpoints("b", "web-1", &["10.1.0.2"]);
    old.unexport_slice("b", "web-2");
    old.settle();
    assert_eq!(old.slices(), ["b 10.1.0.2 http"]);
    old.hub = hub;
    old.listed_anew = Some(ListedAnew::NewLeader);
    old.rest();
    assert_eq!(old.slices(), ["b 10.1.0.2 http"]);
    old.own.delete(kinds::MCS_SERVICE_IMPORT, &super::world::web()).unwrap();
    old.rest();
    assert!(old.import().is_none());
    old.listed_anew = None;
    old.settle();
    assert!(old.import().is_some());
}

/// From time to time each source is listed anew. What it shows meanwhile is as sound as before, and no reason to plan all imports.
#[test]
fn a_list_from_time_to_time_holds_nothing_up() {
    let mut world = World::imported();
    world.export_slice("b", "web-2", &["10.1.0.5"]);
    world.settle();
    let calm = world.snapshot();
    world.listed_anew = Some(ListedAnew::FromTimeToTime);
    let controller = StandardImportController::new(world.settings.clone());
    let mut count = 0;
    let mut add = |_: AffectedKey<Key>| count += 1;
    controller.affected_keys(&calm, &world.snapshot(), &mut Affected::to(&mut add));
    assert_eq!(count, 0);
    world.unexport_slice("b", "web-2");
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.1 http"]);
    world.withdraw();
    world.settle();
    assert!(world.is_clean());
}

/// The exporter has reported to the new hub all that it exports, and this Service is none of it.
#[test]
fn what_an_exporter_did_not_bring_back_goes() {
    let mut world = World::imported();
    world.rebuild_hub();
    world.rest();
    world.publish("b", "other-uid/0");
    world.wait();
    world.settle();
    assert!(world.is_clean());
}

/// An administrator deletes what is in force, and the hub agent writes it again: no client notices.
#[test]
fn what_is_in_force_may_be_lost_for_a_moment() {
    let mut world = World::imported();
    world.export_own(&["10.9.0.1"]);
    world.resolve(&["a", "b"]);
    world.settle();
    world.rest();
    world.forget();
    let plan = world.plan();
    assert_eq!((plan.steps.len(), plan.debounced.len()), (0, 1));
    assert_eq!(plan.debounced[0].delay, world.settings.multicluster.settle);
    world.move_endpoints("b", "web-1", &["10.1.0.2"]);
    world.resolve(&["a", "b"]);
    world.settle();
    assert_eq!(world.writes(), ["update EndpointSlice"]);
    world.rest();
}

/// No plan ends what the hub has not shown yet: whether this cluster is to leave, for one.
#[test]
fn a_start_takes_nothing_for_leaving() {
    let mut world = World::imported();
    let leave = json!({ "metadata": { "generation": 2 }, "spec": { "state": "Leave" } });
    let name = ObjectName::new("fleet-member-a", "a");
    world.hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &name, leave).unwrap();
    world.heard = false;
    world.rest();
    world.heard = true;
    world.settle();
    assert!(world.is_clean());
}

/// A later release may have written it.
#[test]
fn what_cannot_be_read_keeps_the_import() {
    for unreadable in [in_force(), World::on_hub("b", "web-1")] {
        let mut world = World::imported();
        world.unreadable.push(unreadable);
        world.rest();
        assert_eq!(world.slices(), ["b 10.1.0.1 http"]);
    }
}

/// No exporter of an import needs to have slices here.
#[test]
fn a_rebuilt_hub_takes_no_import_without_slices_away() {
    let mut world = World::new();
    world.resolve(&["b"]);
    world.settle();
    world.rebuild_hub();
    world.rest();
    assert_eq!(world.mark(), HUB);
}

/// A hub that has not accepted this cluster takes nothing away. Endpoints follow those who have them.
#[test]
fn the_word_of_a_hub_that_does_not_know_this_cluster_does_not_count() {
    let mut world = World::imported();
    let report = ObjectName::new("fleet-member-a", "a");
    let set = |object: &mut serde_json::Value| object["status"] = json!({});
    world.hub.edit(kinds::CLUSTER_REPORT, &report, set).unwrap();
    world.move_endpoints("b", "web-1", &["10.1.0.9"]);
    world.settle();
    assert_eq!(world.slices(), ["b 10.1.0.9 http"]);
    world.rest();
    world.withdraw();
    world.rest();
}

fn many(count: usize) -> World {
    let mut world = World::imported();
    for number in 0..count {
        let mut object = world.import().unwrap().clone();
        object["metadata"] = json!({ "annotations": object["metadata"]["annotations"] });
        let name = ObjectName::new("shop", format!("other-{number}"));
        world.add(kinds::MCS_SERVICE_IMPORT, &name, object);
    }
    world
}

#[test]
fn many_imports_at_once_that_the_hub_lacks_are_kept() {
    let mut world = many(25);
    world.forget();
    let plan = world.plan();
    assert!(plan.is_empty());
    assert_eq!(plan.events.iter().map(|it| it.reason).collect::<Vec<_>>(), [events::IMPORTS_KEPT]);
    let counts = count(&world.settings, &world.snapshot(), world.own.now());
    assert_eq!(counts.held[2], (Held::Brake, 26));
    world.withdraw();
    world.settle();
    assert!(world.import().is_none(), "the hub's word is no accident");
}

#[test]
fn few_imports_that_the_hub_lacks_go() {
    let mut world = many(5);
    world.forget();
    world.settle();
    assert_eq!(world.writes(), [""; 0], "the hub agent may write it again");
    world.wait();
    world.settle();
    assert!(world.is_clean());
}

/// A watch may miss what the hub has, until its next list.
#[test]
fn what_the_hub_has_all_the_same_keeps_the_import() {
    let mut world = World::imported();
    world.forget();
    let mut steps = Vec::new();
    for later in world.plan().debounced {
        later.join(&mut steps);
    }
    world.resolve(&["b"]);
    let refused = world.execute(&Plan { steps, ..Plan::default() });
    assert_eq!(refused.len(), 1, "that it is absent: {refused:?}");
    world.settle();
    world.rest();
    assert!(world.import().is_some());
}

/// A watch may miss a slice that its exporter has brought back to a hub that was rebuilt.
#[test]
fn a_slice_that_the_hub_has_all_the_same_stays() {
    let mut world = World::imported();
    world.rebuild_hub();
    world.resolve(&["b"]);
    world.publish("b", "other-uid/0");
    let plan = world.plan();
    assert!(plan.steps.iter().any(|step| step.action.verb() == "delete"), "{plan:#?}");
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    let refused = world.execute(&plan);
    assert_eq!(refused.len(), 1, "that it is absent: {refused:?}");
    assert_eq!(world.slices().len(), 1);
    world.settle();
    world.rest();
    assert_eq!(world.slices().len(), 1);
}

/// An operator confirms by deleting: what the hub does not know is not made again.
#[test]
fn what_a_user_deletes_comes_back_only_if_the_hub_knows_it() {
    let mut world = World::imported();
    world.own.delete(kinds::MCS_SERVICE_IMPORT, &super::world::web()).unwrap();
    world.settle();
    assert_eq!(world.slices().len(), 1, "made again");
    world.settled = false;
    world.forget();
    world.own.delete(kinds::MCS_SERVICE_IMPORT, &super::world::web()).unwrap();
    world.settle();
    assert!(world.is_clean());
}

/// Causes of this cluster alone need no hub.
#[test]
fn what_this_cluster_does_not_want_goes_without_the_hub() {
    type Change = fn(&mut World);
    let causes: [Change; 3] = [
        |world| world.settings.multicluster.mode = MulticlusterMode::CleanUp,
        |world| world.settings.denied_namespaces = "shop".parse().unwrap(),
        |world| world.settings.multicluster.import_namespaces = "team,shop/other".parse().unwrap(),
    ];
    for cause in causes {
        let mut world = World::imported();
        world.heard = false;
        cause(&mut world);
        world.settle();
        assert!(world.is_clean());
        world.rest();
        world.heard = true;
        world.rest();
    }
}

#[test]
fn a_withdrawn_service_that_is_exported_again_is_imported_again() {
    let mut world = World::imported();
    world.withdraw();
    world.unexport_slice("b", "web-1");
    world.settle();
    assert!(world.is_clean());
    world.respec("withdrawnAt", json!(null));
    world.resolve(&["b"]);
    world.export_slice("b", "web-1", &["10.1.0.1"]);
    world.settle();
    assert_eq!(world.slices().len(), 1);
    assert!(world.hub.get(kinds::RESOLVED_SERVICE, &in_force()).is_some());
}
