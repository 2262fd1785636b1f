//! The failure table of the design, the column of the hub.

use fleet_accumulator::{ClusterId, SourceState, View};
use fleet_api::offload::{LinkState, PodExportSpec};
use fleet_api::traffic::SilenceState;
use fleet_api::{ObjectName, finalizers, kinds};
use fleet_model_server::ModelServer;
use serde_json::json;

use super::world::{World, in_member, spec};
use crate::tests::verdicts::found;

/// In seconds.
const DAY: i64 = 24 * 60 * 60;

fn running(count: usize) -> World {
    let mut world = World::accepted();
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["spec"]["capacity"]["pods"] = json!(100);
    });
    world.settle();
    for at in 0..count {
        world.export("east", &format!("u{at}"));
    }
    world.rest();
    world.hub.take_writes();
    world
}

fn stopped(world: &World) -> usize {
    let names = world.hub.names(kinds::POD_IMPORT);
    let imports = names.iter().map(|name| world.hub.get(kinds::POD_IMPORT, name).unwrap());
    imports.filter(|import| !import["spec"]["stop"].is_null()).count()
}

/// What is shown of that: how many are kept, and whether they are so many that they are kept longer.
#[test]
fn exports_that_are_gone_are_counted() {
    let mut world = running(12);
    let counts = |world: &World| {
        let count = crate::virtual_node::count(&world.snapshot());
        (count.withheld, count.open_fuses)
    };
    assert_eq!(counts(&world), (0, 0));
    world.lose(kinds::POD_EXPORT);
    assert_eq!(counts(&world), (12, 1));
}

#[test]
fn a_hub_without_data_is_filled_again_by_what_members_write() {
    let mut world = running(3);
    for kind in [kinds::POD_EXPORT, kinds::POD_IMPORT, kinds::VIRTUAL_NODE, kinds::OFFLOAD_OFFER] {
        world.lose(kind);
    }
    world.offer("offer", &["east"]);
    // The origin is faster than the offer.
    for at in 0..3 {
        let resumed =
            fleet_api::offload::PodExportSpec { resumed: true, ..spec("east", &format!("u{at}")) };
        world.export_spec("east", &resumed);
    }
    world.settle();
    world.accept("east", true);
    world.settle();
    assert_eq!(world.hub.names(kinds::POD_IMPORT).len(), 3);
}

/// A Pod that has run there is none of those that an executor that drains refuses.
#[test]
fn what_ran_on_an_executor_that_drains_runs_on_after_a_loss() {
    let mut world = running(1);
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["spec"]["draining"] = json!(true);
    });
    world.settle();
    world.lose(kinds::POD_EXPORT);
    world.lose(kinds::POD_IMPORT);
    world.export_spec(
        "east",
        &fleet_api::offload::PodExportSpec { resumed: true, ..spec("east", "u0") },
    );
    world.export("east", "new");
    world.settle();
    assert!(world.import("east", "u0").is_some());
    assert_eq!(world.status("east", "new")["rejected"]["reason"], "NotOffered");
}

#[test]
fn an_export_that_is_only_gone_stops_its_pod_after_a_pause() {
    let mut world = running(3);
    let name = in_member("east", "u1");
    world.edit(kinds::POD_EXPORT, &name, |export| export["metadata"]["finalizers"] = json!([]));
    world.hub.delete(kinds::POD_EXPORT, &name).unwrap();
    world.settle();
    assert_eq!(stopped(&world), 0);
    assert_eq!(world.waiting(), [(60, "the export of an import is gone")]);
    world.export("east", "u1");
    assert_eq!(world.waiting(), []);
}

/// Much at once: more probably the hub was restored from a backup.
#[test]
fn many_exports_that_are_gone_stop_nothing_for_long() {
    let mut world = running(10);
    world.lose(kinds::POD_EXPORT);
    world.settle();
    assert_eq!(stopped(&world), 0);
    let waiting = world.waiting();
    assert_eq!(waiting.len(), 10);
    assert!(waiting.iter().all(|(seconds, _)| *seconds == 600), "{waiting:?}");
    assert_eq!(crate::virtual_node::count(&world.snapshot()).withheld, 10);
    world.rest();
    assert_eq!(world.hub.names(kinds::POD_IMPORT).len(), 0, "no origin has them");
}

