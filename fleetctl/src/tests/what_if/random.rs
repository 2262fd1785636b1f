//! What is foreseen for random actions on random fleets is what then happens.

use std::collections::BTreeMap;

use fleet_api::traffic::{DrainRequest, MemberTrafficSpec};
use fleet_api::{ObjectName, kinds};
use fleet_model_server::ModelServer;
use serde_json::{Value, json};

use super::super::world::World;
use super::real::Agents;
use crate::picture::Picture;
use crate::view::shares;
use crate::what_if::{Action, ObjectChange, what_if};

const MEMBERS: [&str; 4] = ["east", "north", "south", "west"];
const SERVICES: [&str; 3] = ["api", "db", "web"];
const PREFERENCES: [&str; 2] = ["None", "LocalFirst"];
/// Most actions on one fleet.
const ACTIONS: usize = 8;

/// A fleet in which any members export and import any Services.
fn fleet(seed: u64) -> Agents {
    let mut agents = Agents::new(World::with_members(&MEMBERS), seed);
    let directs = agents.any(2) == 0;
    if directs {
        agents.world.direct_traffic();
    }
    for (at, service) in SERVICES.iter().enumerate() {
        let name = ObjectName::new("shop", *service);
        for (index, member) in MEMBERS.iter().enumerate() {
            let own = agents.any(4);
            if own > 0 {
                serve(&mut agents.world, member, service, 10 * at + index, own);
                let own = agents.world.own(member);
                own.create(kinds::SERVICE_EXPORT, &name, json!({})).unwrap();
            }
            if agents.any(2) == 0 {
                let wanted = json!({ "spec": { "serviceImport": { "name": service } } });
                agents
                    .world
                    .own(member)
                    .create(kinds::MULTI_CLUSTER_SERVICE, &name, wanted)
                    .unwrap();
            }
        }
    }
    let random = u64::try_from(agents.any(usize::MAX)).unwrap();
    // With the settings that it shows now.
    let mut agents = Agents::new(agents.world, random);
    agents.pass(80);
    agents
}

pub(super) fn serve(
    world: &mut World,
    member: &str,
    service: &str,
    network: usize,
    endpoints: usize,
) {
    let name = ObjectName::new("shop", service);
    let own = json!({ "spec": {
        "type": "ClusterIP", "clusterIP": "10.0.0.1",
        "ports": [{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080 }],
    }});
    world.own(member).create(kinds::SERVICE, &name, own).unwrap();
    let endpoints: Vec<_> = (1..=endpoints)
        .map(|at| json!({ "addresses": [format!("10.{network}.0.{at}")] }))
        .collect();
    let slice = json!({
        "metadata": { "labels": { "kubernetes.io/service-name": service } },
        "addressType": "IPv4", "endpoints": endpoints,
        "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
    });
    let slice_name = ObjectName::new("shop", format!("{service}-1"));
    world.own(member).create(kinds::ENDPOINT_SLICE, &slice_name, slice).unwrap();
}

fn action(agents: &mut Agents) -> Action {
    let member = MEMBERS[agents.any(MEMBERS.len())].to_owned();
    let service = ObjectName::new("shop", SERVICES[agents.any(SERVICES.len())]);
    match agents.any(8) {
        0 => Action::Lose(member),
        1 | 2 => {
            let services = if agents.any(2) == 0 { vec![] } else { vec![service] };
            Action::Drain { member, services, force: agents.any(3) == 0 }
        }
        3 => Action::Unexport { service, from: (agents.any(3) > 0).then_some(member) },
        4 => {
            let spec = json!({ "defaults": { "preference": PREFERENCES[agents.any(2)] } });
            let fleet =
                vec![(kinds::FLEET_TRAFFIC, ObjectName::cluster("fleet"), json!({ "spec": spec }))];
            Action::Apply { to: None, objects: fleet }
        }
        _ => {
            // Sizes of weighted subsets follow from what agents remember, too, which no object shows (docs/map.md).
            let spec = json!({
                "preference": PREFERENCES[agents.any(2)],
                "weights": [{ "cluster": member, "weight": agents.any(2) }],
            });
            let to = (agents.any(2) == 0).then(|| MEMBERS[agents.any(MEMBERS.len())].to_owned());
            let objects = vec![(kinds::SERVICE_TRAFFIC, service, json!({ "spec": spec }))];
            Action::Apply { to, objects }
        }
    }
}

