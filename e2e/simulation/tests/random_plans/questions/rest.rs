//! What is asked when nothing moves: whether everything is in its place, and nothing is left over.

use std::collections::BTreeSet;
use std::time::Duration;

use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ResourceKind, kinds};
use fleet_model_server::ModelServer;

use serde_json::Value;

use super::imports::{Api, Endpoint, Imported, imports};
use super::steps::Bound;
use crate::act::{PortSet, SERVICES};
use crate::base::{self, member_name};
use crate::servers::HUB;
use crate::truth::{Ports, Truth};
use crate::world::{World, full_name, object_name};

/// Whether no member is silent any more, and none is waited for on a hub that is being rebuilt: of exports that contradict each other it
/// decides none before all have come back, for five minutes.
pub(crate) fn is_complete(world: &World) -> bool {
    let hub = &world.fleet.env.servers.0[HUB].model;
    let mut fleets = hub.objects(kinds::FLEET_TRAFFIC);
    let is_settled = fleets.all(|(_, fleet)| fleet["status"]["phase"] == "Settled");
    let mut silences = hub.objects(kinds::MEMBER_TRAFFIC);
    let all = silences.all(|(_, member)| {
        let silence = &member["status"]["silence"];
        silence["state"] == "Heard" && silence["percent"] == 0
    });
    is_settled && all && hub.objects(kinds::MEMBER_TRAFFIC).count() == world.fleet.members.len()
}

/// How many writes so many acts may cost, about three times what was observed: the most expensive one is the first export to all
/// members, and a new store of the hub is filled by all of them.
pub(crate) fn most_writes(acts: usize, members: usize, is_replaced: bool) -> usize {
    let rebuilt = if is_replaced { 60 * members } else { 0 };
    20 + 12 * members + (12 + 4 * members) * acts + rebuilt
}

/// Asks; what is in its place may not get lost from now on.
pub(crate) fn ask(world: &mut World) -> Vec<String> {
    let mut found = Vec::new();
    let mut kept = Vec::new();
    let mut in_force = Vec::new();
    for service in 0..SERVICES.len() {
        let contested = world.truth.is_contested(service);
        let ports = contested.then(|| ports_in_force(world, service));
        found.extend(ports.iter().filter_map(|ports| ports.clone().err()));
        in_force.push(ports.and_then(Result::ok));
    }
    if !found.is_empty() {
        return found;
    }
    for member in 0..world.fleet.members.len() {
        let has = imports(&world.fleet.env.servers.0[member + 1].model);
        for (service, (api, _)) in SERVICES.iter().enumerate() {
            let key = (*api, full_name(service));
            let imported = has.get(&key).cloned().unwrap_or_default();
            found.extend(place(&world.truth, (service, in_force[service]), member, &imported));
            found.extend(is_shared(&world.truth, service, member, &imported, world.fleet.env.now));
            let server = &world.fleet.env.servers.0[member + 1].model;
            let bound = imported.services.iter().find_map(|it| Bound::of(server, it));
            if !imported.all.is_empty() {
                let of = format!("{} {}", member_name(member), key.1);
                let ports = world.truth.fleet_ports(service, in_force[service]);
                found.extend(is_bound(server, &imported, &ports, &of));
            }
            // Which of them count may change with the silence of a member.
            let is_certain = in_force[service].is_none();
            let all = if is_certain { imported.all } else { BTreeSet::new() };
            kept.push(((member, *api, key.1), all, bound));
        }
    }
    for (import, endpoints, bound) in kept {
        world.fleet.env.questions.keep(import, endpoints, bound);
    }
    found
}

/// Whether the slices of an import are bound to one Service, which has the ports of its exporters.
fn is_bound(
    server: &ModelServer,
    imported: &Imported,
    ports: &BTreeSet<Ports>,
    of: &str,
) -> Option<String> {
    let mut services = imported.services.iter();
    let (Some(name), None) = (services.next(), services.next()) else {
        return Some(format!("S12: {of} is bound to {:?}", imported.services));
    };
    let Some(service) = server.get(kinds::SERVICE, name) else {
        return Some(format!("S12: {of} is bound to {name}, which is not there"));
    };
    let has: Ports = service["spec"]["ports"].as_array().into_iter().flatten().map(port).collect();
    (!ports.contains(&has)).then(|| format!("S37: {of} has the ports {has:?}, not {ports:?}"))
}

fn port(port: &Value) -> (String, i64) {
    let name = port["name"].as_str().unwrap_or_default().to_owned();
    (name, port["port"].as_i64().unwrap_or_default())
}

