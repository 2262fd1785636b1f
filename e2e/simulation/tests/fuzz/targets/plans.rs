//! What the agents decide on a fleet in which one object is odd: no controller panics, all plan the same twice, what they write is
//! accepted and bounded, and what is refused takes nothing from anyone else.

use std::cell::RefCell;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model::hub_schema::HubSchema;
use fleet_model_server::{ModelServer, Refusal, execute, plans_computed_twice, snapshot};
use fleet_plan::{Controller, Plan};
use hub_agent::member::MemberController;
use hub_agent::multicluster::MulticlusterController;
use hub_agent::service::ServiceController;
use hub_agent::snapshot::HubSnapshot;
use hub_agent::traffic::TrafficController;
use hub_agent::traffic_decider::Decider;
use member_agent::app::embedded;
use member_agent::snapshot::MemberSnapshot;
use member_agent::traffic_memory::TrafficMemory;
use member_agent::{MulticlusterMode, Settings, Traffic};
use serde_json::{Value, json};

use super::Target;
use crate::examples;

pub(crate) const TARGET: Target = Target {
    name: "plans",
    is_json: true,
    short: 60,
    bound: None,
    examples,
    read,
};

/// Steps of one plan, for a fleet of one Service.
const MOST_STEPS: usize = 600;
/// Largest object that an API server takes.
const MOST_BYTES: usize = 1_500_000;
/// Rounds until nothing moves, or an odd object is tried again.
const ROUNDS: usize = 6;

fn examples() -> Vec<Vec<u8>> {
    (super::objects::TARGET.examples)()
}

fn read(input: &[u8]) {
    let Ok(odd) = serde_json::from_slice::<Value>(input) else { return };
    let Some(kind) = kind_of(&odd) else { return };
    let mut world = World::new();
    world.put(kind, odd);
    for _ in 0..ROUNDS {
        world.round();
    }
    world.nothing_is_lost();
}

/// The kind, among all that are watched.
fn kind_of(object: &Value) -> Option<ResourceKind> {
    use fleet_accumulator::Snapshot as _;
    let sources = HubSnapshot::sources().iter().chain(MemberSnapshot::sources());
    let mut kinds = sources.map(|source| source.kind);
    kinds.find(|kind| {
        object["kind"] == kind.kind
            && object["apiVersion"].as_str().is_some_and(|version| version.starts_with(kind.group))
    })
}

struct World {
    hub: ModelServer,
    member: ModelServer,
    settings: Settings,
}

impl World {
    /// A member that exports and imports by both APIs, at rest.
    fn new() -> Self {
        thread_local! {
            static AT_REST: RefCell<Option<(ModelServer, ModelServer)>> = const { RefCell::new(None) };
        }
        let mut settings = Settings::new("east");
        settings.multicluster.mode = MulticlusterMode::On;
        settings.traffic = Traffic { enabled: true, ..Traffic::default() };
        let known = AT_REST.with_borrow(Clone::clone);
        if let Some((hub, member)) = known {
            return Self { hub, member, settings };
        }
        let (hub, member) = (ModelServer::new(ClusterId::Hub), ModelServer::new(ClusterId::Local));
        let mut world = Self { hub, member, settings };
        world.populate();
        for _ in 0..12 {
            world.round();
            world.hub.advance(20);
            world.member.advance(20);
        }
        AT_REST.set(Some((world.hub.clone(), world.member.clone())));
        world
    }

    fn populate(&mut self) {
        self.member.number_uids(1);
        self.hub.number_uids(2);
        self.member.give_addresses(&["IPv4"]);
        for namespace in ["kube-system", "fleet-system", "team"] {
            for server in [&mut self.hub, &mut self.member] {
                server.create(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({})).unwrap();
            }
        }
        let home = ObjectName::cluster("fleet-member-east");
        self.hub.create(kinds::NAMESPACE, &home, json!({})).unwrap();
        let fleet = ObjectName::cluster("fleet");
        self.hub.create(kinds::FLEET_TRAFFIC, &fleet, json!({ "spec": {} })).unwrap();
        for service in ["good", "other"] {
            self.deploy(service);
        }
    }

    fn deploy(&mut self, service: &str) {
        let name = ObjectName::new("team", service);
        let spec = json!({ "type": "ClusterIP", "ports": [{ "name": "web", "protocol": "TCP", "port": 80 }] });
        self.member.create(kinds::SERVICE, &name, json!({ "spec": spec })).unwrap();
        let slice = json!({
            "metadata": { "labels": { "kubernetes.io/service-name": service } },
            "addressType": "IPv4",
            "endpoints": [{ "addresses": ["10.1.0.1"], "conditions": { "ready": true } }],
            "ports": [{ "name": "web", "protocol": "TCP", "port": 8080 }],
        });
        self.member.create(kinds::ENDPOINT_SLICE, &ObjectName::new("team", format!("{service}-1")), slice).unwrap();
        if service == "good" {
            let import = json!({ "spec": { "serviceImport": { "name": service } } });
            self.member.create(kinds::SERVICE_EXPORT, &name, json!({})).unwrap();
            self.member.create(kinds::MULTI_CLUSTER_SERVICE, &name, import).unwrap();
        } else {
            self.member.create(kinds::MCS_SERVICE_EXPORT, &name, json!({})).unwrap();
        }
    }

