//! Own endpoints by Kubernetes: when, when not, and what others do to it.

use fleet_api::{annotations, kinds, labels};
use fleet_plan::{Action, Step};
use serde_json::{Value, json};

use super::kubernetes::{allowed, by_kubernetes, derived_slice, exported_slice};
use crate::multicluster::import::tests::world::{World, derived, port, web};
use crate::settings::Mode;

fn kubernetes() -> Value {
    json!({ "localEndpoints": "Kubernetes" })
}

fn edit(world: &mut World, field: &str, value: Value) {
    let set = |service: &mut Value| service["spec"][field] = value;
    world.own.edit(kinds::SERVICE, &web(), set).unwrap();
}

#[test]
fn the_derived_service_gets_what_decides_who_its_endpoints_are() {
    let mut world = allowed();
    edit(&mut world, "publishNotReadyAddresses", json!(true));
    world.ask(kubernetes());
    world.settle();
    let service = world.derived_service();
    assert_eq!(service["spec"]["selector"], json!({ "app": "web" }));
    assert_eq!(service["spec"]["ports"][0]["targetPort"], "pods");
    assert_eq!(service["spec"]["publishNotReadyAddresses"], true);
    assert_eq!(service["metadata"]["annotations"][annotations::LOCAL_ENDPOINTS], "Kubernetes");
    // Kubernetes gives them to the Endpoints, which it leaves behind.
    assert_eq!(service["metadata"]["labels"][labels::SKIP_MIRROR], "true");
    // Its slices inherit labels: no other program may take them for imported ones.
    let labels = service["metadata"]["labels"].as_object().unwrap();
    assert!(!labels.keys().any(|key| key.starts_with("multicluster.kubernetes.io/")));
}

/// Each step waits for the one before.
#[test]
fn own_slices_step_aside_when_kubernetes_has_written_all() {
    let mut world = allowed();
    world.ask(kubernetes());
    world.settle();
    assert_eq!(world.slots_of("a"), ["10.9.0.1 pool"]);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    assert_eq!((world.local().as_str(), world.binds_own()), ("Agent Pending", true));
    world.kubernetes();
    // It lacks a Pod yet that the exported Service has.
    world.own_pods(&["10.9.0.1", "10.9.0.2"], &[]);
    world.settle();
    assert!(world.binds_own());
    world.kubernetes();
    world.settle();
    assert_eq!((world.local().as_str(), world.binds_own()), ("Kubernetes", false));
    assert_eq!(world.slots_of("a"), ["10.9.0.1 pool", "10.9.0.2 pool"], "a record stays");
    world.rest();
    // One that it lacks later does not bring them back: it is about to come.
    world.own_pods(&["10.9.0.3"], &[]);
    world.settle();
    assert!(!world.binds_own());
    assert_eq!(world.writes(), ["update EndpointSlice"]);
}

#[test]
fn kubernetes_leaves_nothing_behind() {
    let mut world = by_kubernetes();
    world.ask(json!({}));
    let plan = world.plan();
    assert_eq!(plan.steps.len(), 1, "own slices take traffic first: {plan:#?}");
    world.execute(&plan);
    assert!(world.binds_own() && !world.derived_service()["spec"]["selector"].is_null());
    world.change();
    assert!(world.is_agents());
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first z1+z2"]);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 second", "10.1.0.2 second"]);
    assert_eq!(world.local(), "Agent");
    world.rest();
}

type Change = fn(&mut World);

/// What rules the mode out, before it is in force and after.
#[test]
fn what_rules_it_out_has_a_reason_and_leads_back() {
    let table: [(&str, Change); 8] = [
        ("NotAllowed", |world| world.settings.traffic.derived_selectors = false),
        ("NotServed", |world| world.settings.endpointslices = Mode::All),
        ("SharedRank", |world| {
            world.ask(json!({ "localEndpoints": "Kubernetes", "preference": "None" }));
        }),
        ("NoSelector", |world| edit(world, "selector", Value::Null)),
        ("OtherPorts", |world| {
            world.respec("ports", json!([port("http", 80), port("other", 81)]));
        }),
        ("OtherEndpoints", |world| {
            let mut slice =
                world.own.get(kinds::ENDPOINT_SLICE, &exported_slice()).unwrap().clone();
            slice["metadata"] = json!({ "labels": { labels::SERVICE_NAME: "web" } });
            slice["endpoints"] = json!([{ "addresses": ["10.9.7.1"] }]);
            world.add(
                kinds::ENDPOINT_SLICE,
                &fleet_api::ObjectName::new("shop", "web-by-hand"),
                slice,
            );
        }),
        ("Shaped", |world| world.drain("a", 1, 50)),
        ("Shaped", |world| {
            let weights = json!([{ "cluster": "a", "weight": 0 }]);
            world.ask(json!({ "localEndpoints": "Kubernetes", "weights": weights }));
        }),
    ];
    for (reason, change) in table {
        for begin in [allowed, by_kubernetes] {
            let mut world = begin();
            world.ask(kubernetes());
            change(&mut world);
            world.change();
            let expected = format!("Agent {reason}");
            assert_eq!(world.local(), expected);
            assert!(world.is_agents(), "{reason}");
            world.rest();
        }
    }
}

