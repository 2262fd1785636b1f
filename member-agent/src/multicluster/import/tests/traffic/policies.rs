//! Preferences, spill and weights.

use fleet_api::{annotations, kinds};
use fleet_traffic::DataPlane;
use serde_json::json;

use super::given::{directing, local_first};
use crate::multicluster::import::tests::world::{World, web};

/// Without a policy nothing is written that would not be written otherwise.
#[test]
fn without_a_policy_all_endpoints_are_one_pool() {
    let directed = directing();
    let pool = ["a 10.9.0.1 pool", "b 10.1.0.1 pool", "b 10.1.0.2 pool", "c 10.2.0.1 pool"];
    assert_eq!(directed.slots(), pool);
    let mut plain = directed.clone();
    plain.settings.traffic.enabled = false;
    plain.rest();
}

/// Policies that are there do nothing where they are not asked for.
#[test]
fn switched_off_nothing_is_read_or_written() {
    let mut world = directing();
    world.settings.traffic.enabled = false;
    world.defaults(&json!({ "preference": "LocalFirst" }));
    world.ask(json!({ "fallback": "None" }));
    world.drain("b", 1, 100);
    world.silence("c", 2, 100);
    let plan = world.plan();
    assert!(plan.is_empty() && plan.measurements.is_empty() && plan.wake_after.is_none());
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
}

/// What was directed is written as before once it is switched off.
#[test]
fn switched_off_again_the_slices_are_plain() {
    let mut world = local_first();
    world.settings.traffic.enabled = false;
    world.settle();
    let pool = ["a 10.9.0.1 pool", "b 10.1.0.1 pool", "b 10.1.0.2 pool", "c 10.2.0.1 pool"];
    assert_eq!(world.slots(), pool);
    world.rest();
}

#[test]
fn own_endpoints_come_first_where_the_fleet_prefers_them() {
    let world = local_first();
    let expected =
        ["a 10.9.0.1 first z1+z2", "b 10.1.0.1 second", "b 10.1.0.2 second", "c 10.2.0.1 second"];
    assert_eq!(world.slots(), expected);
}

/// The first fail-over needs no write to slices of other clusters.
#[test]
fn own_readiness_moves_no_endpoint_of_others() {
    let mut world = local_first();
    for (ready, unready) in [(&[][..], &["10.9.0.1"][..]), (&["10.9.0.1"], &[])] {
        world.own_pods(ready, unready);
        world.pass(60);
        assert_eq!(world.writes(), ["update EndpointSlice"], "{ready:?}");
        assert_eq!(world.slots_of("b"), ["10.1.0.1 second", "10.1.0.2 second"]);
    }
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first z1+z2"]);
}

#[test]
fn a_new_zone_is_named_at_once_and_an_old_one_with_the_next_write() {
    let mut world = local_first();
    world.node("n3", None);
    world.settle();
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first +z1+z2"]);
    assert_eq!(world.writes(), ["update EndpointSlice"]);
    let node = fleet_api::ObjectName::cluster("n2");
    world.own.delete(fleet_api::kinds::NODE, &node).unwrap();
    world.settle();
    let _ = world.own.take_writes();
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first +z1+z2"], "naming it costs nothing");
    world.own_pods(&["10.9.0.1", "10.9.0.2"], &[]);
    world.settle();
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first +z1", "10.9.0.2 first +z1"]);
}

/// More zones than an endpoint can name, or a proxy that ignores hints.
#[test]
fn conditions_alone_give_two_ranks() {
    let expected = ["a 10.9.0.1 pool", "b 10.1.0.1 last", "b 10.1.0.2 last", "c 10.2.0.1 last"];
    let mut world = local_first();
    for zone in 3..10 {
        world.node(&format!("m{zone}"), Some(&format!("z{zone}")));
    }
    world.settle();
    assert_eq!(world.slots(), expected);
    let mut world = directing();
    world.settings.traffic.data_plane = DataPlane::Conditions;
    world.defaults(&json!({ "preference": "LocalFirst" }));
    world.settle();
    assert_eq!(world.slots(), expected);
    world.own_pods(&[], &["10.9.0.1"]);
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"], "kube-proxy uses them");
    world.pass(2);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"], "so do other readers");
    world.own_pods(&["10.9.0.1"], &[]);
    world.pass(32);
    assert_eq!(world.slots(), expected, "they went back");
    world.rest();
}

