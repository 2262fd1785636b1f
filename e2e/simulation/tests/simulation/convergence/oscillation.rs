//! L4: whatever users do, agents that are left alone bring no object back to what they replaced.

use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use crate::convergence::fleet::{Fleet, Random, endpoints, export, import, service, slice};

const MEMBERS: [&str; 3] = ["a", "b", "c"];
/// Runs, and what users do in each.
const RUNS: u64 = 4;
const CHANGES: usize = 10;

/// Services of which two have the same plain name on the hub, and in importers.
fn services() -> [ObjectName; 3] {
    [("a-b", "c"), ("a", "b-c"), ("team", "shop")]
        .map(|(namespace, name)| ObjectName::new(namespace, name))
}

/// L4: after every change by a user, each object goes through contents that are all different, in
/// all clusters, with every order of the agents' work. Two Services that once had one name do not
/// evict each other.
#[test]
fn nothing_goes_to_and_fro() {
    for seed in 1..=RUNS {
        let mut fleet = Fleet::with_seed(&MEMBERS, seed * 104_729);
        for namespace in ["a-b", "a"] {
            fleet.hub.create(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({})).unwrap();
        }
        let mut random = Random::new(seed * 7919);
        for change in 0..CHANGES {
            let done = user(&mut fleet, &mut random);
            fleet.begin_trace();
            fleet.settle();
            if let Some(oscillation) = fleet.oscillation() {
                panic!("seed {seed}, change {change}, {done}: {oscillation}");
            }
            // Sometimes several changes come before the agents are done; what they make of those may go to and fro.
            for _ in 0..random.below(3) {
                user(&mut fleet, &mut random);
                fleet.run_until_crash(1 + random.below(6));
            }
            fleet.settle();
        }
    }
}

/// The detector itself: an agent that undoes what it did is caught.
#[test]
fn what_goes_to_and_fro_is_seen() {
    let shop = ObjectName::new("team", "shop");
    let mut fleet = Fleet::new(&MEMBERS);
    service(&shop, fleet.member(0), 80);
    fleet.begin_trace();
    for port in [81, 80] {
        assert_eq!(fleet.oscillation(), None);
        let change = |service: &mut Value| service["spec"]["ports"][0]["port"] = json!(port);
        fleet.member(0).edit(kinds::SERVICE, &shop, change).unwrap();
        fleet.look();
    }
    assert!(fleet.oscillation().unwrap().contains("Service team/shop"));
}

/// One change by a user somewhere; returns what it was.
fn user(fleet: &mut Fleet, random: &mut Random) -> String {
    let name = services()[random.below(3)].clone();
    let member = random.below(MEMBERS.len());
    let number = random.below(200) + 1;
    let server = fleet.member(member);
    let slice_name = ObjectName::new(name.namespace.clone(), format!("{}-x1", name.name));
    let what = match random.below(9) {
        0 | 1 if server.get(kinds::SERVICE, &name).is_none() => {
            service(&name, server, 80);
            if server.get(kinds::ENDPOINT_SLICE, &slice_name).is_none() {
                slice(&name, "x1", server, &[&format!("10.{member}.0.{number}")]);
            }
            if server.get(kinds::SERVICE_EXPORT, &name).is_none() {
                export(&name, server);
            }
            "exports"
        }
        2 | 3 if server.get(kinds::MULTI_CLUSTER_SERVICE, &name).is_none() => {
            import(&name, &name.name, server);
            "imports"
        }
        4 => {
            server.delete(kinds::SERVICE_EXPORT, &name).ok();
            "unexports"
        }
        5 => {
            server.delete(kinds::MULTI_CLUSTER_SERVICE, &name).ok();
            "no longer imports"
        }
        6 => {
            server.delete(kinds::SERVICE, &name).ok();
            "deletes the Service of"
        }
        7 => {
            let port = json!(80 + number % 3);
            server
                .edit(kinds::SERVICE, &name, |service| {
                    service["spec"]["ports"][0]["port"] = port;
                })
                .ok();
            "changes the port of"
        }
        _ => {
            let address = format!("10.{member}.0.{number}");
            server
                .edit(kinds::ENDPOINT_SLICE, &slice_name, |slice| {
                    slice["endpoints"] = endpoints(&[&address]);
                })
                .ok();
            "changes the endpoints of"
        }
    };
    format!("{} {what} {name}", MEMBERS[member])
}