/// A port of others must not lead to own Pods, which lack it: Kubernetes would take its number for that of the Pods' port.
#[test]
fn a_port_of_others_waits_until_the_selector_is_gone() {
    let mut world = by_kubernetes();
    world.respec("ports", json!([port("http", 80), port("other", 81)]));
    for _ in 0..10 {
        let plan = world.plan();
        world.execute(&plan);
        world.kubernetes();
        let service = world.derived_service();
        let ports = service["spec"]["ports"].as_array().unwrap().len();
        assert!(service["spec"]["selector"].is_null() || ports == 1, "{service}");
        let imported = world.import().unwrap()["spec"]["ports"].as_array().unwrap().len();
        assert!(imported <= ports, "a port without a Service");
    }
    assert_eq!(world.derived_service()["spec"]["ports"].as_array().unwrap().len(), 2);
}

#[test]
fn an_export_that_goes_takes_its_endpoints_along() {
    let mut world = by_kubernetes();
    world.own.delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
    world.change();
    assert!(world.is_agents() && world.slots_of("a").is_empty());
    assert!(world.serving().iter().all(|it| !it.starts_with("10.9.")), "{:?}", world.serving());
    world.resolve(&["b", "c"]);
    world.change();
    assert_eq!(world.local(), "Agent NotAccepted");
}

/// Nothing of it depends on the hub, once it is in force; without the hub it does not begin.
#[test]
fn what_is_not_known_changes_nothing() {
    let mut world = by_kubernetes();
    world.heard = false;
    world.memory = crate::traffic_memory::TrafficMemory::new(world.clock.clone());
    assert!(world.plan().steps.is_empty(), "{:#?}", world.plan());
    world.own_pods(&[], &["10.9.0.1"]);
    world.kubernetes();
    world.settle();
    assert!(!world.binds_own());
    world.ask(json!({}));
    world.settle();
    assert!(!world.binds_own(), "drains of this cluster may be unknown");
    let mut world = allowed();
    world.heard = false;
    world.ask(kubernetes());
    world.settle();
    assert!(world.derived_service()["spec"]["selector"].is_null());
}

/// A slice of another cluster that is kept as it is, ready and with hints, would share with Kubernetes' own.
#[test]
fn it_does_not_begin_beside_slices_that_are_kept() {
    let mut world = allowed();
    world.unreadable.push(World::on_hub("b", "web-1"));
    world.ask(kubernetes());
    world.change();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 second", "10.1.0.2 second"], "it is kept");
    assert!(world.derived_service()["spec"]["selector"].is_null());
    assert_eq!(world.local(), "Agent Pending");
    world.unreadable.clear();
    world.change();
    assert_eq!(world.local(), "Kubernetes");
}

#[test]
fn the_selector_follows_the_exported_service() {
    let mut world = by_kubernetes();
    edit(&mut world, "selector", json!({ "app": "other" }));
    edit(
        &mut world,
        "ports",
        json!([{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 9090 }]),
    );
    let plan = world.plan();
    world.execute(&plan);
    assert_eq!(world.derived_service()["spec"]["selector"], json!({ "app": "other" }), "at once");
    world.change();
    let spec = &world.derived_service()["spec"];
    assert_eq!(spec["selector"], json!({ "app": "other" }));
    assert_eq!(spec["ports"][0]["targetPort"], 9090);
    assert!(!world.binds_own());
    world.rest();
}

/// Another admission policy may refuse the selector: then Kubernetes goes on with Pods that are about to go.
#[test]
fn own_slices_serve_while_another_selector_is_refused() {
    let mut world = by_kubernetes();
    world.select(true);
    for _ in 0..2 {
        world.write_but(|step| step.kind == kinds::SERVICE);
        assert!(world.binds_own() && !world.follows());
        world.kubernetes();
        assert!(world.serving().contains("10.9.0.1:9090"), "{:?}", world.serving());
    }
    world.change();
    assert!(world.follows() && !world.binds_own());
    world.rest();
    // The same Pods may lead elsewhere.
    edit(&mut world, "publishNotReadyAddresses", json!(true));
    world.write_but(|step| step.kind == kinds::SERVICE);
    assert!(world.binds_own());
    world.change();
    assert!(!world.binds_own());
}