#[test]
fn nothing_is_stopped_while_the_origin_cannot_write() {
    for state in [Some(LinkState::Silent), None] {
        let mut world = running(2);
        world.hear("east", state);
        world.lose(kinds::POD_EXPORT);
        world.settle();
        assert_eq!((stopped(&world), world.waiting()), (0, Vec::new()), "{state:?}");
    }
}

#[test]
fn nothing_is_stopped_on_a_view_that_may_lack_something() {
    let mut world = running(2);
    world.lose(kinds::POD_EXPORT);
    let stale = SourceState::Listing;
    let mut seen = world.snapshot();
    seen.pod_exports = View::default().in_state(stale);
    assert!(world.plans(&seen).iter().all(|plan| plan.steps.is_empty()));
    seen.pod_exports = View::of([]).unsettled();
    let debounced = world.plans(&seen).iter().flat_map(|plan| plan.debounced.clone()).count();
    assert_eq!(debounced, 0);
}

#[test]
fn an_import_that_is_lost_while_its_export_ends_is_stopped_all_the_same() {
    let mut world = running(1);
    world.stop("east", "u0", 30);
    world.lose(kinds::POD_IMPORT);
    world.settle();
    assert_eq!(world.import("east", "u0").unwrap()["spec"]["stop"]["graceSeconds"], 30);
    assert_eq!(world.status("east", "u0")["released"], false);
    world.rest();
    assert_eq!(world.hub.names(kinds::POD_EXPORT).len(), 0);
}

/// A is gone for good.
#[test]
fn pods_of_an_origin_that_is_silent_for_a_day_are_stopped() {
    let mut world = running(2);
    world.hear("east", Some(LinkState::Silent));
    world.settle();
    world.hub.advance(86_000);
    world.settle();
    assert_eq!(stopped(&world), 0);
    let wake = world.plans(&world.snapshot()).iter().filter_map(|plan| plan.wake_after).min();
    assert!(wake.unwrap().as_secs() <= 400, "{wake:?}");
    world.hub.advance(401);
    world.settle();
    assert_eq!(stopped(&world), 2);
    // It is back, and learns that they have ended.
    world.rest();
    world.hear("east", Some(LinkState::Connected));
    world.rest();
    assert_eq!(world.status("east", "u0")["released"], true);
}

#[test]
fn an_origin_that_renews_again_starts_the_day_anew() {
    let mut world = running(1);
    world.hear("east", Some(LinkState::Silent));
    world.settle();
    world.hub.advance(80_000);
    world.hear("east", Some(LinkState::Connected));
    world.settle();
    world.hear("east", Some(LinkState::Silent));
    world.settle();
    world.hub.advance(80_000);
    world.settle();
    assert_eq!(stopped(&world), 0);
}

/// Its verdict lasts until it has returned as a whole, which may never be; but it lives.
#[test]
fn pods_of_an_origin_that_renews_again_run_on_while_its_verdict_lasts() {
    let mut world = running(1);
    world.hear("east", Some(LinkState::Silent));
    found(&mut world.hub, "east", SilenceState::Silent);
    world.settle();
    world.hear("east", Some(LinkState::Connected));
    world.settle();
    let offer = world.hub.get(kinds::OFFLOAD_OFFER, &in_member("west", "offer")).unwrap();
    let link = &offer["status"]["origins"][0];
    assert_eq!((&link["state"], &link["verdict"]), (&json!("Connected"), &json!("Silent")));
    world.hub.advance(200_000);
    world.settle();
    assert_eq!(stopped(&world), 0);
}

/// A clock that is set back by days shows no silence of a day.
#[test]
fn a_time_ahead_of_the_clock_stops_nothing() {
    let mut world = running(1);
    world.hear("east", Some(LinkState::Silent));
    world.settle();
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["status"]["origins"][0]["since"] = json!("2999-01-01T00:00:00Z");
    });
    world.settle();
    assert_eq!(stopped(&world), 0);
}

