//! The standard API of SIG Multicluster in a fleet: what it converges to, with how many writes, whatever agent is killed after
//! whichever of them, and what failures take away.

mod contents;
mod counts;
mod crash;
mod failures;
mod migration;
mod operations;

use fleet_accumulator::ClusterId;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ObjectName, annotations, kinds, labels};
use fleet_model_server::ModelServer;
use hub_agent::member::MemberController;
use hub_agent::multicluster::MulticlusterController;
use member_agent::MulticlusterMode;
use serde_json::{Value, json};

use super::fleet::{AgentOf, Counted, Fleet, StandardOfHub};
use super::record::Record;
use super::watched::Watched;

/// The namespace of the Service.
const TEAM: &str = "team";

/// The Service that is exported.
fn web() -> ObjectName {
    ObjectName::new(TEAM, "web")
}

/// What is in force for it, on the hub.
fn in_force() -> ObjectName {
    ObjectName::new(SYSTEM_NAMESPACE, "team-web")
}

/// The record of a cluster on the hub.
fn report(cluster: &str) -> ObjectName {
    ObjectName::new(format!("fleet-member-{cluster}"), cluster)
}

/// A fleet that serves the standard API; the agents have not started. "a" and "b" have the namespace of the Service.
fn fleet(members: &[&str], seed: u64) -> Fleet {
    let mut fleet = Fleet::with_seed(members, seed);
    fleet.record = Some(Record::default());
    fleet.hub.remember();
    prepare_hub(&mut fleet.hub, "hub");
    let settings = hub_agent::Settings {
        multicluster: MulticlusterMode::On,
        ..hub_agent::Settings::default()
    };
    fleet.standard = Some(StandardOfHub {
        members: MemberController { settings: settings.clone() },
        services: MulticlusterController { settings },
    });
    for (at, name) in members.iter().enumerate() {
        let mut settings = fleet.members[at].settings();
        settings.multicluster.mode = MulticlusterMode::On;
        fleet.members[at].serve_standard(&settings);
        prepare_member(fleet.member(at), name);
        if ["a", "b"].contains(name) {
            make_namespace(fleet.member(at));
        }
    }
    fleet
}

fn prepare_hub(hub: &mut ModelServer, uid: &str) {
    hub.create(kinds::NAMESPACE, &ObjectName::cluster(SYSTEM_NAMESPACE), json!({})).unwrap();
    identify(hub, uid);
}

/// Its namespace `kube-system` is what identifies a cluster.
fn identify(server: &mut ModelServer, uid: &str) {
    let system = ObjectName::cluster("kube-system");
    server.create(kinds::NAMESPACE, &system, json!({})).unwrap();
    let set = |namespace: &mut Value| namespace["metadata"]["uid"] = json!(format!("uid-of-{uid}"));
    server.edit(kinds::NAMESPACE, &system, set).unwrap();
}

fn prepare_member(server: &mut ModelServer, name: &str) {
    server.remember();
    server.give_addresses(&["IPv4"]);
    identify(server, name);
    let api = json!({ "spec": { "type": "ClusterIP", "ipFamilies": ["IPv4"] } });
    server.create(kinds::SERVICE, &ObjectName::new("default", "kubernetes"), api).unwrap();
    let cidrs = json!({ "spec": { "cidrs": ["10.96.0.0/16"] } });
    server.create(kinds::SERVICE_CIDR, &ObjectName::cluster("kubernetes"), cidrs).unwrap();
}

fn make_namespace(server: &mut ModelServer) {
    server.create(kinds::NAMESPACE, &ObjectName::cluster(TEAM), json!({})).unwrap();
}

/// All members have joined, and nothing moves.
fn joined(members: &[&str], seed: u64) -> Fleet {
    let mut fleet = fleet(members, seed);
    calm(&mut fleet);
    fleet
}

/// Runs until nothing moves any more: then everything has to be in its place.
#[track_caller]
fn calm(fleet: &mut Fleet) {
    fleet.settle();
    if let Some(record) = &mut fleet.record {
        record.rest();
    }
}

/// What the oracle finds in the whole run.
#[track_caller]
fn judge(fleet: &Fleet, what: &str) {
    let record = fleet.record.as_ref().unwrap();
    let violations = fleet_oracle::judge_standard(&record.end());
    assert!(violations.is_empty(), "{what}: {violations:#?}");
}

