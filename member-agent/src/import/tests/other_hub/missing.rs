//! Exporters that do not come back to a hub that was built anew.

use std::time::Duration;

use fleet_api::annotations::TERMINATING_AT_EXPORTER;
use fleet_api::traffic::FLEET_TRAFFIC;
use fleet_api::{ObjectName, finalizers, kinds};
use fleet_model_server::execute;
use serde_json::{Value, json};

use super::{Importer, on_hub, system};
use crate::hub_follower;

/// The hub was built anew, and all but `a` have come back to it.
pub(super) fn without_a() -> Importer {
    let mut importer = Importer::new();
    importer.lose_hub();
    importer.answer("second/0");
    importer.settle();
    importer.grant(&["c"]);
    importer.distribute("c", "uid-c2", &["10.2.0.1", "10.2.0.2"]);
    importer.publishes("c", "second/0");
    importer
}

impl Importer {
    /// The hub agent waits for members, or does not any more.
    fn enter(&mut self, phase: &str) {
        let (name, hub) = (ObjectName::cluster(FLEET_TRAFFIC), &mut self.world.hub);
        if hub.get(kinds::FLEET_TRAFFIC, &name).is_none() {
            hub.create(kinds::FLEET_TRAFFIC, &name, json!({ "spec": {} })).unwrap();
        }
        let set = |fleet: &mut Value| fleet["status"] = json!({ "phase": phase });
        hub.edit(kinds::FLEET_TRAFFIC, &name, set).unwrap();
    }

    /// So many minutes pass, in which the agent looks and plans from time to time.
    fn pass(&mut self, minutes: u64) {
        for _ in 0..minutes {
            for seconds in [28, 1, 30, 1] {
                self.world.own.advance(seconds);
                self.clock.advance(Duration::from_secs(seconds.try_into().unwrap()));
                self.step();
                self.step();
            }
        }
    }

    fn step(&mut self) {
        hub_follower::look(&self.world.settings, &self.world.snapshot(), &self.memory);
        let plan = self.plan();
        for measured in &plan.measurements {
            self.memory.take(&measured.what);
        }
        execute(&plan, &mut [&mut self.world.own, &mut self.world.hub]);
    }

    /// The endpoints of a cluster that are ready, of all that are here.
    fn ready_of(&self, cluster: &str) -> (usize, usize) {
        let name = system(&format!("{cluster}-team-shop-x1"));
        let Some(slice) = self.world.own.get(kinds::ENDPOINT_SLICE, &name) else { return (0, 0) };
        let endpoints = slice["endpoints"].as_array().unwrap();
        let is_ready = |endpoint: &&Value| endpoint["conditions"]["ready"] != json!(false);
        (endpoints.iter().filter(is_ready).count(), endpoints.len())
    }
}

#[test]
fn it_is_last_resort_ten_minutes_after_the_others_are_back_and_goes_when_it_is_forgotten() {
    for restarts in [false, true] {
        let mut importer = without_a();
        importer.enter("Rebuilding");
        importer.pass(20);
        assert_eq!((importer.ready_of("a"), importer.writes()), ((1, 1), 0), "members have time");
        importer.enter("Settled");
        importer.pass(9);
        assert_eq!((importer.ready_of("a"), importer.writes()), ((1, 1), 0), "too early");
        importer.pass(2);
        assert_eq!((importer.ready_of("a"), importer.writes()), ((0, 1), 1), "one write");
        if restarts {
            importer.restart();
        }
        importer.pass(30);
        assert_eq!((importer.ready_of("a"), importer.writes()), ((0, 1), 0), "it never goes");
        assert_eq!(importer.ready_of("c"), (2, 2));
        importer.member("a", |it| it["spec"]["forgottenIn"] = json!("second/0"));
        importer.step();
        importer.step();
        assert_eq!((importer.ready_of("a"), importer.writes()), ((0, 1), 0), "not in use again");
        importer.pass(2);
        assert_eq!(importer.slices(), ["c"]);
    }
}

/// What the last process made last resort is so for the next one from its first look on; before that look nothing moves.
#[test]
fn a_process_that_begins_anew_decides_the_same() {
    let mut importer = without_a();
    importer.enter("Settled");
    importer.pass(12);
    assert_eq!((importer.ready_of("a"), importer.writes()), ((0, 1), 1));
    importer.restart();
    let plan = importer.plan();
    assert!(plan.steps.is_empty(), "{:#?}", plan.steps);
    importer.pass(1);
    assert_eq!((importer.ready_of("a"), importer.writes()), ((0, 1), 0));
}

/// Endpoints of it are in use when nothing else is, as ready ones after a second: its slice notes which of them were.
#[test]
fn it_serves_when_all_others_are_gone() {
    let mut importer = without_a();
    importer.enter("Settled");
    importer.pass(12);
    assert_eq!(importer.ready_of("a"), (0, 1));
    let lose = |copy: &mut Value| copy["spec"]["endpoints"] = json!([]);
    let copy = on_hub("c-team-shop-x1");
    importer.world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &copy, lose).unwrap();
    importer.pass(1);
    assert_eq!((importer.ready_of("a"), importer.ready_of("c")), ((1, 1), (0, 0)));
    importer.restart();
    importer.pass(1);
    assert_eq!(importer.ready_of("a"), (1, 1));
}

