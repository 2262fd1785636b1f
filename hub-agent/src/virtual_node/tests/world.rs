//! A hub with an executor "west" and origins "east" and "north".

use fleet_accumulator::{ClusterId, Tracked as _};
use fleet_api::names::member_namespace;
use fleet_api::offload::{LinkState, OffloadTerms, PodExportSpec, PolicyProfile};
use fleet_api::{ObjectName, ResourceKind, finalizers, kinds};
use fleet_model::objects::offload::Hearing;
use fleet_model_server::{ModelServer, execute, plans_computed_twice, snapshot};
use fleet_plan::Plan;
use fleet_virtual_node::pod::{LocalPod, spec_hash, translate};
use serde_json::{Value, json};

use crate::snapshot::HubSnapshot;
use crate::virtual_node::VirtualNodeController;

/// The hub, with what the agents of members do there.
pub(super) struct World {
    pub(super) hub: ModelServer,
}

pub(super) fn in_member(member: &str, name: &str) -> ObjectName {
    ObjectName::new(member_namespace(member), name)
}

pub(super) fn terms() -> OffloadTerms {
    OffloadTerms {
        namespaces: vec!["shop".to_owned()],
        policy_profile: PolicyProfile::Baseline,
        ..OffloadTerms::default()
    }
}

/// What an origin sends of a Pod.
pub(super) fn spec(origin: &str, uid: &str) -> PodExportSpec {
    let pod = LocalPod::read(&json!({
        "metadata": { "namespace": "shop", "name": "web", "uid": uid },
        "spec": { "containers": [{ "name": "web", "image": "web",
            "resources": { "requests": { "cpu": "500m" } } }] },
    }));
    let mut spec = translate(&pod, origin, "west", &terms(), None).unwrap();
    spec.spec_hash = spec_hash(&spec);
    spec
}

impl World {
    /// Members whose Leases are renewed, with ranges of their own.
    pub(super) fn new() -> Self {
        let mut world = Self { hub: ModelServer::new(ClusterId::Hub) };
        for (member, range) in
            [("east", "10.1.0.0/16"), ("north", "10.3.0.0/16"), ("west", "10.2.0.0/16")]
        {
            world.join(member, range);
        }
        world
    }

    pub(super) fn join(&mut self, member: &str, range: &str) {
        let namespace = ObjectName::cluster(member_namespace(member));
        self.hub.create(kinds::NAMESPACE, &namespace, json!({})).unwrap();
        let data = json!({ "data": { "cidrs": range, "exports": "*", "imports": "*" } });
        self.hub.create(kinds::CONFIG_MAP, &in_member(member, "member-policy"), data).unwrap();
        self.hear(member, Some(LinkState::Connected));
    }

    /// Whether a member renews its Lease from now on.
    pub(super) fn hear(&mut self, member: &str, state: Option<LinkState>) {
        let name = Hearing::name(member);
        self.hub.delete(Hearing::KIND, &name).ok();
        if let Some(state) = state {
            let document = Hearing::document(state == LinkState::Silent);
            self.hub.create(Hearing::KIND, &name, json!({ "document": document })).unwrap();
        }
    }

    /// "west" offers to run Pods of these members.
    pub(super) fn offer(&mut self, name: &str, origins: &[&str]) {
        self.hub.advance(1);
        let spec = json!({
            "originSelector": { "clusters": origins },
            "capacity": { "cpu": "4", "memory": "8Gi", "pods": 3 },
            "terms": terms(),
            "draining": false, "originTtlSeconds": 86_400, "topology": {},
        });
        let offer = json!({ "spec": spec });
        self.hub.create(kinds::OFFLOAD_OFFER, &in_member("west", name), offer).unwrap();
    }

    /// The administrators of a member accept "west", or no longer.
    pub(super) fn accept(&mut self, origin: &str, accepted: bool) {
        self.edit(kinds::VIRTUAL_NODE, &in_member(origin, "west"), |node| {
            let executor = node["status"]["executor"].clone();
            node["status"] = json!({ "accepted": accepted,
                "node": { "name": "fleet-west", "uid": "n" }, "pods": 0 });
            if !executor.is_null() {
                node["status"]["executor"] = executor;
            }
        });
    }

    /// "west" is accepted by "east".
    pub(super) fn accepted() -> Self {
        let mut world = Self::new();
        world.offer("offer", &["east"]);
        world.settle();
        world.accept("east", true);
        world.settle();
        world.hub.take_writes();
        world
    }

    pub(super) fn export(&mut self, origin: &str, uid: &str) {
        self.export_spec(origin, &spec(origin, uid));
    }

    pub(super) fn export_spec(&mut self, origin: &str, spec: &PodExportSpec) {
        self.hub.advance(1);
        let metadata = json!({ "finalizers": [finalizers::POD_EXPORT] });
        let object = json!({ "metadata": metadata, "spec": spec });
        let name = in_member(origin, &spec.origin.uid);
        self.hub.create(kinds::POD_EXPORT, &name, object).unwrap();
    }