/// What a user or a failure does, written here once more.
fn act(agents: &mut Agents, action: &Action) {
    let world = &mut agents.world;
    match action {
        Action::Lose(member) => {
            agents.lost.insert(member.clone());
        }
        Action::Drain { member, services, force } => {
            let mut names: Vec<_> = services.iter().map(ToString::to_string).collect();
            if names.is_empty() {
                names.push("*".to_owned());
            }
            let at = ObjectName::cluster(member.as_str());
            world.edit("hub", kinds::MEMBER_TRAFFIC, &at, |object| {
                let spec = object["spec"].clone();
                let mut spec: MemberTrafficSpec = serde_json::from_value(spec).unwrap();
                spec.drains.retain(|drain| !names.contains(&drain.service));
                spec.drains.extend(names.iter().map(|service| DrainRequest {
                    service: service.clone(),
                    percent: 100,
                    force: *force,
                    ..DrainRequest::default()
                }));
                object["spec"]["drains"] = json!(spec.drains);
            });
        }
        Action::Unexport { service, from } => {
            for member in
                MEMBERS.iter().filter(|name| from.as_ref().is_none_or(|from| from == *name))
            {
                world.own(member).delete(kinds::SERVICE_EXPORT, service).ok();
            }
        }
        Action::Apply { to, objects } => {
            let server = match to {
                None => &mut world.hub,
                Some(member) => world.members.get_mut(member).unwrap(),
            };
            for (kind, name, object) in objects {
                // One that is there is changed.
                let change = |present: &mut Value| {
                    json_patch::merge(present, &json!({ "spec": object["spec"] }));
                };
                if server.edit(*kind, name, change).is_err() {
                    server.create(*kind, name, object.clone()).unwrap();
                }
            }
        }
    }
}

/// Compares what is foreseen with what happens; `None` if the action could not be done, or `fleetctl` would refuse it.
pub(super) fn compare(agents: &mut Agents, action: &Action, seed: u64) -> Option<()> {
    // A flag of the hub agent decides whether there is one.
    let is_fleet = |objects: &[(fleet_api::ResourceKind, ObjectName, serde_json::Value)]| {
        matches!(objects, [(kinds::FLEET_TRAFFIC, ..)])
    };
    let has_fleet = agents.world.hub.objects(kinds::FLEET_TRAFFIC).next().is_some();
    if matches!(action, Action::Apply { objects, .. } if is_fleet(objects)) && !has_fleet {
        return None;
    }
    let objects = agents.world.objects();
    let (answer, foreseen) = what_if(&objects, action).ok()?;
    let (hub, members) = (agents.world.hub.clone(), agents.world.members.clone());
    act(agents, action);
    agents.pass(if matches!(action, Action::Lose(_)) { 200 } else { 100 });
    let real = agents.differs_from(&hub, &members);
    let differing = || {
        let all = real.iter().chain(&answer.changes);
        let other = all.filter(|it| !real.contains(it) || !answer.changes.contains(it));
        let other = other.map(|it| contents(it, (&hub, &members), &agents.world));
        let decided = |picture: &Picture| -> Vec<String> {
            let members = picture.hub.member_traffics.iter();
            members.map(|it| format!("\n{} {:?}", it.name.name, it.status)).collect()
        };
        let decided = [&foreseen, &agents.world.picture()].map(decided).concat().concat();
        format!("{}\nforeseen, and decided: {decided}", other.collect::<String>())
    };
    assert!(answer.changes == real, "fleet {seed}: {action}: {}", differing());
    let picture = agents.world.picture();
    for (name, member) in &picture.members {
        for service in SERVICES {
            let service = ObjectName::new("shop", service);
            let foreseen = shares(&foreseen.members[name], &service);
            let real = shares(member, &service);
            assert_eq!(foreseen, real, "fleet {seed}: {action}: {service} in {name}");
        }
    }
    Some(())
}

/// An object that is not foreseen as it has become, before and after.
fn contents(
    change: &ObjectChange,
    (hub, members): (&ModelServer, &BTreeMap<String, ModelServer>),
    world: &World,
) -> String {
    let of = |hub: &ModelServer, members: &BTreeMap<String, ModelServer>| {
        let server = members.get(&change.cluster).unwrap_or(hub);
        let mut all = server.all_objects();
        let found = all
            .find(|(kind, name, _)| kind.label() == change.kind && name.to_string() == change.name);
        found.map(|(_, _, object)| object.to_string()).unwrap_or_default()
    };
    let (before, after) = (of(hub, members), of(&world.hub, &world.members));
    format!("\n{change:?}\n  before: {before}\n  after:  {after}")
}

/// One action after the other on one fleet, until a cluster is lost: its agent is gone, which no object shows.
fn compare_all(seed: u64, actions: usize) {
    let (mut done, mut seed) = (0, first().unwrap_or(seed));
    while done < actions {
        seed += 1;
        let mut agents = fleet(seed * 7919);
        for _ in 0..ACTIONS {
            let action = action(&mut agents);
            if first().is_some() {
                println!("fleet {seed}: {action:?}");
            }
            done += usize::from(compare(&mut agents, &action, seed).is_some());
            if matches!(action, Action::Lose(_)) {
                break;
            }
        }
    }
}

/// How many actions are tried: `make soak-what-if` sets 500.
fn actions() -> usize {
    let number = std::env::var("FLEET_WHAT_IF_ACTIONS").ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(12)
}

/// The fleet before the first one, to see again what a failure has named.
fn first() -> Option<u64> {
    std::env::var("FLEET_WHAT_IF_AFTER").ok()?.parse().ok()
}

#[test]
fn what_is_foreseen_happens() {
    compare_all(0, actions() / 2);
}

#[test]
fn what_is_foreseen_happens_in_other_fleets() {
    compare_all(1_000_000, actions() / 2);
}