/// Of ports that contradict each other, those in force on the hub: exporters read whether theirs are.
fn ports_in_force(world: &World, service: usize) -> Result<PortSet, String> {
    let (servers, name) = (&world.fleet.env.servers.0, object_name(service));
    let import = servers[HUB].model.get(kinds::SERVICE_IMPORT, &name);
    let ports = import.and_then(|import| import["status"]["ports"].as_array());
    let ports: Ports = ports.into_iter().flatten().map(port).collect();
    let named = |(name, port): (&str, i64)| (name.to_owned(), port);
    let has = |set: &PortSet| set.ports().map(named).into_iter().collect::<Ports>();
    let exported = world.truth.exported(service);
    let Some(in_force) = exported.iter().find(|set| ports == has(set)) else {
        return Err(format!("S06: {name} has the ports {ports:?}, of {exported:?}"));
    };
    for (_, member) in world.truth.exports.iter().filter(|(of, _)| *of == service) {
        let export = servers[*member + 1].model.get(kinds::SERVICE_EXPORT, &name);
        let conditions = export.and_then(|export| export["status"]["conditions"].as_array());
        let mut conditions = conditions.into_iter().flatten();
        let conflict = conditions.find(|condition| condition["type"] == "Conflict");
        let conflict = conflict.map_or("", |it| it["status"].as_str().unwrap_or_default());
        let is_one = world.truth.ports[&(service, *member)] != *in_force;
        if (conflict == "True") != is_one {
            let of = member_name(*member);
            return Err(format!("L9: {of} reads Conflict={conflict} of {name}: {in_force:?}"));
        }
    }
    Ok(*in_force)
}

fn place(
    truth: &Truth,
    (service, in_force): (usize, Option<PortSet>),
    member: usize,
    has: &Imported,
) -> Vec<String> {
    let (api, name) = SERVICES[service];
    let is_importer = truth.importers(service, api).contains(&member);
    let offered = if is_importer { truth.offered(service, in_force) } else { BTreeSet::new() };
    let of = format!("{} {api:?} {name}", member_name(member));
    let mut found = Vec::new();
    if has.all != offered {
        let lacks: Vec<_> = offered.difference(&has.all).collect();
        let surplus: Vec<_> = has.all.difference(&offered).collect();
        let code = if api == Api::Fleet { "S02" } else { "S34" };
        found.push(format!("{code}: {of} lacks {lacks:?} and has {surplus:?} too much"));
    }
    if !has.twice.is_empty() {
        found.push(format!("S18: {of} has {:?} twice", has.twice));
    }
    if !offered.is_empty() && has.ready.is_empty() {
        found.push(format!("never empty: {of} has nothing ready of {offered:?}"));
    }
    found
}

/// Whether an importer uses all that is neither drained nor less preferred than others, and nothing of a member that is drained, as
/// long as there is anything else.
fn is_shared(
    truth: &Truth,
    service: usize,
    member: usize,
    has: &Imported,
    now: Duration,
) -> Vec<String> {
    let (api, name) = SERVICES[service];
    let of = format!("{} {api:?} {name}", member_name(member));
    let exporter = |endpoint: &Endpoint| {
        (0..truth.members).find(|at| member_name(*at) == endpoint.0).unwrap_or_default()
    };
    let is_free = |endpoint: &&Endpoint| !truth.is_drained(service, exporter(endpoint));
    let mut found = Vec::new();
    if !truth.is_preferred(service, member) {
        let aside: Vec<_> = has.all.difference(&has.ready).filter(is_free).collect();
        if !aside.is_empty() {
            let why = "although it is neither drained nor silent";
            found.push(format!("L9: {of} does not use {aside:?} {why}"));
        }
    }
    let is_away = |endpoint: &&Endpoint| {
        let at = exporter(endpoint);
        // What no other member has a port of stays.
        let has_same_ports = |other: &Endpoint| {
            let ports = |member: usize| truth.ports.get(&(service, member));
            ports(exporter(other)) == ports(at)
        };
        let mut others = has.ready.iter().filter(is_free);
        at != member && truth.is_empty_of(service, at, now) && others.any(has_same_ports)
    };
    let drained: Vec<_> = has.ready.iter().filter(is_away).collect();
    if !drained.is_empty() {
        found.push(format!("drain: {of} uses {drained:?} besides {:?}", has.ready));
    }
    found
}

/// Whether everything that users have written of the kinds of traffic is as they wrote it.
pub(crate) fn is_as_written(world: &World) -> Vec<String> {
    let mut found = Vec::new();
    for ((server, kind, name), spec) in &world.truth.traffic {
        let model = &world.fleet.env.servers.0[*server].model;
        let now = model.get(*kind, name).map(|object| &object["spec"]);
        if now != Some(spec) {
            let kind = kind.kind;
            found.push(format!("S36: {kind} {name} at {server} was {spec}, and is {now:?}"));
        }
    }
    found
}