/// B is gone for good, and an administrator of A gives it up.
#[test]
fn an_executor_that_is_given_up_is_not_waited_for() {
    let mut world = running(2);
    world.hub.delete(kinds::OFFLOAD_OFFER, &in_member("west", "offer")).unwrap();
    world.settle();
    world.stop("east", "u0", 0);
    world.settle();
    assert_eq!(world.status("east", "u0")["released"], false, "its executor has confirmed nothing");
    world.edit(kinds::VIRTUAL_NODE, &in_member("east", "west"), |node| {
        node["status"]["abandoned"] = json!(true);
    });
    world.settle();
    assert_eq!(world.import("east", "u0"), None);
    assert!(world.hub.get(kinds::POD_EXPORT, &in_member("east", "u0")).is_none());
    assert!(world.import("east", "u1").is_some(), "that Pod is not deleted");
}

#[test]
fn an_executor_that_has_left_the_fleet_is_not_waited_for() {
    let mut world = running(1);
    world.lose(kinds::POD_IMPORT);
    world.hub.delete(kinds::NAMESPACE, &ObjectName::cluster("fleet-member-west")).unwrap();
    for name in [in_member("west", "offer"), in_member("west", "member-policy")] {
        let kind = if &*name.name == "offer" { kinds::OFFLOAD_OFFER } else { kinds::CONFIG_MAP };
        world.hub.edit(kind, &name, |object| object["metadata"]["finalizers"] = json!([])).ok();
        world.hub.delete(kind, &name).ok();
    }
    world.stop("east", "u0", 0);
    world.settle();
    assert!(world.hub.get(kinds::POD_EXPORT, &in_member("east", "u0")).is_none());
}

/// A hub that was built anew, to which east has come back: a Pod that runs in west is being deleted.
fn built_anew() -> World {
    let mut world = World { hub: ModelServer::new(ClusterId::Hub) };
    world.join("east", "10.1.0.0/16");
    world.export_spec("east", &PodExportSpec { resumed: true, ..spec("east", "u0") });
    world.stop("east", "u0", 0);
    world
}

#[test]
fn an_executor_that_has_not_come_to_a_new_hub_yet_is_waited_for() {
    let mut world = built_anew();
    world.settle();
    assert!(!world.status("east", "u0")["released"].as_bool().unwrap_or_default());
    world.join("west", "10.2.0.0/16");
    world.offer("offer", &["east"]);
    world.settle();
    assert!(world.import("east", "u0").unwrap()["spec"]["stop"].is_object(), "only it knows");

    // The day begins when its end is asked for, and by no clock that was set back.
    let mut world = World { hub: ModelServer::new(ClusterId::Hub) };
    world.join("east", "10.1.0.0/16");
    world.export_spec("east", &PodExportSpec { resumed: true, ..spec("east", "u0") });
    world.hub.advance(2 * DAY);
    world.stop("east", "u0", 0);
    world.hub.advance(-2 * DAY);
    world.settle();
    world.hub.advance(2 * DAY);
    world.settle();
    assert!(world.hub.get(kinds::POD_EXPORT, &in_member("east", "u0")).is_some());

    for offers_nothing in [false, true] {
        let mut world = built_anew();
        if offers_nothing {
            world.join("west", "10.2.0.0/16");
        }
        let export =
            |world: &World| world.hub.get(kinds::POD_EXPORT, &in_member("east", "u0")).is_some();
        world.hub.advance(DAY);
        if offers_nothing {
            world.hear("west", None);
            world.settle();
            assert!(export(&world), "its agent is away");
            world.hear("west", Some(LinkState::Connected));
        }
        world.settle();
        assert!(!export(&world), "not for ever");
    }
}

/// Its agent has ended before it has released everything: nothing blocks its namespace.
#[test]
fn an_executor_that_leaves_is_waited_for_only_while_it_renews() {
    let mut world = running(1);
    let namespace = ObjectName::cluster("fleet-member-west");
    world.edit(kinds::NAMESPACE, &namespace, |it| it["metadata"]["finalizers"] = json!(["k"]));
    world.hub.delete(kinds::NAMESPACE, &namespace).unwrap();
    world.hub.delete(kinds::POD_IMPORT, &in_member("west", "u0.east")).unwrap();
    world.settle();
    assert!(world.import("east", "u0").is_some());
    world.hear("west", None);
    world.settle();
    assert!(world.import("east", "u0").is_none());
}

