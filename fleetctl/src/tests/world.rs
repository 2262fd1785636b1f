//! A hub and the members east and west in memory. Agents run only when a test lets them.

use std::collections::{BTreeMap, BTreeSet};

use fleet_accumulator::{ClusterId, Tracked as _};
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model::hub_schema::{GROUP_VERSION, HubSchema};
use fleet_model_server::{ModelServer, snapshot};
use fleet_plan::Step;
use hub_agent::snapshot::HubSnapshot;
use jiff::Timestamp;
use member_agent::{Identity, MulticlusterMode};
use serde_json::{Value, json};

use crate::pending::{Pending, pending};
use crate::picture::{Own, Picture};
use crate::reach::snapshot::ReachSnapshot;
use crate::recorded::{self, ClusterObjects, FleetObjects, MemberObjects};
use crate::story::Story;

pub(crate) struct World {
    pub(crate) hub: ModelServer,
    pub(crate) members: BTreeMap<String, ModelServer>,
    /// Whose own cluster is not seen.
    pub(crate) blind: Option<&'static str>,
    pub(crate) exclusive: bool,
    /// Whose agents serve the API of multicluster.x-k8s.io: `hub`, and members.
    pub(crate) serving: BTreeSet<&'static str>,
    /// What the members' clusters answer about the version that CoreDNS reads.
    pub(crate) names_served: Option<bool>,
}

pub(crate) fn web() -> ObjectName {
    ObjectName::new("shop", "web")
}

pub(crate) fn home(member: &str) -> String {
    format!("fleet-member-{member}")
}

pub(crate) fn namespace(name: &str) -> ObjectName {
    ObjectName::cluster(name)
}

impl World {
    /// Namespaces and memberships, and nothing else.
    pub(crate) fn new() -> Self {
        Self::with_members(&["east", "west"])
    }