/// What is there although nothing is exported or imported any more. What was in force on the hub stays for an hour.
pub(crate) fn left_over(world: &World) -> Vec<String> {
    let servers = &world.fleet.env.servers.0;
    let on_hub = [
        kinds::INTERNAL_SERVICE_EXPORT,
        kinds::INTERNAL_SERVICE_IMPORT,
        kinds::ENDPOINT_SLICE_EXPORT,
        kinds::ENDPOINT_SLICE_IMPORT,
        kinds::SERVICE_IMPORT,
        kinds::EXPORTED_SERVICE,
    ];
    let in_member = [
        kinds::SERVICE_EXPORT,
        kinds::SERVICE_IMPORT,
        kinds::MULTI_CLUSTER_SERVICE,
        kinds::MCS_SERVICE_EXPORT,
        kinds::MCS_SERVICE_IMPORT,
    ];
    let mut left = of_kinds("hub", &servers[HUB].model, &on_hub);
    for member in 0..world.fleet.members.len() {
        let (name, server) = (member_name(member), &servers[member + 1].model);
        left.extend(of_kinds(&name, server, &in_member));
        for kind in [kinds::SERVICE, kinds::ENDPOINT_SLICE] {
            let ours = server.objects(kind).filter(|(object, _)| {
                let is_made = *object.namespace == *SYSTEM_NAMESPACE
                    || (*object.namespace == *base::TEAM && object.name.starts_with("fleet"));
                is_made && !base::is_foreign(member + 1, kind, object)
            });
            left.extend(ours.map(|(object, _)| line(&name, kind, &object.to_string())));
        }
        let imported = imports(server).into_keys();
        left.extend(imported.map(|(api, of)| format!("S17: {name}: slices of {api:?} {of}")));
    }
    left
}

fn of_kinds(cluster: &str, server: &ModelServer, kinds: &[ResourceKind]) -> Vec<String> {
    let of = |kind: &ResourceKind| {
        let names = server.names(*kind).into_iter();
        names.map(|name| line(cluster, *kind, &name.to_string())).collect::<Vec<_>>()
    };
    kinds.iter().flat_map(of).collect()
}

fn line(cluster: &str, kind: ResourceKind, name: &str) -> String {
    format!("S17: {cluster}: {} {name} is left over", kind.label())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::Drain;

    /// m00 exports "web" with two endpoints, and m01 imports it.
    fn asked(has: &Imported) -> Vec<String> {
        asked_with(has, |_| ())
    }

    fn asked_with(has: &Imported, change: impl FnOnce(&mut Truth)) -> Vec<String> {
        let mut truth = Truth::new(2);
        change(&mut truth);
        truth.deployed.insert((0, 0), vec!["10.0.0.1".to_owned(), "10.0.0.2".to_owned()]);
        truth.exports.insert((0, 0));
        truth.ports.insert((0, 0), PortSet::Usual);
        truth.imports.insert((0, 1));
        let mut found = place(&truth, (0, None), 1, has);
        found.extend(is_shared(&truth, 0, 1, has, Duration::ZERO));
        found
    }

    #[test]
    fn what_is_missing_or_aside_is_found() {
        let endpoints = ["10.0.0.1", "10.0.0.2"].map(|it| ("m00".to_owned(), it.to_owned()));
        let all: BTreeSet<_> = endpoints.clone().into();
        let whole =
            Imported { all: all.clone(), ready: all.clone(), usable: all, ..Default::default() };
        assert!(asked(&whole).is_empty());
        let one: BTreeSet<_> = [endpoints[0].clone()].into();
        let lacking = Imported { all: one.clone(), ready: one.clone(), ..Default::default() };
        assert!(asked(&lacking)[0].starts_with("S02: m01 Fleet web lacks"));
        let aside = Imported { ready: one.clone(), ..whole.clone() };
        assert!(asked(&aside)[0].starts_with("L9: "));
        let none_ready = Imported { ready: BTreeSet::new(), ..whole.clone() };
        assert!(asked(&none_ready)[0].starts_with("never empty: "));
        let drain = |of: usize| {
            let drain = Drain { service: Some(of), percent: 100, done: Duration::ZERO };
            move |truth: &mut Truth| {
                truth.drained.insert(0, drain);
            }
        };
        assert!(asked_with(&aside, drain(0)).is_empty());
        assert!(asked_with(&aside, drain(1))[0].starts_with("L9: "));
        let twice = Imported { twice: one, ..whole };
        assert!(asked(&twice)[0].starts_with("S18: "));
    }
}