/// Agents start anew: they know nothing of the hub at first, and then only what there is. Returns what is written meanwhile.
fn restart(fleet: &mut Fleet, agents: &[AgentOf]) -> Vec<Counted> {
    let mut writes = fleet.take_writes();
    for watched in [Watched::Never, Watched::Briefly, Watched::Long] {
        for agent in agents {
            watch(fleet, *agent, watched);
        }
        writes.extend(fleet.settle());
    }
    writes
}

/// Sets for how long an agent has watched the hub.
fn watch(fleet: &mut Fleet, agent: AgentOf, watched: Watched) {
    match agent {
        None => fleet.watched = watched,
        Some(at) => fleet.members[at].watched = watched,
    }
}

/// All agents of a fleet.
fn everyone(fleet: &Fleet) -> Vec<AgentOf> {
    std::iter::once(None).chain((0..fleet.members.len()).map(Some)).collect()
}

// What users do.

/// A Service with one slice of these addresses.
fn deploy(fleet: &mut Fleet, at: usize, addresses: &[&str]) {
    let spec = json!({
        "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
        "ports": [{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": 8080 }],
    });
    fleet.member(at).create(kinds::SERVICE, &web(), json!({ "spec": spec })).unwrap();
    super::fleet::slice(&web(), "x1", fleet.member(at), addresses);
}

/// The ServiceExport, with these labels for importers.
fn export_labelled(fleet: &mut Fleet, at: usize, labels: &Value) {
    let export = json!({ "spec": { "exportedLabels": labels } });
    fleet.member(at).create(kinds::MCS_SERVICE_EXPORT, &web(), export).unwrap();
}

/// A Service, its slice and its ServiceExport.
fn export(fleet: &mut Fleet, at: usize, addresses: &[&str]) {
    deploy(fleet, at, addresses);
    export_labelled(fleet, at, &json!({}));
}

fn unexport(fleet: &mut Fleet, at: usize) {
    fleet.member(at).delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
}

fn change_endpoints(fleet: &mut Fleet, at: usize, addresses: &[&str]) {
    let change = |slice: &mut Value| slice["endpoints"] = super::fleet::endpoints(addresses);
    let name = ObjectName::new(TEAM, "web-x1");
    fleet.member(at).edit(kinds::ENDPOINT_SLICE, &name, change).unwrap();
}

// What they see.

/// The ServiceImport of a member.
fn import(fleet: &mut Fleet, at: usize) -> Option<Value> {
    fleet.member(at).get(kinds::MCS_SERVICE_IMPORT, &web()).cloned()
}

/// The addresses that DNS answers with.
fn ips(fleet: &mut Fleet, at: usize) -> Value {
    import(fleet, at).map(|import| import["spec"]["ips"].clone()).unwrap_or_default()
}

/// The hub that confirmed an import.
fn mark(fleet: &mut Fleet, at: usize) -> Value {
    import(fleet, at).unwrap()["metadata"]["annotations"][annotations::MULTICLUSTER_HUB].clone()
}

/// The imported endpoints of a member, each with its cluster.
fn endpoints(fleet: &mut Fleet, at: usize) -> Vec<String> {
    let slices = fleet.member(at).objects(kinds::ENDPOINT_SLICE);
    let ours = slices.map(|(_, slice)| slice).filter(|slice| {
        slice["metadata"]["labels"][labels::MANAGED_BY] == labels::MANAGED_BY_MULTICLUSTER
    });
    let lines = ours.flat_map(|slice| {
        let cluster = &slice["metadata"]["labels"][labels::MULTICLUSTER_SOURCE_CLUSTER];
        let cluster = cluster.as_str().unwrap().to_owned();
        let endpoints = slice["endpoints"].as_array().unwrap().iter();
        endpoints.map(move |it| format!("{cluster} {}", it["addresses"][0].as_str().unwrap()))
    });
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    lines
}

/// Another hub in the place of this one, as its administrator builds it anew: nothing of the fleet is there.
fn rebuilt_hub(fleet: &Fleet) -> ModelServer {
    let mut hub = ModelServer::new(ClusterId::Hub);
    for member in &fleet.members {
        let namespace = ObjectName::cluster(member.identity.hub_namespace.as_str());
        hub.create(kinds::NAMESPACE, &namespace, json!({})).unwrap();
    }
    prepare_hub(&mut hub, "another-hub");
    hub
}