    /// The origin is done with a Pod.
    pub(super) fn stop(&mut self, origin: &str, uid: &str, grace: i64) {
        let name = in_member(origin, uid);
        self.edit(kinds::POD_EXPORT, &name, |export| {
            export["spec"]["stopGraceSeconds"] = grace.into();
        });
        self.hub.delete(kinds::POD_EXPORT, &name).unwrap();
    }

    pub(super) fn edit(
        &mut self,
        kind: ResourceKind,
        name: &ObjectName,
        edit: impl FnOnce(&mut Value),
    ) {
        self.hub.edit(kind, name, edit).unwrap();
    }

    /// The executor reports that a Pod runs.
    pub(super) fn run(&mut self, origin: &str, uid: &str) {
        let name = in_member("west", &format!("{uid}.{origin}"));
        self.edit(kinds::POD_IMPORT, &name, |import| {
            import["status"] = json!({ "released": false, "remote": {
                "phase": "Running", "podIPs": ["10.2.0.7"],
                "pod": { "namespace": "offload-east--shop", "name": "web-1", "uid": "r" },
            }});
        });
    }

    /// The executor does what imports ask for, as far as the hub sees it.
    pub(super) fn obey(&mut self) {
        for name in self.hub.names(kinds::POD_IMPORT) {
            let import = self.hub.get(kinds::POD_IMPORT, &name).unwrap().clone();
            let is_deleting = !import["metadata"]["deletionTimestamp"].is_null();
            if import["status"]["released"] == true && is_deleting {
                self.edit(kinds::POD_IMPORT, &name, |import| {
                    import["metadata"]["finalizers"] = json!([]);
                });
            } else if is_deleting || !import["spec"]["stop"].is_null() {
                self.edit(kinds::POD_IMPORT, &name, |import| {
                    let remote = import["status"]["remote"].clone();
                    import["status"] = json!({ "released": true });
                    if !remote.is_null() {
                        import["status"]["remote"] = remote;
                    }
                });
            } else if import["status"].is_null() {
                let (uid, origin) = name.name.rsplit_once('.').unwrap();
                self.run(origin, uid);
            }
        }
    }

    pub(super) fn snapshot(&self) -> HubSnapshot {
        snapshot(&[&self.hub], None)
    }

    pub(super) fn plans(&self, seen: &HubSnapshot) -> Vec<Plan> {
        plans_computed_twice(&VirtualNodeController::default(), seen, self.hub.now())
    }

    /// Executes what is due at once, until nothing is.
    pub(super) fn settle(&mut self) {
        self.settle_with(false, |_| {});
    }

    /// The same, with what waits for a while, and an executor that obeys.
    pub(super) fn rest(&mut self) {
        self.settle_with(true, Self::obey);
    }

    pub(super) fn settle_with(&mut self, patient: bool, others: impl Fn(&mut Self)) {
        for _ in 0..30 {
            let before = self.hub.version();
            others(self);
            let mut plans = self.plans(&self.snapshot());
            for plan in &mut plans {
                let later = std::mem::take(&mut plan.debounced);
                plan.steps.extend(later.into_iter().filter(|_| patient).map(|later| later.step));
            }
            for plan in plans {
                let refused = execute(&plan, &mut [&mut self.hub]);
                assert!(refused.is_empty(), "{refused:#?}");
            }
            if self.hub.version() == before {
                return;
            }
        }
        panic!("no rest: {:#?}", self.plans(&self.snapshot()));
    }

    /// What waits for a while, with the time.
    pub(super) fn waiting(&self) -> Vec<(u64, &'static str)> {
        let plans = self.plans(&self.snapshot());
        let waiting = plans.into_iter().flat_map(|plan| plan.debounced);
        let waiting = waiting.map(|later| (later.delay.as_secs(), later.purpose));
        waiting.filter(|(_, purpose)| *purpose != "what Pods use of the offer").collect()
    }

    pub(super) fn node(&self, origin: &str) -> Option<&Value> {
        self.hub.get(kinds::VIRTUAL_NODE, &in_member(origin, "west"))
    }

    pub(super) fn phase(&self, origin: &str) -> Option<&str> {
        self.node(origin).and_then(|node| node["spec"]["phase"].as_str())
    }

    pub(super) fn import(&self, origin: &str, uid: &str) -> Option<&Value> {
        self.hub.get(kinds::POD_IMPORT, &in_member("west", &format!("{uid}.{origin}")))
    }

    pub(super) fn status(&self, origin: &str, uid: &str) -> Value {
        let export = self.hub.get(kinds::POD_EXPORT, &in_member(origin, uid));
        export.map(|export| export["status"].clone()).unwrap_or_default()
    }

    /// The writes since the last call, as `verb kind`.
    pub(super) fn writes(&mut self) -> Vec<String> {
        let writes = self.hub.take_writes();
        writes.iter().map(|write| format!("{} {}", write.verb, write.kind)).collect()
    }

    /// The hub loses all objects of a kind, as in a restore of an older backup.
    pub(super) fn lose(&mut self, kind: ResourceKind) {
        for name in self.hub.names(kind) {
            self.edit(kind, &name, |object| object["metadata"]["finalizers"] = json!([]));
            // One that was being deleted has gone with its finalizer.
            self.hub.delete(kind, &name).ok();
        }
    }
}