/// A quota keeps slices from being made, an admission policy any slice of another cluster from being changed.
#[test]
fn own_slices_follow_while_those_of_others_are_refused() {
    let is_create = |step: &Step| matches!(step.action, Action::Create(_));
    let mut world = allowed();
    world.ask(kubernetes());
    world.export_slice("b", "web-2", &["10.1.0.3"]);
    world.own_pods(&["10.9.0.1", "10.9.0.2"], &[]);
    world.write_but(is_create);
    assert_eq!(world.slots_of("a"), ["10.9.0.1 pool", "10.9.0.2 pool"]);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    let mut world = allowed();
    world.ask(kubernetes());
    let is_of_others = |step: &Step| !step.name.name.starts_with("a-");
    world.own_pods(&["10.9.0.1", "10.9.0.2"], &[]);
    world.write_but(is_of_others);
    assert_eq!(world.slots_of("a"), ["10.9.0.1 first z1+z2"], "hints of others would be void");
    world.own_pods(&["10.9.0.2"], &[]);
    world.write_but(is_of_others);
    assert_eq!(world.slots_of("a"), ["10.9.0.2 pool"], "one that is gone cannot wait");
}

/// An own slice whose Pods changed comes at once, without hints: none of others may have any then.
#[test]
fn none_waits_with_hints_beside_an_own_slice_without() {
    let mut world = allowed();
    world.fleet(json!({
        "shapeWritesPerSecond": 1, "defaults": { "preference": "LocalFirst" },
    }));
    for slice in 0..150 {
        world.export_slice("b", &format!("s{slice}"), &[&format!("10.3.0.{slice}")]);
    }
    world.settle();
    world.drain("b", 1, 100);
    world.settle();
    world.rest();
    world.ask(kubernetes());
    assert!(world.plan().steps.is_empty(), "all wait for the pace");
    world.settle();
    assert_eq!(world.slots_of("c"), ["10.2.0.1 second"]);
    world.own_pods(&["10.9.0.1", "10.9.0.2"], &[]);
    let plan = world.plan();
    world.execute(&plan);
    assert_eq!(world.slots_of("a"), ["10.9.0.1 pool", "10.9.0.2 pool"]);
    assert_eq!(world.slots_of("c"), ["10.2.0.1 last"]);
}

#[test]
fn what_users_do_to_it_is_put_right() {
    let table: [Change; 5] = [
        |world| world.own.delete(kinds::SERVICE, &derived()).unwrap(),
        |world| world.own.delete(kinds::ENDPOINT_SLICE, &derived_slice()).unwrap(),
        |world| {
            let set = |it: &mut Value| it["spec"]["selector"] = json!({ "app": "evil" });
            world.own.edit(kinds::SERVICE, &derived(), set).unwrap();
        },
        |world| {
            let set = |it: &mut Value| it["metadata"]["labels"] = Value::Null;
            world.own.edit(kinds::SERVICE, &derived(), set).unwrap();
        },
        |world| {
            let set = |it: &mut Value| {
                it["metadata"]["annotations"] = Value::Null;
            };
            world.own.edit(kinds::SERVICE, &derived(), set).unwrap();
        },
    ];
    for (at, change) in table.into_iter().enumerate() {
        let mut world = by_kubernetes();
        change(&mut world);
        world.kubernetes();
        world.settle();
        assert!(world.serving().contains("10.9.0.1:8080"), "{at}");
        world.change();
        assert_eq!(world.local(), "Kubernetes", "{at}");
        assert_eq!(world.derived_service()["spec"]["selector"], json!({ "app": "web" }), "{at}");
        assert!(!world.binds_own(), "{at}");
        world.rest();
    }
}

/// A selector that is no part of this: Kubernetes' slices go with it.
#[test]
fn a_selector_of_others_leaves_nothing_behind() {
    let mut world = allowed();
    let set = |it: &mut Value| it["spec"]["selector"] = json!({ "app": "evil" });
    world.own.edit(kinds::SERVICE, &derived(), set).unwrap();
    world.kubernetes();
    world.change();
    assert!(world.is_agents());
    world.rest();
}

/// Without the flag of traffic policies there is no policy.
#[test]
fn an_agent_without_policies_takes_it_back() {
    let mut world = by_kubernetes();
    world.settings.traffic.enabled = false;
    world.change();
    assert!(world.is_agents() && world.binds_own());
}

#[test]
fn a_headless_import_has_own_slices_of_the_agent() {
    let mut world = by_kubernetes();
    world.respec("type", json!("Headless"));
    world.change();
    assert!(world.own.get(kinds::SERVICE, &derived()).is_none());
    assert!(world.own.get(kinds::ENDPOINT_SLICE, &derived_slice()).is_none());
    assert_eq!(world.slots_of("a"), ["10.9.0.1 pool"]);
    world.respec("type", json!("ClusterSetIP"));
    world.change();
    assert_eq!(world.local(), "Kubernetes");
}

/// Kubernetes' own slices come before all others, which are promoted when they have failed for a second.
#[test]
fn others_are_promoted_and_step_back() {
    let mut world = by_kubernetes();
    world.own_pods(&[], &["10.9.0.1"]);
    world.kubernetes();
    world.settle();
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    world.pass(1);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
    world.own_pods(&["10.9.0.1"], &[]);
    world.kubernetes();
    world.pass(29);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 pool", "10.1.0.2 pool"]);
    world.pass(2);
    assert_eq!(world.slots_of("b"), ["10.1.0.1 last", "10.1.0.2 last"]);
    assert!(!world.binds_own());
}