    /// Puts an odd object where its kind is watched, unless it would be in the place of another.
    fn put(&mut self, kind: ResourceKind, mut odd: Value) {
        if !odd["metadata"].is_object() {
            return;
        }
        for server in [&mut self.hub, &mut self.member] {
            let namespace = odd["metadata"]["namespace"].as_str().unwrap_or_default();
            let namespace = if kind.namespaced { namespace } else { "" }.to_owned();
            let name = odd["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let name = ObjectName::new(namespace, name);
            let status = odd["status"].clone();
            if server.create(kind, &name, odd.clone()).is_ok() && !status.is_null() {
                server.edit(kind, &name, |object| object["status"] = status).unwrap();
            }
            // In the member it is one of the Service's own.
            odd["metadata"]["namespace"] = json!("team");
        }
    }

    fn hub_snapshot(&self) -> Option<HubSnapshot> {
        is_readable(&self.hub).then(|| HubSnapshot {
            schema: HubSchema::view(Some(HubSchema::OURS)),
            ..snapshot(&[&self.hub], None)
        })
    }

    fn member_snapshot(&self) -> Option<MemberSnapshot> {
        (is_readable(&self.hub) && is_readable(&self.member)).then(|| MemberSnapshot {
            schema: HubSchema::view(Some(HubSchema::OURS)),
            ..snapshot(&[&self.member, &self.hub], Some("fleet-member-east"))
        })
    }

    fn round(&mut self) {
        let settings = hub_agent::Settings {
            multicluster: MulticlusterMode::On,
            traffic: true,
            ..hub_agent::Settings::default()
        };
        let (one, two) = (settings.clone(), settings.clone());
        self.on_hub(&ServiceController { settings });
        self.on_hub(&MemberController { settings: one });
        self.on_hub(&MulticlusterController { settings: two });
        self.on_hub(&TrafficController);
        if let Some(seen) = self.hub_snapshot() {
            let mut decider = Decider::default();
            for second in [0, 1, 70] {
                decider.look(&seen, true, std::time::Duration::from_secs(second));
            }
        }
        let memory = TrafficMemory::default();
        let settings = self.settings.clone();
        embedded::controllers(&settings, &memory, &mut InMember(self));
        if let Some(seen) = self.member_snapshot() {
            embedded::follow_hub(&settings, &seen, &memory);
            embedded::lease_renewal(&settings, &seen, &memory, self.hub.now());
        }
    }

    fn on_hub<C: Controller<Snapshot = HubSnapshot>>(&mut self, controller: &C) {
        let Some(seen) = self.hub_snapshot() else { return };
        for plan in plans_computed_twice(controller, &seen, self.hub.now()) {
            carry_out(plan, &mut [&mut self.hub]);
        }
    }

    /// The export and import of another Service are as they were.
    fn nothing_is_lost(&self) {
        let slices = self.member.objects(kinds::ENDPOINT_SLICE);
        let imported = slices.filter(|(name, _)| *name.namespace == *"fleet-system");
        let addresses: Vec<_> =
            imported.map(|(_, slice)| slice["endpoints"][0]["addresses"][0].clone()).collect();
        let is_odd = self.member.names(kinds::SERVICE).len() != 3 + usize::from(addresses.is_empty());
        assert!(is_odd || addresses.contains(&json!("10.1.0.1")), "the import of a good Service is lost");
    }
}

/// The model server shows no object that does not decode: a real watch isolates those, see the target of objects.
fn is_readable(server: &ModelServer) -> bool {
    use fleet_accumulator::{Object, Snapshot, SourceInfo, Tracked, View, Views};
    struct Checking<'a>(&'a ModelServer, RefCell<bool>);
    impl Views for Checking<'_> {
        fn view<T: Tracked>(&self, source: &SourceInfo) -> View<T> {
            for (_, object) in self.0.objects(source.kind) {
                let wire = serde_json::from_value::<T::Wire>(object.clone());
                let is_read = wire.is_ok_and(|wire| Object::<T>::read(wire).is_ok());
                *self.1.borrow_mut() &= is_read;
            }
            View::default()
        }
    }
    let checking = Checking(server, RefCell::new(true));
    HubSnapshot::of(&checking);
    MemberSnapshot::of(&checking);
    checking.1.into_inner()
}

struct InMember<'a>(&'a mut World);

impl embedded::Host for InMember<'_> {
    fn controller<C: Controller<Snapshot = MemberSnapshot>>(&mut self, controller: C) {
        let world = &mut *self.0;
        let Some(seen) = world.member_snapshot() else { return };
        for plan in plans_computed_twice(&controller, &seen, world.hub.now()) {
            carry_out(plan, &mut [&mut world.member, &mut world.hub]);
        }
    }
}

fn carry_out<M>(mut plan: Plan<M>, servers: &mut [&mut ModelServer]) {
    plan.steps.extend(plan.debounced.drain(..).map(|later| later.step));
    assert!(plan.steps.len() <= MOST_STEPS, "{} steps", plan.steps.len());
    for step in &plan.steps {
        let size = format!("{:?}", step.action).len();
        assert!(size <= MOST_BYTES, "a step of {size} bytes");
    }
    for (step, refusal) in execute(&plan, servers) {
        assert!(refusal != Refusal::Misfit, "{step:?} does not fit");
    }
}

#[test]
fn there_is_an_example_of_each_kind() {
    use fleet_accumulator::Snapshot as _;
    let known = examples::objects();
    let sources = HubSnapshot::sources().iter().chain(MemberSnapshot::sources());
    let provided = ["HubSchema", "FleetDecision", "Hearing"];
    let lacking: Vec<_> = sources
        .map(|source| source.kind)
        .filter(|kind| !known.contains_key(&(kind.kind.to_owned(), kind.group.to_owned())))
        .filter(|kind| !provided.contains(&kind.kind))
        .collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}
