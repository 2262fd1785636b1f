//! Two clusters of one name, on model servers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_accumulator::{ClusterId, SourceState};
use fleet_api::{ObjectName, kinds};
use fleet_model_server::{ModelServer, execute, plans_computed_twice};
use fleet_plan::{Controller, Step, affected_keys};
use serde_json::json;

use super::{Fenced, is_record};
use crate::Settings;
use crate::export::ExportController;
use crate::fence::cluster_uid;
use crate::measurement::{Measurement, Plan};
use crate::membership::MembershipController;
use crate::snapshot::MemberSnapshot;
use crate::tenure::{PATIENCE, RENEWAL, SUCCESSION, Tenure};

/// One of several clusters that have the name "a".
struct Cluster {
    own: ModelServer,
    settings: Settings,
    export: Fenced<ExportController>,
    membership: Fenced<MembershipController>,
}

fn record() -> ObjectName {
    ObjectName::new("fleet-member-a", "a")
}

fn hub() -> ModelServer {
    let mut hub = ModelServer::new(ClusterId::Hub);
    let joins = json!({ "spec": { "state": "Join", "heartbeatPeriodSeconds": 60 } });
    hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &record(), joins).unwrap();
    hub
}

impl Cluster {
    /// The `number`th cluster, which exports the Service team/shop.
    fn new(number: usize) -> Self {
        let mut own = ModelServer::new(ClusterId::Local);
        // Each cluster has other uids.
        for count in 0..number {
            let name = ObjectName::cluster(format!("n{count}"));
            own.create(kinds::NAMESPACE, &name, json!({})).unwrap();
        }
        for namespace in ["kube-system", "team", "fleet-system"] {
            own.create(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({})).unwrap();
        }
        let shop = ObjectName::new("team", "shop");
        let service = json!({ "spec": {
            "type": "ClusterIP", "clusterIP": "10.0.0.1",
            "ports": [{ "name": "web", "protocol": "TCP", "port": 80 }],
        }});
        own.create(kinds::SERVICE, &shop, service).unwrap();
        own.create(kinds::SERVICE_EXPORT, &shop, json!({})).unwrap();
        let settings = Settings::new("a");
        let tenure = Arc::new(Tenure::default());
        let export = ExportController { settings: settings.clone() };
        let membership = MembershipController::new(settings.clone());
        let export = Fenced::new(export, &settings.identity, &tenure);
        let membership = Fenced::new(membership, &settings.identity, &tenure).measured();
        Self { own, settings, export, membership }
    }

    fn snapshot(&self, hub: &ModelServer) -> MemberSnapshot {
        crate::tests::snapshot(&self.settings.identity, &self.own, hub)
    }

    fn plans(&self, hub: &ModelServer) -> Vec<Plan> {
        let (snapshot, now) = (self.snapshot(hub), self.own.now());
        let mut plans = all(&self.export, &snapshot, now);
        plans.extend(all(&self.membership, &snapshot, now));
        plans
    }

    /// Plans once and writes; the number of writes.
    fn act(&mut self, hub: &mut ModelServer) -> usize {
        for plan in self.plans(hub) {
            execute(&plan, &mut [&mut self.own, hub]);
        }
        self.own.take_writes().len() + hub.take_writes().len()
    }

    /// Acts until nothing is left to write.
    fn settle(&mut self, hub: &mut ModelServer) {
        for _ in 0..20 {
            if self.act(hub) == 0 {
                return;
            }
        }
        panic!("no rest");
    }
}

fn all<C>(controller: &C, snapshot: &MemberSnapshot, now: jiff::Timestamp) -> Vec<Plan>
where
    C: Controller<Snapshot = MemberSnapshot, Measurement = Measurement>,
{
    let keys = affected_keys(controller, &MemberSnapshot::default(), snapshot);
    keys.iter().map(|key| controller.plan(key, snapshot, now)).collect()
}