#[test]
fn it_is_as_before_once_it_is_back() {
    let mut importer = without_a();
    importer.enter("Settled");
    importer.pass(12);
    importer.grant(&["c", "a"]);
    importer.distribute("a", "uid-a2", &["10.1.0.1"]);
    importer.publishes("a", "second/0");
    importer.pass(3);
    assert_eq!((importer.ready_of("a"), importer.ready_of("c")), ((1, 1), (2, 2)));
    let slice = importer.world.own.get(kinds::ENDPOINT_SLICE, &system("a-team-shop-x1")).unwrap();
    assert!(slice["metadata"]["annotations"][TERMINATING_AT_EXPORTER].is_null(), "{slice}");
    assert_eq!(importer.followed().as_deref(), Some("second/0"));
}

/// A member without a Lease publishes nothing. That it is there shows in that its slices are.
#[test]
fn one_that_publishes_nothing_counts_by_its_slices() {
    let mut importer = Importer::new();
    let second = "a-team-shop-x2";
    let mut copy =
        super::copy_of(&super::shop(), &["10.1.0.2"], &[finalizers::ENDPOINT_SLICE_IMPORT]);
    copy["spec"]["endpointSliceReference"]["clusterId"] = json!("a");
    importer.world.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &on_hub(second), copy).unwrap();
    importer.settle();
    importer.lose_hub();
    importer.answer("second/0");
    importer.enter("Settled");
    importer.settle();
    importer.grant(&["a", "c"]);
    importer.distribute("a", "uid-a2", &["10.1.0.1"]);
    importer.distribute("c", "uid-c2", &["10.2.0.1", "10.2.0.2"]);
    importer.publishes("c", "second/0");
    importer.pass(30);
    assert_eq!(
        (importer.ready_of("a"), importer.slices().len(), importer.writes()),
        ((1, 1), 3, 0)
    );
}

/// Nothing else has its endpoints: when the policy changes again, they have to be there.
#[test]
fn what_is_kept_of_it_is_never_emptied() {
    let mut importer = without_a();
    importer.enter("Settled");
    importer.pass(12);
    let policy = json!({ "spec": { "weights": [{ "cluster": "a", "weight": 0 }] } });
    importer.world.hub.create(kinds::SERVICE_TRAFFIC, &super::shop(), policy).unwrap();
    importer.pass(2);
    assert_eq!((importer.ready_of("a"), importer.ready_of("c")), ((0, 1), (2, 2)));
}

/// More than a fifth of the members: the hub has rather not shown itself to them.
#[test]
fn no_more_count_than_may_be_silent() {
    let mut importer = Importer::new();
    importer.lose_hub();
    importer.answer("second/0");
    importer.enter("Settled");
    importer.pass(30);
    assert_eq!((importer.ready_of("a"), importer.ready_of("c")), ((0, 1), (2, 2)));
}

/// Administrators can declare that a member never counts as silent, and owners that silence means nothing.
#[test]
fn it_counts_as_the_policy_and_administrators_ask_for() {
    let mut importer = without_a();
    importer.enter("Settled");
    importer.member("a", |it| it["spec"]["silence"] = json!("Never"));
    importer.pass(30);
    assert_eq!((importer.ready_of("a"), importer.writes()), ((1, 1), 0));
    importer.member("a", |it| it["spec"] = json!({}));
    let keep = json!({ "spec": { "onSilence": { "action": "Keep" } } });
    importer.world.hub.create(kinds::SERVICE_TRAFFIC, &super::shop(), keep).unwrap();
    importer.pass(1);
    assert_eq!((importer.ready_of("a"), importer.writes()), ((1, 1), 0));
    let remove = json!({ "action": "Remove", "removeAfterSeconds": 300 });
    let set = |policy: &mut Value| policy["spec"]["onSilence"] = remove;
    importer.world.hub.edit(kinds::SERVICE_TRAFFIC, &super::shop(), set).unwrap();
    importer.pass(30);
    assert_eq!(importer.ready_of("a"), (0, 1), "last resort, and never removed");
}

/// While two hubs answer, nothing moves, and the time does not count.
#[test]
fn two_hubs_interrupt_the_wait() {
    let mut importer = without_a();
    importer.enter("Settled");
    importer.pass(9);
    importer.memory.witness(true);
    importer.pass(9);
    importer.memory.witness(false);
    importer.pass(9);
    assert_eq!((importer.ready_of("a"), importer.writes()), ((1, 1), 0));
    importer.pass(2);
    assert_eq!((importer.ready_of("a"), importer.writes()), ((0, 1), 1));
}
