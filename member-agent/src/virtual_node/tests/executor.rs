//! What an executor takes, and in what bounds.

use fleet_api::{ObjectName, kinds};
use fleet_model_server::ModelServer;
use serde_json::json;

use super::world::World;
use crate::virtual_node::executor::Key;

#[test]
fn a_namespace_is_equipped_before_its_first_pod() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    let space = ObjectName::cluster("offload-east--shop");
    let namespace = world.west.own.get(kinds::NAMESPACE, &space).unwrap();
    assert_eq!(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "baseline");
    let inside = |kind| {
        world.west.own.objects(kind).filter(|(name, _)| *name.namespace == *space.name).count()
    };
    assert_eq!(
        [kinds::RESOURCE_QUOTA, kinds::LIMIT_RANGE, kinds::NETWORK_POLICY, kinds::SERVICE_ACCOUNT]
            .map(inside),
        [1; 4]
    );
    let policy = world.west.own.objects(kinds::NETWORK_POLICY).next().unwrap().1;
    assert_eq!(policy["spec"]["ingress"][0]["from"][0]["ipBlock"]["cidr"], "10.0.0.0/8");
}

#[test]
fn a_namespace_of_users_is_not_taken() {
    let mut world = World::new();
    let space = ObjectName::cluster("offload-east--shop");
    world.west.own.create(kinds::NAMESPACE, &space, json!({})).unwrap();
    world.create_pod("web", &json!({}));
    world.settle();
    assert!(world.remote().is_empty());
    assert_eq!(world.east.pod("web").unwrap()["status"]["reason"], "NamespaceNotOffered");
    assert!(world.west.own.get(kinds::NAMESPACE, &space).is_some());
}

#[test]
fn what_does_not_fit_waits_with_the_reason_until_it_does() {
    let mut world = World::new();
    world.offer(&json!({ "capacity": { "pods": 1 } }));
    world.settle();
    world.create_pod("one", &json!({}));
    world.settle();
    world.create_pod("two", &json!({}));
    world.settle();
    assert_eq!(world.remote().len(), 1);
    let two = world.east.pod("two").unwrap();
    assert_eq!(
        (&two["status"]["phase"], &two["status"]["reason"]),
        (&json!("Pending"), &json!("QuotaExceeded"))
    );
    let is_tainted =
        |world: &World| world.node().unwrap()["spec"]["taints"].to_string().contains("/capacity");
    assert!(is_tainted(&world), "the scheduler looks elsewhere for a while");
    world.pass(100);
    world.settle();
    assert!(!is_tainted(&world), "smaller ones may fit");
    world.east.own.delete_pod(&ObjectName::new("shop", "one"), Some(1)).unwrap();
    for _ in 0..4 {
        world.pass(2);
        world.settle();
    }
    assert_eq!(World::condition(world.east.pod("two").unwrap(), "Ready").0, "True");
}

/// What is offered is not offered once for each namespace of a member, nor to each of those that come at once.
#[test]
fn namespaces_share_what_is_offered() {
    let mut world = World::new();
    let terms = json!({ "namespaces": ["shop", "lab"] });
    world.offer(&json!({ "capacity": { "pods": 3, "cpu": "2" }, "terms": terms }));
    world.east.own.create(kinds::NAMESPACE, &ObjectName::cluster("lab"), json!({})).unwrap();
    world.settle();
    for namespace in ["shop", "lab"] {
        for at in 0..2 {
            world.create_pod_in(namespace, &format!("web-{at}"), &json!({}));
        }
    }
    world.settle();
    // Each has the usual limit of one processor.
    assert_eq!(world.remote().len(), 2);
    let fields: Vec<_> = world
        .imports()
        .into_iter()
        .filter_map(|(_, status)| status.rejected.map(|rejected| rejected.field))
        .collect();
    assert!(fields.contains(&"spec.containers[*].resources.limits.cpu".to_owned()), "{fields:?}");
}

#[test]
fn amounts_of_all_forms_count() {
    let asks = |cpu: &str| {
        let mut world = World::new();
        let amounts = json!({ "requests": { "cpu": cpu }, "limits": { "cpu": cpu } });
        let container = json!({ "name": "web", "image": "web:1", "resources": amounts });
        world.create_pod("web", &json!({ "containers": [container] }));
        world.settle();
        world.remote().len()
    };
    assert_eq!([asks("7e0"), asks("9e3"), asks("much")], [1, 0, 0]);
}