/// The first one exports; the second one writes nothing, in no cluster, no heartbeat either.
#[test]
fn the_second_cluster_writes_nothing_and_names_the_first() {
    let (mut hub, mut first, mut second) = (hub(), Cluster::new(0), Cluster::new(1));
    first.settle(&mut hub);
    let exported = ObjectName::new("fleet-member-a", "team-shop");
    assert!(hub.get(kinds::INTERNAL_SERVICE_EXPORT, &exported).is_some());
    second.own.delete(kinds::SERVICE_EXPORT, &ObjectName::new("team", "shop")).unwrap();
    second.own.take_writes();
    second.own.advance(3600);
    assert_eq!(second.act(&mut hub), 0);
    assert!(second.plans(&hub).iter().all(|plan| plan.wake_after.is_none()));
    let obstacle = second.export.obstacle(&second.snapshot(&hub)).unwrap();
    assert!(obstacle.contains("another cluster as a"), "{obstacle}");
    assert_eq!(first.export.obstacle(&first.snapshot(&hub)), None);
}

/// Only the record is written until it is seen.
#[test]
fn nothing_comes_before_the_record() {
    let (mut hub, mut first) = (hub(), Cluster::new(0));
    let steps: Vec<_> = first.plans(&hub).into_iter().flat_map(|plan| plan.steps).collect();
    assert_eq!(steps.iter().map(|step| step.kind).collect::<Vec<_>>(), [kinds::CLUSTER_REPORT]);
    assert_eq!(first.act(&mut hub), 1);
    assert!(first.act(&mut hub) > 1);
}

/// A namespace that is being deleted takes no record, and has what the member has to release.
#[test]
fn objects_on_the_hub_do_not_wait_for_the_record() {
    let (hub, mut first) = (hub(), Cluster::new(0));
    let waiting = first.plans(&hub);
    assert!(waiting.iter().all(|plan| plan.wake_after == Some(PATIENCE)), "{waiting:?}");
    let seconds = i64::try_from(PATIENCE.as_secs()).unwrap();
    first.own.advance(seconds);
    let kinds: Vec<_> =
        first.plans(&hub).into_iter().flat_map(|plan| plan.steps).map(|step| step.kind).collect();
    assert!(kinds.contains(&kinds::SERVICE_EXPORT), "{kinds:?}");
    assert!(kinds.contains(&kinds::CLUSTER_REPORT), "it goes on trying: {kinds:?}");
}

/// The steps that wait for the absence of a record, with the times that it has to last.
fn records(plans: &[Plan]) -> Vec<(Duration, Step)> {
    let debounced = plans.iter().flat_map(|plan| &plan.debounced);
    let records = debounced.filter(|later| later.step.kind == kinds::CLUSTER_REPORT);
    records.map(|later| (later.delay, later.step.clone())).collect()
}

/// A record that is lost, for example with the hub's data: its cluster works on and records itself again, before the other
/// one may.
#[test]
fn a_deleted_record_goes_back_to_its_cluster() {
    let (mut hub, mut first, mut second) = (hub(), Cluster::new(0), Cluster::new(1));
    first.settle(&mut hub);
    assert_eq!(second.act(&mut hub), 0);
    hub.delete(kinds::CLUSTER_REPORT, &record()).unwrap();
    assert_eq!([first.act(&mut hub), second.act(&mut hub)], [0, 0]);
    let (own, other) = (records(&first.plans(&hub)), records(&second.plans(&hub)));
    let ([(renewal, again)], [(succession, _)]) = (&own[..], &other[..]) else {
        panic!("{own:?}, {other:?}")
    };
    assert_eq!((*renewal, *succession), (RENEWAL, SUCCESSION));
    assert!(first.plans(&hub).iter().all(|plan| plan.wake_after != Some(PATIENCE)));

    hub.execute(again).unwrap();
    hub.take_writes();
    assert_eq!(second.act(&mut hub), 0);
    assert!(second.export.obstacle(&second.snapshot(&hub)).is_some());
    assert!(first.export.obstacle(&first.snapshot(&hub)).is_none());
}

