//! Own endpoints, which are those of this cluster's slices whatever the hub has of them.

use super::*;

const ANOTHER: &str = "shop-x2";

impl Directing {
    /// Own Pods change, and nothing of it reaches the hub.
    fn own_pods(&mut self, slice: &str, addresses: &[&str]) {
        let endpoints: Value = addresses.iter().map(|at| json!({ "addresses": [at] })).collect();
        let name = ObjectName::new("team", slice);
        if self.world.own.get(kinds::ENDPOINT_SLICE, &name).is_none() {
            self.world.own.create(kinds::ENDPOINT_SLICE, &name, backing(&json!([]))).unwrap();
        }
        let set = |slice: &mut Value| slice["endpoints"] = endpoints;
        self.world.own.edit(kinds::ENDPOINT_SLICE, &name, set).unwrap();
    }

    /// The addresses of the imported slice of a cluster.
    fn imported(&self, cluster: &str) -> Vec<String> {
        let name = ObjectName::new("fleet-system", &*Self::name(cluster).name);
        let slice = self.world.own.get(kinds::ENDPOINT_SLICE, &name).unwrap();
        let endpoints = slice["endpoints"].as_array().unwrap().iter();
        endpoints.map(|one| one["addresses"][0].as_str().unwrap().to_owned()).collect()
    }
}

/// One write when Pods change, and none when the hub has caught up, or shows what it had in between.
#[test]
fn they_follow_without_the_hub_and_are_written_once() {
    let mut directing = Directing::new();
    directing.own_pods("shop-x1", &["10.9.0.2", "10.9.0.3"]);
    directing.settle();
    assert_eq!(directing.imported("b"), ["10.9.0.2", "10.9.0.3"]);
    assert_eq!(directing.take_writes(), ["update"]);
    directing.own_pods("shop-x1", &["10.9.0.3"]);
    directing.settle();
    assert_eq!(directing.take_writes(), ["update"]);
    for addresses in [&["10.9.0.2", "10.9.0.3"][..], &["10.9.0.3"]] {
        directing.reach_hub(addresses);
        directing.settle();
        assert_eq!(directing.imported("b"), ["10.9.0.3"]);
        assert!(directing.take_writes().is_empty());
    }
}

/// Those of other clusters are what the hub has.
#[test]
fn a_slice_of_another_cluster_of_the_same_name_is_no_own_one() {
    let mut directing = Directing::new();
    directing.own_pods("shop-x1", &[]);
    directing.settle();
    assert!(directing.imported("b").is_empty());
    assert_eq!(directing.imported("a"), ["10.1.0.1", "10.1.0.2"]);
}

/// A new slice has no copy before the hub answers. Its endpoints are in that of another one until then.
#[test]
fn endpoints_of_a_new_slice_serve_before_the_hub_has_it() {
    let mut directing = Directing::new();
    directing.own_pods(ANOTHER, &["10.9.0.2", "10.9.0.7"]);
    directing.own_pods("shop-x1", &["10.9.0.1"]);
    directing.settle();
    assert_eq!(directing.imported("b"), ["10.9.0.1", "10.9.0.2", "10.9.0.7"]);
    let name = ObjectName::new("team", "shop-x1");
    directing.world.own.delete(kinds::ENDPOINT_SLICE, &name).unwrap();
    directing.settle();
    assert_eq!(directing.imported("b"), ["10.9.0.2", "10.9.0.7"]);
}

/// The watch of own slices is behind what this cluster has exported.
#[test]
fn what_the_hub_has_of_a_later_generation_is_newer() {
    let mut directing = Directing::new();
    directing.reach_hub(&["10.9.0.8"]);
    let copy = Directing::name("b");
    let later = |copy: &mut Value| copy["spec"]["endpointSliceReference"]["generation"] = json!(99);
    directing.world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &copy, later).unwrap();
    directing.settle();
    assert_eq!(directing.imported("b"), ["10.9.0.8"]);
}

/// A weight has put own endpoints out of use, and the agent begins anew.
fn out_of_use() -> Directing {
    let mut directing = Directing::new();
    directing.fleet(json!({ "defaults": { "weights": [{ "cluster": "b", "weight": 0 }] } }));
    directing.settle();
    assert_eq!(directing.imported("b"), [""; 0]);
    directing.memory = TrafficMemory::new(directing.clock.clone());
    directing
}