fn selector(key: &str, value: &str) -> serde_json::Value {
    json!({ "propertySelector": { "matchProperties": { key: value } } })
}

#[test]
fn ranks_follow_the_selectors_of_this_cluster() {
    let mut world = directing();
    world.decide("a", json!({ "serial": 1, "properties": { "region": "north" } }));
    world.decide("c", json!({ "serial": 2, "properties": { "region": "north" } }));
    let own = selector("cluster.clusterset.k8s.io", "@SameAsImporter@");
    let region = selector("region", "@SameAsImporter@");
    world.ask(json!({ "preference": "Selectors", "clusterSelectors": [own, region] }));
    world.settle();
    let expected =
        ["a 10.9.0.1 first z1+z2", "b 10.1.0.1 last", "b 10.1.0.2 last", "c 10.2.0.1 second"];
    assert_eq!(world.slots(), expected);
    world.ask(json!({
        "preference": "Selectors", "clusterSelectors": [region], "fallback": "None",
    }));
    world.settle();
    assert_eq!(world.slots(), ["a 10.9.0.1 pool", "c 10.2.0.1 pool"], "others are out of use");
    world.rest();
}

/// The third rank serves through kube-proxy at once, and is promoted after a second.
#[test]
fn a_third_rank_is_promoted_when_the_others_fail() {
    let mut world = directing();
    let only = |cluster: &str| selector("cluster.clusterset.k8s.io", cluster);
    world.ask(json!({ "preference": "Selectors", "clusterSelectors": [only("a"), only("c")] }));
    world.settle();
    world.own_pods(&[], &["10.9.0.1"]);
    world.move_endpoints("c", "web-1", &[]);
    world.settle();
    assert_eq!(world.slots(), ["b 10.1.0.1 last", "b 10.1.0.2 last"]);
    world.pass(1);
    assert_eq!(world.slots(), ["b 10.1.0.1 second", "b 10.1.0.2 second"]);
    world.move_endpoints("c", "web-1", &["10.2.0.9"]);
    world.pass(29);
    assert_eq!(world.slots_of("b")[0], "10.1.0.1 second");
    world.pass(2);
    assert_eq!(world.slots_of("b")[0], "10.1.0.1 last");
}

/// The importer's object is stronger than the hub's, field by field, and that is stronger than the defaults.
#[test]
fn fields_come_from_the_strongest_object() {
    let mut world = local_first();
    world.ask_on_hub(json!({ "preference": "None" }));
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
    world.ask(json!({ "weights": [{ "cluster": "c", "weight": 0 }] }));
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
    assert!(world.slots_of("c").is_empty(), "weight 0 holds");
    world.ask(json!({ "preference": "LocalFirst" }));
    world.settle();
    assert_eq!(world.slots_of("c"), ["10.2.0.1 second"]);
}

fn many(last: std::ops::Range<usize>, net: usize) -> Vec<String> {
    last.map(|it| format!("10.{net}.1.{it}")).collect()
}

fn refs(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

impl World {
    /// The slice of a member carries this weight.
    fn weigh(&mut self, cluster: &str, weight: &str) {
        let set = |slice: &mut serde_json::Value| {
            slice["metadata"]["annotations"] = json!({ annotations::WEIGHT: weight });
        };
        self.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &Self::on_hub(cluster, "web-1"), set).unwrap();
    }
}

fn count(world: &World, cluster: &str, slot: &str) -> usize {
    world.slots_of(cluster).iter().filter(|line| line.contains(slot)).count()
}

/// Ten endpoints of either cluster at 9 to 1: one of the second is in use, all others are in reserve.
#[test]
fn weights_take_subsets() {
    let mut world = directing();
    let (b, c) = (many(0..10, 1), many(0..10, 2));
    world.move_endpoints("b", "web-1", &refs(&b));
    world.move_endpoints("c", "web-1", &refs(&c));
    world.ask(json!({
        "weighting": "Clusters",
        "weights": [
            { "cluster": "a", "weight": 0 }, { "cluster": "b", "weight": 90 },
            { "cluster": "c", "weight": 10 },
        ],
    }));
    world.settle();
    // 10 of 11 are within a percentage point of 90 percent, and leave more in use than 9 of 10.
    assert_eq!((count(&world, "b", "pool"), count(&world, "b", "last")), (10, 0));
    assert_eq!((count(&world, "c", "pool"), count(&world, "c", "last")), (1, 9));
    assert!(world.slots_of("a").is_empty());
    world.rest();
    // One that is in use fails: one other takes its place, in the same write.
    let used = world.slots_of("c").into_iter().find(|line| line.ends_with("pool")).unwrap();
    let failed = used.split(' ').next().unwrap().to_owned();
    let left: Vec<_> = refs(&c).into_iter().filter(|it| *it != failed).collect();
    world.move_endpoints("c", "web-1", &left);
    world.settle();
    assert_eq!(count(&world, "c", "pool"), 1);
    assert_eq!(world.writes(), ["update EndpointSlice"]);
}