/// One that went with the hub's data was not deleted by an administrator.
#[test]
fn a_cluster_records_itself_at_once_on_a_hub_that_was_rebuilt() {
    let (mut former, mut first, rebuilt) = (hub(), Cluster::new(0), hub());
    first.settle(&mut former);
    let mut snapshot = first.snapshot(&rebuilt);
    snapshot.cluster_reports = snapshot.cluster_reports.settling(true).listed_at(Instant::now());
    let plans = all(&first.membership, &snapshot, first.own.now());
    assert_eq!(records(&plans), []);
    assert!(plans.iter().flat_map(|plan| &plan.steps).any(is_record), "{plans:?}");
}

/// An administrator records the second cluster: it becomes the member, and the first one is silent.
#[test]
fn a_record_that_is_replaced_moves_the_name() {
    let (mut hub, mut first, mut second) = (hub(), Cluster::new(0), Cluster::new(1));
    first.settle(&mut hub);
    assert_eq!(second.act(&mut hub), 0);
    hub.delete(kinds::CLUSTER_REPORT, &record()).unwrap();
    let snapshot = second.snapshot(&hub);
    let uid = cluster_uid(&snapshot).unwrap().to_string();
    let spec = json!({ "spec": { "clusterUid": uid } });
    hub.create(kinds::CLUSTER_REPORT, &record(), spec).unwrap();
    second.own.delete(kinds::SERVICE_EXPORT, &ObjectName::new("team", "shop")).unwrap();
    second.settle(&mut hub);
    let exported = ObjectName::new("fleet-member-a", "team-shop");
    let withdrawn = &hub.get(kinds::INTERNAL_SERVICE_EXPORT, &exported).unwrap()["metadata"];
    assert!(!withdrawn["deletionTimestamp"].is_null(), "it has no such export");
    first.own.advance(3600);
    assert_eq!(first.act(&mut hub), 0, "it is silent now");
    assert!(first.export.obstacle(&first.snapshot(&hub)).is_some());
}

/// A hub of an older release neither stops the agent nor makes it wait.
#[test]
fn an_older_hub_changes_nothing() {
    let (hub, first) = (hub(), Cluster::new(0));
    let since = std::time::Instant::now();
    let mut snapshot = first.snapshot(&hub);
    snapshot.cluster_reports = snapshot.cluster_reports.in_state(SourceState::Missing { since });
    let plans = all(&first.export, &snapshot, first.own.now());
    assert!(plans.iter().any(|plan| !plan.steps.is_empty()));
    let plans = all(&first.membership, &snapshot, first.own.now());
    let written: Vec<_> = plans.iter().flat_map(|plan| &plan.steps).map(|step| step.kind).collect();
    assert_eq!(written, [kinds::INTERNAL_MEMBER_CLUSTER]);
}

/// Whatever the fence, the same question has the same answer.
#[test]
fn planning_twice_gives_equal_plans() {
    let (mut hub, mut first, second) = (hub(), Cluster::new(0), Cluster::new(1));
    for _ in 0..3 {
        for cluster in [&first, &second] {
            let (snapshot, now) = (cluster.snapshot(&hub), cluster.own.now());
            assert!(!plans_computed_twice(&cluster.export, &snapshot, now).is_empty());
            assert!(!plans_computed_twice(&cluster.membership, &snapshot, now).is_empty());
        }
        first.act(&mut hub);
    }
}

/// A change of the record concerns every key.
#[test]
fn every_key_is_planned_when_the_fence_opens() {
    let (mut hub, mut first) = (hub(), Cluster::new(0));
    let before = first.snapshot(&hub);
    first.act(&mut hub);
    let after = first.snapshot(&hub);
    assert_eq!(affected_keys(&first.export, &before, &after).len(), 1);
    assert_eq!(affected_keys(&first.export, &after, &after).len(), 0);
}
