//! The standard API: the mark that all is on the hub, and the names of the cluster.

use std::time::{Duration, Instant};

use fleet_accumulator::{ClusterId, SourceState, View};
use fleet_api::multicluster::standard::{CLUSTER_ID, CLUSTERSET_ID};
use fleet_api::{ObjectName, kinds, labels, names};
use fleet_model_server::{ModelServer, execute};
use fleet_plan::{Controller, affected_keys};
use fleet_runtime::engine::Answer;
use serde_json::{Value, json};

use super::super::{Member, MembershipController};
use crate::Settings;
use crate::hub_answers::HubAnswers;
use crate::measurement::Plan;
use crate::settings::MulticlusterMode;
use crate::snapshot::MemberSnapshot;

const HUB: &str = "hub-uid/0";

struct World {
    own: ModelServer,
    hub: ModelServer,
    settings: Settings,
    answers: HubAnswers,
}

fn web() -> ObjectName {
    ObjectName::new("shop", "web")
}

fn on_hub(name: &str) -> ObjectName {
    ObjectName::new("fleet-member-a", name)
}

impl World {
    /// A member that the hub has accepted, and that exports nothing.
    fn accepted() -> Self {
        let mut settings = Settings::new("a");
        settings.multicluster.mode = MulticlusterMode::On;
        let (mut own, mut hub) =
            (ModelServer::new(ClusterId::Local), ModelServer::new(ClusterId::Hub));
        for namespace in ["kube-system", "shop", "fleet-system"] {
            own.create(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({})).unwrap();
        }
        let system = ObjectName::cluster("kube-system");
        let uid = own.get(kinds::NAMESPACE, &system).unwrap()["metadata"]["uid"].clone();
        let report = json!({ "spec": { "clusterUid": uid } });
        hub.create(kinds::CLUSTER_REPORT, &on_hub("a"), report).unwrap();
        let mut world = Self { own, hub, settings, answers: HubAnswers::by_hand() };
        world.answer("True");
        world
    }

    fn answer(&mut self, status: &str) {
        self.answer_as(HUB, status);
    }