/// What exporters give themselves counts for those that the policy does not name.
#[test]
fn exporters_have_the_weights_that_they_give_themselves() {
    let mut world = directing();
    let (b, c) = (many(0..10, 1), many(0..10, 2));
    world.move_endpoints("b", "web-1", &refs(&b));
    world.move_endpoints("c", "web-1", &refs(&c));
    world.weigh("b", "90");
    world.weigh("c", "10");
    world.ask(json!({
        "weighting": "Clusters", "weights": [{ "cluster": "a", "weight": 0 }],
    }));
    world.settle();
    assert_eq!([count(&world, "b", "pool"), count(&world, "c", "pool")], [10, 1]);
    world.rest();
    // A slice that is kept keeps its weight: the hub does not answer, and the agent begins anew.
    let mut cut = world.clone();
    cut.memory = crate::traffic_memory::TrafficMemory::new(cut.clock.clone());
    cut.unreadable.push(World::on_hub("b", "web-1"));
    cut.settle();
    assert_eq!([count(&cut, "b", "pool"), count(&cut, "c", "pool")], [10, 1]);
    // The importer's word is the stronger one, but for what an exporter puts out of use.
    world.ask(json!({ "weighting": "Clusters", "weights": [
        { "cluster": "a", "weight": 0 }, { "cluster": "b", "weight": 10 },
    ]}));
    world.pass(10);
    assert_eq!([count(&world, "b", "pool"), count(&world, "c", "pool")], [10, 10]);
    world.weigh("b", "0");
    world.settle();
    assert!(world.slots_of("b").is_empty() && count(&world, "c", "pool") == 10);
    // What cannot be read is the usual one.
    world.weigh("b", "heavy");
    world.settle();
    assert!(!world.slots_of("b").is_empty());
}

#[test]
fn the_own_weight_counts_as_others_see_it() {
    let mut world = directing();
    world.ask(json!({ "weighting": "Clusters" }));
    world.settle();
    let set = |export: &mut serde_json::Value| {
        export["metadata"]["annotations"] = json!({ annotations::WEIGHT: "0" });
    };
    world.own.edit(kinds::MCS_SERVICE_EXPORT, &web(), set).unwrap();
    world.settle();
    assert!(world.slots_of("a").is_empty());
}

/// Ten own endpoints at full size and a threshold of 80 percent.
#[test]
fn others_help_out_before_own_endpoints_are_gone() {
    let mut world = local_first();
    let (own, others) = (many(0..10, 9), many(0..20, 1));
    let own = refs(&own);
    world.move_endpoints("b", "web-1", &refs(&others));
    world.ask(json!({ "spill": { "belowPercent": 80 } }));
    world.own_pods(&own, &[]);
    world.settle();
    assert_eq!(count(&world, "b", "first") + count(&world, "c", "first"), 0);
    for (ready, lent) in [(7, 2), (4, 4), (1, 9)] {
        world.own_pods(&own[..ready], &own[ready..]);
        world.pass(6);
        let all = count(&world, "b", "first") + count(&world, "c", "first");
        assert_eq!(all, lent, "{ready} ready");
    }
    world.own_pods(&own, &[]);
    world.pass(400);
    assert_eq!(count(&world, "b", "first") + count(&world, "c", "first"), 0);
    world.rest();
}

/// A port that this cluster does not expose is served by others at once.
#[test]
fn a_port_of_others_needs_no_own_endpoint() {
    let mut world = local_first();
    let ports = json!([
        { "name": "http", "protocol": "TCP", "port": 80 },
        { "name": "admin", "protocol": "TCP", "port": 81 },
    ]);
    world.respec("ports", ports);
    world.settle();
    world.rest();
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first z1+z2"]);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 second", "10.1.0.2 second"]);
}