/// What is imported of this cluster after a first plan.
fn at_first(mut directing: Directing) -> Vec<String> {
    begin(&mut directing);
    directing.imported("b")
}

/// A first plan, for which it is not known yet what is in force.
fn begin(directing: &mut Directing) {
    let (key, now) = (Key::Service(shop()), directing.world.own.now());
    let mut snapshot = directing.world.snapshot();
    snapshot.fleet_traffics = View::default().in_state(SourceState::Pending);
    let plan = directing.controller().plan(&key, &snapshot, now);
    execute(&plan, &mut [&mut directing.world.own, &mut directing.world.hub]);
}

#[test]
fn what_is_out_of_use_stays_so_until_policies_are_known() {
    assert_eq!(at_first(out_of_use()), [""; 0]);
}

/// The watch of own slices is behind, and the copy is as new as what was put out of use.
#[test]
fn what_is_out_of_use_stays_so_while_the_own_watch_lags() {
    let mut directing = out_of_use();
    let later = |copy: &mut Value| copy["spec"]["endpointSliceReference"]["generation"] = json!(9);
    directing.world.hub.edit(kinds::ENDPOINT_SLICE_IMPORT, &Directing::name("b"), later).unwrap();
    directing.settle();
    assert_eq!(at_first(directing), [""; 0]);
}

/// Pods that have changed meanwhile were never put out of use. With those of a new slice come those of the one that takes them.
#[test]
fn what_has_changed_meanwhile_serves_until_policies_are_known() {
    let mut other_pods = out_of_use();
    other_pods.own_pods("shop-x1", &["10.9.0.3"]);
    assert_eq!(at_first(other_pods), ["10.9.0.3"]);
    let mut more_pods = out_of_use();
    more_pods.own_pods(ANOTHER, &["10.9.0.7"]);
    assert_eq!(at_first(more_pods), ["10.9.0.1", "10.9.0.2", "10.9.0.7"]);
}

/// A Service that its owner has taken out of use everywhere comes back nowhere because an agent starts.
#[test]
fn what_is_out_of_use_stays_so_where_nothing_else_serves() {
    let mut alone = out_of_use();
    alone.offer("a", &[]);
    alone.offer("c", &[]);
    assert_eq!(at_first(alone), [""; 0]);
}

/// Of a slice whose label a user has changed it is not known here what it has.
#[test]
fn a_slice_that_another_seems_to_manage_is_not_taken_for_an_empty_one() {
    let mut directing = Directing::new();
    for cluster in ["a", "b"] {
        let name = ObjectName::new("fleet-system", &*Directing::name(cluster).name);
        let set = |slice: &mut Value| slice["metadata"]["labels"][labels::MANAGED_BY] = json!("me");
        directing.world.own.edit(kinds::ENDPOINT_SLICE, &name, set).unwrap();
    }
    directing.memory = TrafficMemory::new(directing.clock.clone());
    begin(&mut directing);
    assert_eq!(directing.imported("a"), ["10.1.0.1", "10.1.0.2"]);
    assert_eq!(directing.imported("b"), ["10.9.0.1", "10.9.0.2"]);
}

/// Own endpoints that are gone leave at once, and what changes wakes the import.
#[test]
fn a_change_of_own_pods_is_urgent_and_concerns_the_import() {
    let mut directing = Directing::new();
    let before = directing.world.snapshot();
    directing.own_pods("shop-x1", &["10.9.0.2"]);
    let keys = affected_keys(&directing.controller(), &before, &directing.world.snapshot());
    assert!(keys.contains(&Key::Service(shop())), "{keys:?}");
    assert!(directing.plan().steps.iter().any(|step| step.urgent));
}

/// Without traffic policies the agent imports what the hub has, as the original does.
#[test]
fn without_traffic_they_are_read_back_from_the_hub() {
    let mut directing = Directing::new();
    directing.world.settings.traffic.enabled = false;
    directing.own_pods("shop-x1", &[]);
    assert!(directing.plan().steps.is_empty());
}
