//! A fleet of twenty members that have joined, before anything is exported.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use fleet_accumulator::ClusterId;
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::traffic::FLEET_TRAFFIC;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model_server::ModelServer;
use fleet_runtime::clock::BootClock;
use member_agent::{MulticlusterMode, Traffic};
use serde_json::{Value, json};

use crate::env::Notes;
use crate::fleet::Fleet;
use crate::servers::{HUB, Server, Servers};
use crate::watch::Decoder;

/// Members of a whole fleet, and of a small one.
pub(crate) const MEMBERS: usize = 20;
pub(crate) const FEW_MEMBERS: usize = 5;
/// Namespace of Services of the fleet's own API.
pub(crate) const SHOP: &str = "shop";
/// Namespace of Services of the standard API. Not all members have it.
pub(crate) const TEAM: &str = "team";

/// Shorter than by default, so that more happens.
const SETTLE: Duration = Duration::from_secs(15);
const GRACE: Duration = Duration::from_secs(20);

/// What a fleet starts from.
#[derive(Clone)]
pub(crate) struct Base {
    pub(crate) servers: Servers,
    pub(crate) decoder: Decoder,
    pub(crate) now: Duration,
    pub(crate) notes: BTreeMap<usize, Notes>,
}

impl Base {
    pub(crate) fn members(&self) -> usize {
        self.servers.0.len() - 1
    }
}

pub(crate) fn member_name(at: usize) -> String {
    format!("m{at:02}")
}

pub(crate) fn clock(now: Duration) -> BootClock {
    let clock = BootClock::by_hand();
    clock.advance(now);
    clock
}

pub(crate) fn hub_settings() -> hub_agent::Settings {
    hub_agent::Settings {
        multicluster: MulticlusterMode::On,
        multicluster_settle: SETTLE,
        traffic: true,
        ..hub_agent::Settings::default()
    }
}

pub(crate) fn member_settings(at: usize) -> member_agent::Settings {
    let mut settings = member_agent::Settings::new(member_name(at));
    settings.derived_service_grace = GRACE;
    settings.multicluster.mode = MulticlusterMode::On;
    settings.multicluster.settle = SETTLE;
    settings.traffic = Traffic { enabled: true, ..Traffic::default() };
    settings
}

/// Whether a member has the namespace of the standard API from the beginning.
pub(crate) fn has_team(member: usize) -> bool {
    member % 3 != 2
}

impl Base {
    /// So many have joined, and nothing moves.
    pub(crate) fn joined(members: usize) -> Self {
        let counter = Rc::new(Cell::new(0));
        let servers = std::iter::once(Server::new(hub(0, members), &counter));
        let servers = servers.chain((0..members).map(|at| Server::new(member(at), &counter)));
        let base = Self {
            servers: Servers(servers.collect()),
            decoder: Decoder::default(),
            now: Duration::from_secs(1000),
            notes: BTreeMap::new(),
        };
        let mut fleet = Fleet::start(&base, 1);
        fleet.env.sign_others();
        fleet.env.advance(base.now);
        fleet.run(base.now + Duration::from_mins(4), |_| false);
        assert!(fleet.env.findings.is_empty(), "{:#?}", fleet.env.findings);
        let mut servers = fleet.env.servers;
        for server in &mut servers.0 {
            server.forget();
        }
        Self { servers, decoder: fleet.env.decoder, now: fleet.env.now, notes: fleet.env.notes }
    }
}

fn create(server: &mut ModelServer, kind: ResourceKind, name: &ObjectName, object: Value) {
    server.create(kind, name, object).unwrap();
}

/// A hub as its administrator makes it. Each has uids of its own.
pub(crate) fn hub(range: u16, members: usize) -> ModelServer {
    let mut hub = ModelServer::new(ClusterId::Hub);
    hub.number_uids(1000 + range);
    hub.collect_later(1000 + u64::from(range));
    hub.need_namespaces();
    for namespace in ["kube-system", SYSTEM_NAMESPACE, SHOP, TEAM] {
        create(&mut hub, kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({}));
    }
    let fleet = ObjectName::cluster(FLEET_TRAFFIC);
    create(
        &mut hub,
        kinds::FLEET_TRAFFIC,
        &fleet,
        json!({ "spec": {
        "silentAfterSeconds": 60, "returnAfterSeconds": 30, "returnOverSeconds": 60,
    } }),
    );
    for at in 0..members {
        let (name, namespace) = (member_name(at), member_namespace(&member_name(at)));
        create(&mut hub, kinds::NAMESPACE, &ObjectName::cluster(namespace.as_str()), json!({}));
        let join = json!({ "spec": { "state": "Join", "heartbeatPeriodSeconds": 600 } });
        let name = ObjectName::new(namespace.as_str(), name.as_str());
        create(&mut hub, kinds::INTERNAL_MEMBER_CLUSTER, &name, join);
    }
    hub
}

fn member(at: usize) -> ModelServer {
    let mut server = ModelServer::new(ClusterId::Local);
    server.number_uids(u16::try_from(at).unwrap() + 1);
    server.give_addresses(&["IPv4"]);
    server.collect_later(u64::try_from(at).unwrap() + 1);
    server.need_namespaces();
    for namespace in ["default", "kube-system", SYSTEM_NAMESPACE, SHOP] {
        create(&mut server, kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({}));
    }
    if has_team(at) {
        create(&mut server, kinds::NAMESPACE, &ObjectName::cluster(TEAM), json!({}));
    }
    let api = json!({ "spec": { "type": "ClusterIP", "ipFamilies": ["IPv4"] } });
    create(&mut server, kinds::SERVICE, &ObjectName::new("default", "kubernetes"), api);
    let cidrs = json!({ "spec": { "cidrs": ["10.96.0.0/16"] } });
    create(&mut server, kinds::SERVICE_CIDR, &ObjectName::cluster("kubernetes"), cidrs);
    let labels = json!({
        "topology.kubernetes.io/region": format!("r{}", at % 3),
        "topology.kubernetes.io/zone": format!("z{at}"),
    });
    let node = json!({ "metadata": { "labels": labels } });
    create(&mut server, kinds::NODE, &ObjectName::cluster("node"), node);
    foreign(&mut server);
    server
}

/// Objects that no agent may touch.
fn foreign(server: &mut ModelServer) {
    for namespace in [SHOP, SYSTEM_NAMESPACE] {
        let name = ObjectName::new(namespace, "foreign");
        let service =
            json!({ "spec": { "type": "ClusterIP", "ports": [{ "port": 5, "protocol": "TCP" }] } });
        create(server, kinds::SERVICE, &name, service);
        let slice = json!({
            "metadata": { "labels": { "kubernetes.io/service-name": "foreign" } },
            "addressType": "IPv4",
            "endpoints": [{ "addresses": ["10.250.0.1"], "conditions": { "ready": true } }],
            "ports": [],
        });
        create(server, kinds::ENDPOINT_SLICE, &name, slice);
    }
}

/// Whether an object is one of these.
pub(crate) fn is_foreign(server: usize, kind: ResourceKind, name: &ObjectName) -> bool {
    server != HUB
        && (*name.name == *"foreign" || *name.namespace == *"default")
        && [kinds::SERVICE, kinds::ENDPOINT_SLICE].contains(&kind)
}