/// The hub was restored from a backup in which the offer was for others: its executor writes the present one again.
#[test]
fn an_older_offer_withdraws_nothing_before_it_is_believed() {
    let mut world = World::accepted();
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["spec"]["originSelector"]["clusters"] = json!(["north"]);
    });
    let mut seen = world.snapshot();
    seen.offload_offers = seen.offload_offers.unsettled();
    let writes = world.plans(&seen).into_iter().flat_map(|plan| plan.steps);
    let writes: Vec<_> = writes.map(|step| step.name).collect();
    assert!(!writes.contains(&in_member("east", "west")), "{writes:?}");
}

/// An origin that states that a Pod has run gets no more than is offered to it.
#[test]
fn who_lies_about_the_past_gains_nothing() {
    let mut world = World::new();
    let resumed = fleet_api::offload::PodExportSpec { resumed: true, ..spec("east", "u0") };
    world.export_spec("east", &resumed);
    world.settle();
    assert_eq!(world.status("east", "u0")["rejected"]["reason"], "NotOffered");
    world.hub.delete(kinds::POD_EXPORT, &in_member("east", "u0")).unwrap();
    world.settle();
    assert_eq!(world.hub.names(kinds::POD_IMPORT).len(), 0, "nothing is written to west");
}

/// Nor by exports that end at once and are held by a finalizer of its own.
#[test]
fn who_lies_about_the_past_of_what_ends_stays_within_its_bound() {
    let mut world = running(500);
    let names = (0..3).map(|at| format!("x{at}"));
    for uid in names.clone() {
        let mut forged = PodExportSpec { resumed: true, ..spec("east", &uid) };
        forged.pod.0.insert("hostNetwork".to_owned(), json!(true));
        world.export_spec("east", &forged);
        world.edit(kinds::POD_EXPORT, &in_member("east", &uid), |export| {
            export["metadata"]["finalizers"] = json!(["a.b/c", finalizers::POD_EXPORT]);
        });
        world.hub.delete(kinds::POD_EXPORT, &in_member("east", &uid)).unwrap();
    }
    world.settle();
    assert_eq!(world.hub.names(kinds::POD_IMPORT).len(), 500, "as many as any executor takes");
    for uid in names.clone() {
        let status = world.status("east", &uid);
        assert_eq!(status["rejected"]["reason"], "QuotaExceeded");
        assert_eq!(status["released"], false);
    }
    world.stop("east", "u0", 0);
    world.settle_with(true, |world| {
        for name in world.hub.names(kinds::POD_IMPORT) {
            let import = world.hub.get(kinds::POD_IMPORT, &name).unwrap();
            let content = &import["spec"]["export"]["pod"];
            assert!(content.get("hostNetwork").is_none(), "{content}");
        }
        world.obey();
    });
    assert!(names.clone().all(|uid| world.status("east", &uid)["released"] == true));
    assert_eq!(world.hub.names(kinds::POD_IMPORT).len(), 499);
}

/// Nothing that the terms refuse by now runs on because the hub has lost it.
#[test]
fn what_the_terms_refuse_by_now_is_stopped_after_a_loss() {
    let mut world = running(1);
    world.edit(kinds::OFFLOAD_OFFER, &in_member("west", "offer"), |offer| {
        offer["spec"]["terms"]["namespaces"] = json!(["other"]);
    });
    world.settle();
    world.lose(kinds::POD_EXPORT);
    world.lose(kinds::POD_IMPORT);
    let resumed = PodExportSpec { resumed: true, ..spec("east", "u0") };
    world.export_spec("east", &resumed);
    world.settle();
    assert_eq!(world.status("east", "u0")["rejected"]["reason"], "NamespaceNotOffered");
    world.stop("east", "u0", 5);
    world.settle();
    assert_eq!(world.import("east", "u0").unwrap()["spec"]["stop"]["graceSeconds"], 5);
    world.rest();
    assert_eq!(world.hub.names(kinds::POD_EXPORT).len(), 0);
}

/// A member removes the finalizers of its exports, again and again.
#[test]
fn exports_without_finalizers_do_no_harm() {
    let mut world = running(1);
    let name = in_member("east", "u0");
    world.edit(kinds::POD_EXPORT, &name, |export| export["metadata"]["finalizers"] = json!([]));
    world.settle();
    world.hub.delete(kinds::POD_EXPORT, &name).unwrap();
    world.rest();
    assert_eq!(world.hub.names(kinds::POD_IMPORT).len(), 0);
}
