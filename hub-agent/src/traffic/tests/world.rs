//! A hub with members that renew their Leases, and a hub agent that decides once a second.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_accumulator::{ClusterId, Tracked as _, View};
use fleet_api::names::{MEMBER_LEASE, SYSTEM_NAMESPACE, member_namespace};
use fleet_api::traffic::{APPLIED, FLEET_TRAFFIC, FleetTrafficStatus, MemberTrafficStatus};
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model::multicluster::mode::Mode;
use fleet_model::objects::traffic::{FleetDecision, MemberDecision};
use fleet_model::steps::to_json;
use fleet_model_server::{ModelServer, execute, plans_computed_twice, snapshot};
use fleet_plan::Plan;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::Settings;
use crate::snapshot::HubSnapshot;
use crate::traffic::TrafficController;
use crate::traffic_decider::{Decider, Decisions};

pub(super) struct World {
    pub(super) hub: ModelServer,
    pub(super) decider: Decider,
    pub(super) leads: bool,
    pub(super) now: Duration,
    /// Members that renew their Leases every ten seconds.
    pub(super) alive: BTreeSet<&'static str>,
    /// Members that do not apply what they read.
    pub(super) late: BTreeSet<&'static str>,
    /// The objects of members are not listed yet.
    pub(super) is_listing: bool,
    /// Takes away what has yet to be listed beside that.
    pub(super) unlisted: Option<fn(&mut HubSnapshot)>,
    /// How many writes of each plan are sent.
    pub(super) writes_sent: usize,
    /// What was decided last, and the version of the hub after that, without renewals.
    last: (Option<Decisions>, u64),
    /// How many versions of the hub are renewals.
    renewals: u64,
    /// Reasons of Events, each as often as it was planned.
    pub(super) events: BTreeMap<&'static str, usize>,
}