    /// The same, with these members.
    pub(crate) fn with_members(names: &[&str]) -> Self {
        let mut hub = ModelServer::new(ClusterId::Hub);
        let mut members = BTreeMap::new();
        add_namespace(&mut hub, "shop");
        for &name in names {
            add_namespace(&mut hub, &home(name));
            let member = json!({ "spec": { "state": "Join", "heartbeatPeriodSeconds": 60 } });
            let at = ObjectName::new(home(name), name);
            hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &at, member).unwrap();
            let mut own = ModelServer::new(ClusterId::Local);
            add_namespace(&mut own, "shop");
            add_namespace(&mut own, "fleet-system");
            members.insert(name.to_owned(), own);
        }
        let (serving, names_served) = (BTreeSet::new(), Some(true));
        Self { hub, members, blind: None, exclusive: false, serving, names_served }
    }

    /// East exports web.
    pub(crate) fn exported() -> Self {
        let mut world = Self::new();
        world.serve("east", 80, "10.1.0.1");
        world.export("east");
        world.settle();
        world
    }

    /// East exports web, west imports it.
    pub(crate) fn shared() -> Self {
        let mut world = Self::exported();
        world.import("west");
        world.settle();
        world
    }

    /// All agents serve the API of multicluster.x-k8s.io, and the hub has accepted both members.
    pub(crate) fn standard() -> Self {
        let mut world = Self::new();
        world.serving = ["hub", "east", "west"].into();
        add_namespace(&mut world.hub, "kube-system");
        add_namespace(&mut world.hub, "fleet-system");
        for own in world.members.values_mut() {
            own.give_addresses(&["IPv4"]);
            add_namespace(own, "kube-system");
            let cidrs = json!({ "spec": { "cidrs": ["10.96.0.0/16"] } });
            own.create(kinds::SERVICE_CIDR, &ObjectName::cluster("kubernetes"), cidrs).unwrap();
        }
        world.settle();
        world
    }

    /// East exports web through that API, and both clusters import it.
    pub(crate) fn standard_shared() -> Self {
        let mut world = Self::standard();
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle();
        world
    }

    /// The same, and through the other one.
    pub(crate) fn both() -> Self {
        let mut world = Self::standard_shared();
        world.export("east");
        world.import("west");
        world.settle();
        world
    }

    pub(crate) fn export_standard(&mut self, member: &str) {
        self.own(member).create(kinds::MCS_SERVICE_EXPORT, &web(), json!({})).unwrap();
        self.hub.advance(1);
    }

    /// A Service with one slice.
    pub(crate) fn serve(&mut self, member: &str, port: i32, address: &str) {
        let service = json!({ "spec": {
            "type": "ClusterIP", "clusterIP": "10.0.0.1",
            "ports": [{ "name": "http", "protocol": "TCP", "port": port, "targetPort": 8080 }],
        }});
        self.own(member).create(kinds::SERVICE, &web(), service).unwrap();
        let slice = json!({
            "metadata": { "labels": { "kubernetes.io/service-name": "web" } },
            "addressType": "IPv4",
            "endpoints": [{ "addresses": [address] }],
            "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
        });
        let name = ObjectName::new("shop", "web-1");
        self.own(member).create(kinds::ENDPOINT_SLICE, &name, slice).unwrap();
    }

    pub(crate) fn export(&mut self, member: &str) {
        self.own(member).create(kinds::SERVICE_EXPORT, &web(), json!({})).unwrap();
        self.hub.advance(1);
    }

    pub(crate) fn import(&mut self, member: &str) {
        self.import_as(member, "web");
    }

    pub(crate) fn import_as(&mut self, member: &str, name: &str) {
        let wish = json!({ "spec": { "serviceImport": { "name": "web" } } });
        let name = ObjectName::new("shop", name);
        self.own(member).create(kinds::MULTI_CLUSTER_SERVICE, &name, wish).unwrap();
        for server in self.members.values_mut() {
            server.advance(1);
        }
    }

    /// The hub has recorded another cluster as west.
    pub(crate) fn give_the_name_of_west_away(&mut self) {
        add_namespace(self.own("west"), "kube-system");
        let record = json!({ "spec": { "clusterUid": "other" } });
        let at = ObjectName::new(home("west"), "west");
        self.hub.create(kinds::CLUSTER_REPORT, &at, record).unwrap();
    }

    pub(crate) fn own(&mut self, member: &str) -> &mut ModelServer {
        self.members.get_mut(member).unwrap()
    }

    pub(crate) fn edit(
        &mut self,
        cluster: &str,
        kind: ResourceKind,
        name: &ObjectName,
        change: impl FnOnce(&mut Value),
    ) {
        let server = if cluster == "hub" { &mut self.hub } else { self.own(cluster) };
        server.edit(kind, name, change).unwrap();
    }

    /// The newest time of all servers.
    pub(crate) fn now(&self) -> Timestamp {
        self.members.values().map(ModelServer::now).chain([self.hub.now()]).max().unwrap()
    }

    pub(crate) fn picture(&self) -> Picture {
        let own = self.members.iter().map(|(name, server)| {
            let seen = if self.blind == Some(name.as_str()) {
                Err("no context".to_owned())
            } else {
                // Only its own side: the picture adds the hub's.
                let nothing = ModelServer::new(ClusterId::Hub);
                let namespace = Identity::new(name.as_str()).hub_namespace;
                Ok(snapshot(&[server, &nothing], Some(&namespace)))
            };
            let names_served = self.names_served;
            (name.clone(), Own { context: Some(name.clone()), seen, names_served })
        });
        let schema = HubSchema::view(Some(HubSchema::OURS));
        let hub = HubSnapshot { schema, ..snapshot(&[&self.hub], None) };
        let mut picture = Picture::new(self.now(), hub, own.collect());
        picture.reach = snapshot::<ReachSnapshot>(&[&self.hub], None).reach_reports;
        picture.settings.exclusive_imports |= self.exclusive;
        // Nothing is written yet by which it could be known.
        if self.serving.contains("hub") {
            picture.settings.multicluster = MulticlusterMode::On;
        }
        for (name, member) in &mut picture.members {
            if self.serving.contains(name.as_str()) && !member.settings.multicluster.is_watched() {
                member.settings.multicluster.mode = MulticlusterMode::On;
            }
        }
        picture
    }

    /// What the agents would write.
    pub(crate) fn pending(&self) -> Vec<Pending> {
        pending(&self.picture()).0
    }

    /// Lets all agents work until none has anything left to write.
    pub(crate) fn settle(&mut self) {
        self.settle_all_but("nobody");
    }

    /// Lets all agents but one work until none of them has anything left to write.
    pub(crate) fn settle_all_but(&mut self, stopped: &str) {
        for _ in 0..50 {
            let mut found = self.pending();
            found.retain(|pending| pending.agent != stopped);
            if found.is_empty() {
                return;
            }
            for pending in found {
                let later = pending.plan.debounced.iter().map(|later| later.step.clone());
                for step in pending.plan.steps.iter().cloned().chain(later) {
                    self.execute(&pending.agent, &step);
                }
            }
        }
        panic!("the agents do not come to rest: {:?}", self.pending());
    }

    /// What does not fit any more is planned again.
    fn execute(&mut self, agent: &str, step: &Step) {
        let server = match step.cluster {
            ClusterId::Hub => &mut self.hub,
            ClusterId::Local => self.members.get_mut(agent).unwrap(),
        };
        server.execute(step).ok();
    }

    /// The hub decides about drains and silent members, and members follow it.
    pub(crate) fn direct_traffic(&mut self) {
        self.hub
            .create(kinds::FLEET_TRAFFIC, &ObjectName::cluster("fleet"), json!({ "spec": {} }))
            .unwrap();
        let names: Vec<_> = self.members.keys().cloned().collect();
        for name in names {
            let lease = json!({
                "metadata": { "annotations": { (fleet_api::traffic::APPLIED): "1" } },
                "spec": { "holderIdentity": name, "renewTime": "2026-01-01T00:00:00.000000Z" },
            });
            let at = ObjectName::new(home(&name), fleet_api::names::MEMBER_LEASE);
            self.hub.create(kinds::LEASE, &at, lease).unwrap();
            let traffic = ObjectName::cluster(name.as_str());
            self.hub.create(kinds::MEMBER_TRAFFIC, &traffic, json!({ "spec": {} })).unwrap();
        }
    }

    /// Its objects, as they are read for recordings.
    pub(crate) fn objects(&self) -> FleetObjects {
        let mut fleet = FleetObjects::new(self.now());
        fleet.hub = cluster(&self.hub, recorded::of_hub());
        for (name, server) in &self.members {
            let mut member = MemberObjects {
                context: Some(name.clone()),
                names_served: self.names_served,
                ..MemberObjects::default()
            };
            if self.blind == Some(name.as_str()) {
                member.unseen = Some("no context".to_owned());
            } else {
                member.objects = cluster(server, recorded::of_member(name));
            }
            fleet.members.insert(name.clone(), member);
        }
        let schema = HubSchema::OURS.object();
        let mut schema = schema;
        schema["metadata"] =
            json!({ "name": GROUP_VERSION, "uid": "schema", "resourceVersion": "1" });
        let text = schema.to_string().into();
        fleet.hub.insert(HubSchema::KIND, ObjectName::cluster(GROUP_VERSION), text);
        fleet
    }

    pub(crate) fn explain(&self) -> Story {
        crate::explain(&self.picture(), &web())
    }
}

/// Name of the ExportedService of web.
pub(crate) fn exported_by(member: &str) -> ObjectName {
    ObjectName::new(home(member), "shop-web")
}

/// Name of the derived Service of web.
pub(crate) fn derived() -> ObjectName {
    ObjectName::new("shop", "derived-isrlchlhrq")
}

/// Name of what is in force for web.
pub(crate) fn resolved() -> ObjectName {
    ObjectName::new("fleet-system", "shop-web")
}

/// Every kind is served.
fn cluster<T>(server: &ModelServer, kinds: BTreeMap<ResourceKind, T>) -> ClusterObjects {
    let mut objects = ClusterObjects::default();
    for (kind, _) in kinds {
        let of_kind = objects.kinds.entry(kind).or_default();
        let all = server.objects(kind);
        of_kind.objects.extend(all.map(|(name, object)| (name.clone(), object.to_string().into())));
    }
    objects
}

fn add_namespace(server: &mut ModelServer, name: &str) {
    server.create(kinds::NAMESPACE, &namespace(name), json!({})).unwrap();
}