    fn answer_as(&mut self, hub: &str, status: &str) {
        let condition = json!({
            "type": "Accepted", "status": status, "reason": "Accepted", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let status =
            json!({ "incarnation": hub, "clustersetId": "fleet", "conditions": [condition] });
        let set = |object: &mut Value| object["status"] = status;
        self.hub.edit(kinds::CLUSTER_REPORT, &on_hub("a"), set).unwrap();
    }

    /// The user exports a Service with one slice.
    fn export(&mut self) {
        let service = json!({ "spec": {
            "type": "ClusterIP", "clusterIP": "10.0.0.1",
            "ports": [{ "protocol": "TCP", "port": 80 }],
        }});
        self.own.create(kinds::SERVICE, &web(), service).unwrap();
        let slice = json!({
            "metadata": { "labels": { "kubernetes.io/service-name": "web" } },
            "addressType": "IPv4", "endpoints": [{ "addresses": ["10.1.0.1"] }], "ports": [],
        });
        self.own.create(kinds::ENDPOINT_SLICE, &web(), slice).unwrap();
        self.own.create(kinds::MCS_SERVICE_EXPORT, &web(), json!({})).unwrap();
    }

    /// The ExportedService, as the agent offers it.
    fn offer(&mut self) {
        let uid = |kind| self.own.get(kind, &web()).unwrap()["metadata"]["uid"].clone();
        let spec = json!({
            "service": { "namespace": "shop", "name": "web" }, "type": "ClusterSetIP",
            "serviceUid": uid(kinds::SERVICE), "export": { "uid": uid(kinds::MCS_SERVICE_EXPORT) },
        });
        self.hub
            .create(kinds::EXPORTED_SERVICE, &on_hub("shop-web"), json!({ "spec": spec }))
            .unwrap();
    }

    /// The hub agent lists the cluster.
    fn list(&mut self) {
        let spec = json!({
            "service": { "namespace": "shop", "name": "web" }, "type": "ClusterSetIP",
            "winner": "a", "exporters": [{ "cluster": "a" }],
        });
        let name = ObjectName::new("fleet-system", "shop-web");
        self.hub.create(kinds::RESOLVED_SERVICE, &name, json!({ "spec": spec })).unwrap();
    }

    /// The slice on the hub.
    fn carry(&mut self) {
        let slice = self.own.get(kinds::ENDPOINT_SLICE, &web()).unwrap();
        let uid = slice["metadata"]["uid"].clone();
        let reference = json!({
            "clusterId": "a", "kind": "EndpointSlice", "namespace": "shop", "name": "web",
            "namespacedName": "shop/web", "resourceVersion": "1", "generation": 1, "uid": uid,
        });
        let object = json!({
            "metadata": { "labels": { (labels::MULTICLUSTER_NAMESPACE): "shop" } },
            "spec": {
                "addressType": "IPv4", "endpoints": [], "endpointSliceReference": reference,
                "ownerServiceReference":
                    { "namespace": "shop", "name": "web", "namespacedName": "shop/web" },
            },
        });
        self.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &on_hub("shop-web-1"), object).unwrap();
    }

    fn snapshot(&self) -> MemberSnapshot {
        crate::tests::snapshot(&self.settings.identity, &self.own, &self.hub)
    }

    fn plan_on(&self, snapshot: &MemberSnapshot) -> Plan {
        let controller =
            MembershipController { settings: self.settings.clone(), answers: self.answers.clone() };
        controller.plan(&Member, snapshot, self.own.now())
    }

    fn plan(&self) -> Plan {
        self.plan_on(&self.snapshot())
    }

    /// Writes all that is planned, now or later.
    fn settle(&mut self) {
        for _ in 0..5 {
            let mut plan = self.plan();
            let debounced = std::mem::take(&mut plan.debounced);
            plan.steps.extend(debounced.into_iter().map(|later| later.step));
            let refused = execute(&plan, &mut [&mut self.own, &mut self.hub]);
            assert_eq!(refused, []);
        }
        assert!(self.plan().is_empty(), "{:#?}", self.plan());
    }

    /// Whether the mark would be set.
    fn is_due(&self) -> bool {
        !self.plan().debounced.is_empty()
    }

    fn published(&self) -> Option<&str> {
        let report = self.hub.get(kinds::CLUSTER_REPORT, &on_hub("a")).unwrap();
        report["spec"]["publishedTo"].as_str()
    }

    fn property(&self, name: &str) -> Option<&str> {
        let property = self.own.get(kinds::CLUSTER_PROPERTY, &ObjectName::cluster(name))?;
        property["spec"]["value"].as_str()
    }
}

#[test]
fn the_mark_is_set_after_a_while_without_a_break() {
    let mut world = World::accepted();
    let plan = world.plan();
    assert_eq!(plan.debounced[0].delay, Duration::from_mins(1));
    world.settle();
    assert_eq!(world.published(), Some(HUB));
}

#[test]
fn the_mark_waits_for_all_that_is_exported() {
    let mut world = World::accepted();
    world.export();
    assert!(!world.is_due(), "the Service is not on the hub");
    world.offer();
    assert!(!world.is_due(), "the hub does not list the cluster");
    world.list();
    assert!(!world.is_due(), "the slice is not on the hub");
    world.carry();
    assert!(world.is_due());
}

/// What the API server of the hub denies for good leaves nothing to wait for.
#[test]
fn what_is_refused_is_not_waited_for() {
    let mut world = World::accepted();
    world.export();
    assert!(!world.is_due());
    let answer = |world: &World, kind, name: &str, answer| {
        world.answers.answer(kind, &on_hub(name), answer);
    };
    answer(&world, kinds::EXPORTED_SERVICE, "shop-web", Answer::Refused);
    assert!(!world.is_due(), "its policies may not be complete");
    world.answers.refuse(kinds::EXPORTED_SERVICE, &on_hub("shop-web"));
    assert!(world.is_due());
    answer(&world, kinds::EXPORTED_SERVICE, "shop-web", Answer::Open);
    assert!(!world.is_due(), "it may be accepted");
    // The Service is accepted, and its slice is not.
    answer(&world, kinds::EXPORTED_SERVICE, "shop-web", Answer::Acknowledged);
    world.offer();
    world.list();
    assert!(!world.is_due());
    let uid = world.own.get(kinds::ENDPOINT_SLICE, &web()).unwrap()["metadata"]["uid"].clone();
    let names = names::slice_export_candidates("a", "shop", "web", uid.as_str().unwrap());
    let name = names.take(1).next().unwrap();
    world.answers.refuse(kinds::ENDPOINT_SLICE_EXPORT, &on_hub(&name));
    assert!(world.is_due());
    // Another hub has refused nothing yet.
    world.answer_as("other/0", "True");
    assert!(!world.is_due());
}

/// Else each of n exports on its way to the hub would cost a look at all of them.
#[test]
fn the_agent_looks_for_the_mark_at_times_and_not_at_each_change() {
    let mut world = World::accepted();
    world.export();
    let before = world.snapshot();
    world.offer();
    let after = world.snapshot();
    let controller = MembershipController::new(world.settings.clone());
    assert!(affected_keys(&controller, &before, &after).is_empty());
    assert_eq!(world.plan().wake_after, Some(Duration::from_secs(1)));
    world.list();
    world.carry();
    world.settle();
    assert_eq!((world.published(), world.plan().wake_after), (Some(HUB), None));
}

/// An edit of another client.
#[test]
fn a_mark_that_is_gone_is_looked_for() {
    let mut world = World::accepted();
    world.settle();
    let before = world.snapshot();
    let gone = |object: &mut Value| object["spec"]["publishedTo"] = Value::Null;
    world.hub.edit(kinds::CLUSTER_REPORT, &on_hub("a"), gone).unwrap();
    let controller = MembershipController::new(world.settings.clone());
    assert_eq!(affected_keys(&controller, &before, &world.snapshot()).len(), 1);
    world.settle();
    assert_eq!(world.published(), Some(HUB));
}

/// The hub has decided, and importers may forget it.
#[test]
fn an_export_that_the_hub_refuses_is_complete() {
    let mut world = World::accepted();
    world.export();
    world.offer();
    let refused = json!([{
        "type": "Ready", "status": "False", "reason": "PolicyDenied", "message": "no",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    let set = |object: &mut Value| object["status"] = json!({ "conditions": refused });
    world.hub.edit(kinds::EXPORTED_SERVICE, &on_hub("shop-web"), set).unwrap();
    assert!(world.is_due());
}

#[test]
fn no_mark_is_set_on_a_partial_view() {
    let world = World::accepted();
    let missing = SourceState::Missing { since: Instant::now() };
    let snapshot = world.snapshot();
    let partial = MemberSnapshot {
        standard_exports: snapshot.standard_exports.clone().in_state(missing),
        ..snapshot.clone()
    };
    assert!(world.plan_on(&partial).debounced.is_empty());
    let resyncing = MemberSnapshot {
        endpoint_slices: snapshot.endpoint_slices.clone().in_state(SourceState::Resyncing),
        ..snapshot
    };
    assert!(world.plan_on(&resyncing).debounced.is_empty());
}

#[test]
fn another_hub_gets_its_own_mark() {
    let mut world = World::accepted();
    let set = |object: &mut Value| object["spec"]["publishedTo"] = json!("old-hub/0");
    world.hub.edit(kinds::CLUSTER_REPORT, &on_hub("a"), set).unwrap();
    world.settle();
    assert_eq!(world.published(), Some(HUB));
}

/// O6: the names come after the hub has accepted the cluster, and that of the clusterset goes last.
#[test]
fn the_cluster_has_names_while_it_takes_part() {
    let mut world = World::accepted();
    world.answer("False");
    world.settle();
    assert_eq!((world.property(CLUSTER_ID), world.property(CLUSTERSET_ID)), (None, None));
    world.answer("True");
    world.export();
    world.offer();
    world.settle();
    let both = (Some("a"), Some("fleet"));
    assert_eq!((world.property(CLUSTER_ID), world.property(CLUSTERSET_ID)), both);
    assert_eq!(world.published(), None);

    world.settings.multicluster.mode = MulticlusterMode::CleanUp;
    world.settle();
    assert_eq!(world.property(CLUSTERSET_ID), Some("fleet"), "an export is left on the hub");
    world.hub.delete(kinds::EXPORTED_SERVICE, &on_hub("shop-web")).unwrap();
    world.settle();
    assert_eq!((world.property(CLUSTER_ID), world.property(CLUSTERSET_ID)), (Some("a"), None));
}

#[test]
fn properties_with_other_values_stay() {
    let mut world = World::accepted();
    for (name, value) in [(CLUSTER_ID, "other"), (CLUSTERSET_ID, "elsewhere")] {
        let object = json!({ "spec": { "value": value } });
        world.own.create(kinds::CLUSTER_PROPERTY, &ObjectName::cluster(name), object).unwrap();
    }
    world.settle();
    world.settings.multicluster.mode = MulticlusterMode::CleanUp;
    world.settle();
    let both = (Some("other"), Some("elsewhere"));
    assert_eq!((world.property(CLUSTER_ID), world.property(CLUSTERSET_ID)), both);
}

/// It may exist in clusters that are part of a clusterset only, and `--clusterset-id` of the hub may have changed.
#[test]
fn the_name_of_the_clusterset_goes_although_the_hub_has_another_one_now() {
    let mut world = World::accepted();
    world.settle();
    let set = |object: &mut Value| object["status"]["clustersetId"] = json!("renamed");
    world.hub.edit(kinds::CLUSTER_REPORT, &on_hub("a"), set).unwrap();
    world.settle();
    assert_eq!(world.property(CLUSTERSET_ID), Some("fleet"), "names do not change");
    world.settings.multicluster.mode = MulticlusterMode::CleanUp;
    world.settle();
    assert_eq!(world.property(CLUSTERSET_ID), None);
}

/// Another implementation may have made it, of the same value.
#[test]
fn properties_that_somebody_else_made_stay() {
    let mut world = World::accepted();
    let object = json!({ "spec": { "value": "fleet" } });
    let name = ObjectName::cluster(CLUSTERSET_ID);
    world.own.create(kinds::CLUSTER_PROPERTY, &name, object).unwrap();
    world.settle();
    world.settings.multicluster.mode = MulticlusterMode::CleanUp;
    world.settle();
    assert_eq!(world.property(CLUSTERSET_ID), Some("fleet"));
}

/// The definition of the About API is optional.
#[test]
fn without_the_about_api_the_rest_works() {
    let world = World::accepted();
    let missing = SourceState::Missing { since: Instant::now() };
    let snapshot = world.snapshot();
    let without = MemberSnapshot {
        cluster_properties: fleet_accumulator::View::default().in_state(missing),
        ..snapshot
    };
    let plan = world.plan_on(&without);
    assert!(plan.steps.is_empty() && plan.debounced.len() == 1, "{plan:#?}");
}

#[test]
fn a_clean_up_takes_the_mark_back() {
    let mut world = World::accepted();
    world.settle();
    world.settings.multicluster.mode = MulticlusterMode::CleanUp;
    world.settle();
    assert_eq!(world.published(), None);
    world.settings.multicluster.mode = MulticlusterMode::Off;
    assert!(world.plan().is_empty(), "off writes nothing");
}

/// What of the standard API keeps a member from reporting that it has left.
#[test]
fn a_member_has_left_when_its_exports_are_gone() {
    let mut world = World::accepted();
    world.export();
    world.offer();
    let leaves = json!({ "spec": { "state": "Leave", "heartbeatPeriodSeconds": 60 } });
    world.hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &on_hub("a"), leaves).unwrap();
    let reports =
        |plan: &Plan| plan.steps.iter().any(|step| step.kind == kinds::INTERNAL_MEMBER_CLUSTER);
    assert!(!reports(&world.plan()));
    world.hub.delete(kinds::EXPORTED_SERVICE, &on_hub("shop-web")).unwrap();
    assert!(reports(&world.plan()), "{:#?}", world.plan());
    assert!(world.own.get(kinds::MCS_SERVICE_EXPORT, &web()).is_some(), "the user's own");
}

/// A member without rights for the API on the hub could never export anything, and leaves. What was listed once has to be seen to
/// be gone.
#[test]
fn a_member_that_could_never_export_leaves() {
    let mut world = World::accepted();
    let leaves = json!({ "spec": { "state": "Leave", "heartbeatPeriodSeconds": 60 } });
    world.hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &on_hub("a"), leaves).unwrap();
    let since = Instant::now();
    let forbidden = SourceState::Forbidden { since, verb: "list", message: "no".into() };
    let reports =
        |plan: &Plan| plan.steps.iter().any(|step| step.kind == kinds::INTERNAL_MEMBER_CLUSTER);
    for state in [forbidden, SourceState::Missing { since }] {
        let seen = |exported_services| {
            let snapshot = MemberSnapshot { exported_services, ..world.snapshot() };
            reports(&world.plan_on(&snapshot))
        };
        assert!(seen(View::default().in_state(state.clone()).unlisted()), "{state}");
        assert!(!seen(View::of([]).in_state(state.clone())), "{state}");
    }
}

/// As many exports as need a confirmation when they are the fleet's own.
#[test]
fn a_member_with_many_exports_asks_before_it_leaves() {
    let mut world = World::accepted();
    for number in 0..21 {
        let name = ObjectName::new("shop", format!("web-{number}"));
        world.own.create(kinds::MCS_SERVICE_EXPORT, &name, json!({})).unwrap();
    }
    let leaves = json!({ "spec": { "state": "Leave", "heartbeatPeriodSeconds": 60 } });
    world.hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &on_hub("a"), leaves).unwrap();
    world.settle();
    let status = &world.hub.get(kinds::INTERNAL_MEMBER_CLUSTER, &on_hub("a")).unwrap()["status"];
    let message = status["agentStatus"][0]["conditions"][0]["message"].as_str().unwrap();
    assert!(message.contains("withdraw 21 Services from the clusterset"), "{message}");
}