impl World {
    pub(super) fn of(members: &[&'static str]) -> Self {
        let mut hub = ModelServer::new(ClusterId::Hub);
        let mut create = |kind: ResourceKind, name: ObjectName, object: Value| {
            hub.create(kind, &name, object).unwrap();
        };
        create(kinds::NAMESPACE, ObjectName::cluster("kube-system"), json!({}));
        create(kinds::FLEET_TRAFFIC, ObjectName::cluster(FLEET_TRAFFIC), json!({ "spec": {} }));
        let mut world = Self {
            hub,
            decider: Decider::default(),
            leads: true,
            now: Duration::from_secs(1000),
            alive: BTreeSet::new(),
            late: BTreeSet::new(),
            is_listing: false,
            unlisted: None,
            writes_sent: usize::MAX,
            last: (None, 0),
            renewals: 0,
            events: BTreeMap::new(),
        };
        for member in members {
            world.join(member);
        }
        world
    }

    /// Members that have been judged once.
    pub(super) fn settled(members: &[&'static str]) -> Self {
        let mut world = Self::of(members);
        world.pass(70);
        world.hub.take_writes();
        world.events.clear();
        world
    }

    pub(super) fn join(&mut self, member: &'static str) {
        let namespace = ObjectName::cluster(member_namespace(member));
        self.hub.create(kinds::NAMESPACE, &namespace, json!({})).unwrap();
        self.hub.create(kinds::LEASE, &lease(member), json!({ "spec": {} })).unwrap();
        self.alive.insert(member);
    }

    /// The ready endpoints that a member has of a Service that counts.
    pub(super) fn export(&mut self, member: &str, service: &str, ready: usize) {
        let is_new = self.export_slice(member, service, ready);
        let import = ObjectName::new("shop", service);
        if self.hub.get(kinds::SERVICE_IMPORT, &import).is_none() {
            self.hub.create(kinds::SERVICE_IMPORT, &import, json!({})).unwrap();
        }
        self.edit(kinds::SERVICE_IMPORT, &import, |import| {
            let mut clusters = import["status"]["clusters"].as_array().cloned().unwrap_or_default();
            clusters.extend(is_new.then(|| json!({ "cluster": member })));
            import["status"]["clusters"] = clusters.into();
        });
    }

    /// The ready endpoints alone, whether or not they count. Returns whether there was no such slice.
    pub(super) fn export_slice(&mut self, member: &str, service: &str, ready: usize) -> bool {
        let name = slice(member, service);
        let endpoints: Vec<_> =
            (0..ready).map(|at| json!({ "addresses": [format!("10.0.0.{at}")] })).collect();
        let reference = json!({ "clusterId": member, "kind": "EndpointSlice", "namespace": "shop",
            "name": service, "namespacedName": format!("shop/{service}"), "resourceVersion": "1",
            "generation": 1, "uid": format!("{member}-{service}") });
        let owner = json!({ "namespace": "shop", "name": service,
            "namespacedName": format!("shop/{service}") });
        let spec = json!({ "addressType": "IPv4", "endpoints": endpoints,
            "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
            "endpointSliceReference": reference, "ownerServiceReference": owner });
        if self.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &name).is_some() {
            self.edit_slice(member, service, |slice| slice["spec"] = spec);
            return false;
        }
        self.hub.create(kinds::ENDPOINT_SLICE_EXPORT, &name, json!({ "spec": spec })).unwrap();
        true
    }

    pub(super) fn edit_slice(
        &mut self,
        member: &str,
        service: &str,
        edit: impl FnOnce(&mut Value),
    ) {
        self.edit(kinds::ENDPOINT_SLICE_EXPORT, &slice(member, service), edit);
    }

    /// What is in force of a Service by the standard API.
    pub(super) fn resolve(&mut self, service: &str, exporters: &Value) {
        let name = ObjectName::new(SYSTEM_NAMESPACE, format!("shop-{service}"));
        let spec = json!({ "service": { "namespace": "shop", "name": service },
            "type": "ClusterSetIP", "ports": [{ "name": "http", "port": 80 }],
            "ipFamilies": ["IPv4"], "winner": "east", "exporters": exporters });
        self.hub.create(kinds::RESOLVED_SERVICE, &name, json!({ "spec": spec })).unwrap();
    }

    /// So many of the Pods of an exported Service run in another member.
    pub(super) fn run_in(&mut self, executor: &str, member: &str, service: &str, count: usize) {
        let node = ObjectName::new(member_namespace(member), executor);
        if self.hub.get(kinds::VIRTUAL_NODE, &node).is_none() {
            let spec = json!({ "executor": executor, "capacity": { "cpu": "1", "memory": "1Gi", "pods": 1 }, "terms": { "namespaces": [] } });
            self.hub.create(kinds::VIRTUAL_NODE, &node, json!({ "spec": spec })).unwrap();
        }
        self.claim_executor(executor, member, service, count);
    }

    /// A member reports so, whether or not it has a virtual node.
    pub(super) fn claim_executor(
        &mut self,
        executor: &str,
        member: &str,
        service: &str,
        count: usize,
    ) {
        self.edit_slice(member, service, |slice| {
            for endpoint in &mut slice["spec"]["endpoints"].as_array_mut().unwrap()[..count] {
                endpoint["executor"] = json!(executor);
            }
        });
    }

    pub(super) fn edit(
        &mut self,
        kind: ResourceKind,
        name: &ObjectName,
        edit: impl FnOnce(&mut Value),
    ) {
        self.hub.edit(kind, name, edit).unwrap();
    }

    /// What an administrator writes about a member.
    pub(super) fn decide(&mut self, member: &str, edit: impl FnOnce(&mut Value)) {
        let name = ObjectName::cluster(member);
        self.edit(kinds::MEMBER_TRAFFIC, &name, |object| edit(&mut object["spec"]));
    }

    pub(super) fn drain(&mut self, member: &str, service: &str, percent: i64, over: i64) {
        self.request(
            member,
            json!([{ "service": service, "percent": percent, "overSeconds": over }]),
        );
    }

    #[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
    pub(super) fn request(&mut self, member: &str, drains: Value) {
        self.decide(member, |spec| spec["drains"] = drains.clone());
    }

    pub(super) fn configure(&mut self, edit: impl FnOnce(&mut Value)) {
        let name = ObjectName::cluster(FLEET_TRAFFIC);
        self.edit(kinds::FLEET_TRAFFIC, &name, |object| edit(&mut object["spec"]));
    }

    pub(super) fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now += Duration::from_secs(1);
            self.hub.advance(1);
            self.renew();
            self.look();
        }
    }

    /// Members that are alive renew every ten seconds, not all at once.
    fn renew(&mut self) {
        let members: Vec<_> = self.alive.iter().copied().collect();
        for (at, member) in members.into_iter().enumerate() {
            if (self.now.as_secs() + at as u64).is_multiple_of(10) {
                self.renew_now(member);
            }
        }
    }

    pub(super) fn renew_now(&mut self, member: &'static str) {
        let serials = self.hub.objects(kinds::MEMBER_TRAFFIC);
        let serials = serials.filter_map(|(_, object)| object["status"]["serial"].as_i64());
        let applied = serials.max().unwrap_or_default();
        let since = SignedDuration::try_from(self.now).unwrap();
        let time = Timestamp::UNIX_EPOCH + since;
        let is_late = self.late.contains(member);
        let before = self.hub.version();
        self.edit(kinds::LEASE, &lease(member), |lease| {
            lease["spec"]["renewTime"] = json!(format!("{time:.6}"));
            if !is_late {
                lease["metadata"]["annotations"][APPLIED] = json!(applied.to_string());
            }
        });
        self.renewals += self.hub.version() - before;
    }

    pub(super) fn snapshot(&self) -> HubSnapshot {
        let mut seen: HubSnapshot = snapshot(&[&self.hub], None);
        if self.is_listing {
            seen.member_traffics = View::default();
        }
        if let Some(take_away) = self.unlisted {
            take_away(&mut seen);
        }
        seen
    }

    /// Decides, and lets the controller write, as often as something has changed for it.
    pub(super) fn look(&mut self) {
        let decisions = self.decider.look(&self.snapshot(), self.leads, self.now);
        if (&decisions, self.hub.version() - self.renewals) == (&self.last.0, self.last.1) {
            return;
        }
        self.hand_over(decisions.as_ref());
        if self.leads {
            self.write();
        }
        // What was not sent is planned again.
        let version = if self.writes_sent == usize::MAX { self.hub.version() } else { 0 };
        self.last = (decisions, version.saturating_sub(self.renewals));
    }

    fn hand_over(&mut self, decisions: Option<&Decisions>) {
        for kind in [MemberDecision::KIND, FleetDecision::KIND] {
            for name in self.hub.names(kind) {
                self.hub.delete(kind, &name).unwrap();
            }
        }
        if let Some(decisions) = decisions {
            let fleet = [(FLEET_TRAFFIC, to_json(&decisions.fleet))];
            for (name, document) in fleet {
                let object = json!({ "document": document });
                self.hub.create(FleetDecision::KIND, &ObjectName::cluster(name), object).unwrap();
            }
            for (name, decision) in &decisions.members {
                let object = json!({ "document": to_json(decision) });
                let name = ObjectName::cluster(name.clone());
                self.hub.create(MemberDecision::KIND, &name, object).unwrap();
            }
        }
    }

    pub(super) fn plans(&self) -> Vec<Plan> {
        plans_computed_twice(&TrafficController, &self.snapshot(), self.hub.now())
    }

    fn write(&mut self) {
        let plans = self.plans();
        for mut plan in plans {
            plan.steps.truncate(self.writes_sent);
            for event in &plan.events {
                *self.events.entry(event.reason).or_default() += 1;
            }
            execute(&plan, &mut [&mut self.hub]);
        }
    }

    /// The process of the hub agent ends, and another one takes over.
    pub(super) fn restart(&mut self) {
        self.decider = Decider::default();
    }

    /// The same with one that watches virtual nodes, and has yet to list them.
    pub(super) fn restart_without_nodes(&mut self) {
        self.decider = Decider::new(&Settings { virtual_nodes: true, ..Settings::default() });
        self.unlisted = Some(|seen| seen.virtual_nodes = View::default());
    }

    /// The same with one that watches what is in force by the standard API.
    pub(super) fn restart_without_standard(&mut self) {
        self.decider = Decider::new(&Settings { multicluster: Mode::On, ..Settings::default() });
        self.unlisted = Some(|seen| seen.resolved_services = View::default());
    }

    /// What a member notes in its Lease.
    pub(super) fn note(&mut self, member: &str, annotation: &str, text: &str) {
        self.edit(kinds::LEASE, &lease(member), |lease| {
            lease["metadata"]["annotations"][annotation] = json!(text);
        });
    }

    /// The hub in an epoch.
    pub(super) fn incarnation(&self, epoch: i64) -> String {
        let system = self.hub.get(kinds::NAMESPACE, &ObjectName::cluster("kube-system")).unwrap();
        format!("{}/{epoch}", system["metadata"]["uid"].as_str().unwrap())
    }

    pub(super) fn status(&self, member: &str) -> MemberTrafficStatus {
        let object = self.hub.get(kinds::MEMBER_TRAFFIC, &ObjectName::cluster(member));
        let status = object.map(|object| object["status"].clone()).unwrap_or_default();
        if status.is_null() {
            return MemberTrafficStatus::default();
        }
        serde_json::from_value(status).unwrap()
    }

    pub(super) fn fleet(&self) -> FleetTrafficStatus {
        let object = self.hub.get(kinds::FLEET_TRAFFIC, &ObjectName::cluster(FLEET_TRAFFIC));
        serde_json::from_value(object.unwrap()["status"].clone()).unwrap()
    }

    /// State of the verdict, and percentage.
    pub(super) fn verdict(&self, member: &str) -> (&'static str, i64) {
        let silence = self.status(member).silence;
        silence.map_or(("", 0), |silence| (silence.state.as_str(), silence.percent))
    }

    /// Percentage and reason of a drain.
    pub(super) fn drained(&self, member: &str, service: &str) -> Option<(i64, &'static str)> {
        let drains = self.status(member).drains;
        let drain = drains.into_iter().find(|drain| drain.service == service);
        drain.map(|drain| (drain.percent, drain.reason.as_str()))
    }

    /// Writes of statuses of members since the last call.
    pub(super) fn writes(&mut self) -> usize {
        let writes = self.hub.take_writes();
        writes.iter().filter(|write| write.kind == kinds::MEMBER_TRAFFIC.kind).count()
    }
}

fn slice(member: &str, service: &str) -> ObjectName {
    ObjectName::new(member_namespace(member), format!("{service}-{member}"))
}

pub(super) fn lease(member: &str) -> ObjectName {
    ObjectName::new(member_namespace(member), MEMBER_LEASE)
}
