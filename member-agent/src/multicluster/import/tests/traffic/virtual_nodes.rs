//! Endpoints on virtual nodes belong to the members that run them.

use fleet_api::{ObjectName, kinds, labels};
use fleet_plan::affected_keys;
use serde_json::{Value, json};

use super::super::world::{World, web};
use super::given::{directing, local_first};
use super::kubernetes::by_kubernetes;
use crate::multicluster::import::{Key, StandardImportController};
use crate::snapshot::MemberSnapshot;

/// Two own Pods, one of them on the virtual node that stands for "b".
fn origin() -> World {
    let mut world = local_first();
    world.settings.virtual_nodes.origin = true;
    world.virtual_node("b");
    world.own_endpoints(&json!([
        { "addresses": ["10.9.0.1"], "nodeName": "n1" },
        { "addresses": ["10.1.9.9"], "nodeName": "fleet-b" },
    ]));
    world.settle();
    world
}

impl World {
    fn virtual_node(&mut self, executor: &str) {
        let metadata = json!({ "labels": { labels::VIRTUAL_NODE: "true" } });
        let name = ObjectName::cluster(format!("fleet-{executor}"));
        self.add(kinds::NODE, &name, json!({ "metadata": metadata }));
    }

    fn own_endpoints(&mut self, endpoints: &Value) {
        let set = |slice: &mut Value| slice["endpoints"] = endpoints.clone();
        self.own.edit(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-x1"), set).unwrap();
    }

    /// Another member exports an endpoint that runs in an executor, after what it has.
    fn export_running_in(&mut self, cluster: &str, executor: &str, address: &str) {
        let endpoint = json!({ "addresses": [address], "executor": executor });
        let name = World::on_hub(cluster, "web-1");
        let add = |object: &mut Value| {
            let reference = &mut object["spec"]["endpointSliceReference"];
            reference["generation"] = json!(reference["generation"].as_i64().unwrap() + 1);
            object["spec"]["endpoints"].as_array_mut().unwrap().push(endpoint);
        };
        self.hub.edit(kinds::ENDPOINT_SLICE_EXPORT, &name, add).unwrap();
    }
}

#[test]
fn own_first_does_not_prefer_pods_that_run_elsewhere() {
    let world = origin();
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first z1+z2", "10.1.9.9 second"]);
}

/// A Node of such a name that stands for no member is one of this cluster.
#[test]
fn a_name_alone_makes_no_virtual_node() {
    let mut world = local_first();
    world.settings.virtual_nodes.origin = true;
    world.own_endpoints(&json!([{ "addresses": ["10.9.0.1"], "nodeName": "fleet-b" }]));
    world.settle();
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first z1+z2"]);
}

#[test]
fn a_drain_of_the_executor_moves_own_endpoints_that_it_runs() {
    let mut world = origin();
    world.drain("b", 1, 100);
    world.settle();
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first z1+z2", "10.1.9.9 last"]);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    world.drain("b", 2, 0);
    world.settle();
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first z1+z2", "10.1.9.9 second"]);
}

#[test]
fn silence_of_the_executor_does_so_too() {
    let mut world = origin();
    world.silence("b", 1, 100);
    world.settle();
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first z1+z2", "10.1.9.9 last"]);
}

/// What "b" exports and this cluster runs is near to its clients.
#[test]
fn the_executor_prefers_what_it_runs() {
    let mut world = local_first();
    world.settings.virtual_nodes.executor = true;
    world.export_running_in("b", "a", "10.9.7.7");
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 second", "10.1.0.2 second", "10.9.7.7 first z1+z2"]);
    // A drain of the exporter takes it along; one of this cluster, too.
    for (member, serial) in [("b", 1), ("a", 2)] {
        world.drain(member, serial, 100);
        world.settle();
        assert!(world.slots_of("b").contains(&"10.9.7.7 last".to_owned()), "{:?}", world.slots());
        world.drain(member, serial + 2, 0);
        world.settle();
        assert!(world.slots_of("b").contains(&"10.9.7.7 first z1+z2".to_owned()));
    }
}

/// An exporter can claim that of any cluster.
#[test]
fn what_does_not_run_here_is_not_preferred_here() {
    let mut world = local_first();
    world.export_running_in("b", "a", "10.9.7.7");
    world.settle();
    assert!(world.slots_of("b").contains(&"10.9.7.7 second".to_owned()), "{:?}", world.slots());
}

/// A third member sees that two exporters are last with the one that runs their endpoints, without an export of that one.
#[test]
fn an_executor_that_exports_nothing_has_a_rank_and_a_drain() {
    let mut world = directing();
    world.export_running_in("c", "d", "10.4.0.1");
    let d =
        json!({ "propertySelector": { "matchProperties": { "cluster.clusterset.k8s.io": "d" } } });
    world.ask(json!({ "preference": "Selectors", "clusterSelectors": [d] }));
    world.settle();
    assert_eq!(world.slots_of("c"), ["10.2.0.1 second", "10.4.0.1 first z1+z2"]);
    let before = world.snapshot();
    world.drain("d", 1, 100);
    assert!(concerns(&world, &before), "its drain concerns the Service");
    world.settle();
    assert_eq!(world.slots_of("c"), ["10.2.0.1 second", "10.4.0.1 last"]);
}

/// Whether what has happened since makes the agent look at the import.
fn concerns(world: &World, before: &MemberSnapshot) -> bool {
    let controller =
        StandardImportController { settings: world.settings.clone(), memory: world.memory.clone() };
    let now = world.snapshot();
    let keys = affected_keys(&controller, before, &now);
    keys.contains(&Key(web()))
}

#[test]
fn who_claims_too_many_executors_is_taken_for_itself() {
    let mut world = local_first();
    for at in 0..40 {
        world.export_running_in("b", &format!("m{at:02}"), &format!("10.7.0.{at}"));
    }
    world.export_running_in("b", "not a name", "10.7.1.1");
    world.settle();
    let slots = world.slots_of("b");
    assert_eq!((slots.len(), slots.iter().filter(|it| it.ends_with("second")).count()), (43, 43));
    // The first sixteen by name follow their executors.
    world.drain("m03", 1, 100);
    world.drain("m20", 2, 100);
    world.settle();
    let last: Vec<_> = world.slots_of("b").into_iter().filter(|it| it.ends_with("last")).collect();
    assert_eq!(last, ["10.7.0.3 last"]);
}

#[test]
fn a_slice_that_is_kept_keeps_the_rank_of_what_runs_elsewhere() {
    let mut world = local_first();
    world.export_running_in("b", "a", "10.9.7.7");
    world.settle();
    world.rest();
    // The agent begins anew, and the hub does not answer.
    world.memory = crate::traffic_memory::TrafficMemory::new(world.clock.clone());
    world.unreadable.push(World::on_hub("b", "web-1"));
    world.settle();
    assert_eq!(world.writes(), Vec::<String>::new());
}

#[test]
fn virtual_nodes_have_no_clients_and_no_zone() {
    let mut world = origin();
    // Nodes without a zone would be named by an empty one.
    assert!(world.slots_of("a")[0].ends_with("first z1+z2"));
    world.node("n3", None);
    world.settle();
    assert!(world.slots_of("a")[0].ends_with("first +z1+z2"), "{:?}", world.slots());
}

/// kube-controller-manager takes Pods on virtual nodes for own ones.
#[test]
fn kubernetes_does_not_write_endpoints_that_run_elsewhere() {
    let mut world = by_kubernetes();
    world.settings.virtual_nodes.origin = true;
    world.virtual_node("b");
    let unready = json!({ "ready": false, "serving": false, "terminating": false });
    world.own_endpoints(&json!([
        { "addresses": ["10.9.0.1"], "nodeName": "n1" },
        { "addresses": ["10.1.9.9"], "nodeName": "fleet-b", "conditions": unready },
    ]));
    world.change();
    assert_eq!(world.local(), "Agent VirtualNodes");
}