/// A hub that was restored from a backup has no import of many Pods: they are not stopped at once.
#[test]
fn pods_whose_imports_are_missing_are_stopped_late_and_few_at_once() {
    let mut world = World::new();
    for at in 0..8 {
        world.create_pod(&format!("web-{at}"), &json!({}));
    }
    world.settle();
    assert_eq!(world.remote().len(), 8);
    // Only the executor looks: the origin would export them again.
    let lose = |world: &mut World, count: usize| {
        for name in world.hub.names(kinds::POD_IMPORT).into_iter().take(count) {
            world
                .hub
                .edit(kinds::POD_IMPORT, &name, |import| {
                    import["metadata"]["finalizers"] = json!([]);
                })
                .unwrap();
            world.hub.delete(kinds::POD_IMPORT, &name).unwrap();
        }
    };
    let stopped = |world: &World| {
        world.remote().iter().filter(|pod| !pod["metadata"]["deletionTimestamp"].is_null()).count()
    };
    lose(&mut world, 8);
    world.pass(100);
    world.executor();
    assert_eq!(stopped(&world), 0, "so many at once is more probably a mistake");
    world.pass(700);
    world.executor();
    assert_eq!(stopped(&world), 8, "ten minutes and a second list have confirmed it");
}

#[test]
fn an_offer_is_on_the_hub_while_it_is_made() {
    let mut world = World::new();
    assert_eq!(world.hub.names(kinds::OFFLOAD_OFFER).len(), 1);
    world.offer(&json!({ "capacity": { "pods": 7 } }));
    world.settle();
    let offer = world.hub.objects(kinds::OFFLOAD_OFFER).next().unwrap().1;
    assert_eq!(offer["spec"]["capacity"]["pods"], 7);
    world
        .west
        .own
        .delete(kinds::CONFIG_MAP, &ObjectName::new("fleet-system", "fleet-offload"))
        .unwrap();
    world.settle();
    assert!(world.hub.names(kinds::OFFLOAD_OFFER).is_empty());
}

/// By its status the executor knows which origins are silent.
#[test]
fn an_offer_that_is_taken_back_goes_after_the_last_import() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    world.west.consent(json!({}));
    world.settle();
    let offer = world.hub.objects(kinds::OFFLOAD_OFFER).next().unwrap().1.clone();
    assert!(offer["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(offer["spec"]["originSelector"], json!({}), "it is for none");
    world.east.own.delete_pod(&ObjectName::new("shop", "web"), Some(1)).unwrap();
    for _ in 0..4 {
        world.pass(15);
        world.settle();
    }
    assert!(world.hub.names(kinds::POD_IMPORT).is_empty());
    assert!(world.hub.names(kinds::OFFLOAD_OFFER).is_empty());
}

fn ask_to_leave(hub: &mut ModelServer) {
    let name = ObjectName::new("fleet-member-west", "west");
    let spec = json!({ "spec": { "state": "Leave" } });
    hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &name, spec).unwrap();
}

/// Otherwise they would run on, and the hub would not know of them any more.
#[test]
fn a_member_that_is_asked_to_leave_waits_for_the_pods_that_it_runs() {
    let mut world = World::new();
    world.create_pod("web", &json!({}));
    world.settle();
    ask_to_leave(&mut world.hub);
    world.settle();
    assert!(world.remote().len() == 1 && !world.reports_that_it_left());
    world.east.own.delete_pod(&ObjectName::new("shop", "web"), Some(1)).unwrap();
    for _ in 0..4 {
        world.pass(15);
        world.settle();
    }
    assert!(world.remote().is_empty() && world.reports_that_it_left());
}

#[test]
fn a_member_that_is_asked_to_leave_takes_its_offer_back() {
    let mut world = World::new();
    assert_eq!(world.hub.objects(kinds::OFFLOAD_OFFER).count(), 1);
    let keys = world.affected_in_the_executor(ask_to_leave);
    assert!(keys.contains(&Key::Offer), "{keys:?}");
    world.settle();
    assert_eq!(world.hub.objects(kinds::OFFLOAD_OFFER).count(), 0);
}
