//! The derived Service: content, name, and what of it the user reads.

use fleet_api::{ObjectName, annotations, events, kinds, labels, names};
use serde_json::{Value, json};

use crate::{DerivedServiceType, DerivedServices};

use super::{World, derived, granted, on_hub, shop, system};

/// MCS-3: the address of the derived Service reaches the user with everything it consists of, and
/// leaves again.
#[test]
fn the_address_of_the_derived_service_reaches_the_user() {
    let mut world = World::importing();
    let addresses = [
        json!({ "ip": "192.0.2.1" }),
        json!({ "ip": "192.0.2.2", "ipMode": "VIP" }),
        json!({ "ip": "192.0.2.2", "ipMode": "Proxy" }),
        json!({ "hostname": "shop.example.com",
            "ports": [{ "port": 80, "protocol": "TCP", "error": "example.com/none-left" }] }),
    ];
    for address in addresses {
        let balancer = json!({ "ingress": [address] });
        world.edit(kinds::SERVICE, &derived(), |service| {
            service["status"] = json!({ "loadBalancer": balancer });
        });
        let plan = world.plan();
        assert_eq!(plan.steps.len(), 1, "{plan:#?}");
        assert_eq!(plan.events[0].reason, events::SUCCESSFUL_UPDATE_STATUS);
        world.settle();
        assert_eq!(world.mcs(&shop()).unwrap()["status"]["loadBalancer"], balancer);
    }
    world.edit(kinds::SERVICE, &derived(), |service| service["status"] = Value::Null);
    world.settle();
    assert_eq!(world.mcs(&shop()).unwrap()["status"]["loadBalancer"], json!({}));
}

/// MCS-7: a derived Service that is gone comes back under the name in the label.
#[test]
fn a_deleted_derived_service_comes_back_under_its_name() {
    let mut world = World::importing();
    world.own.delete(kinds::SERVICE, &derived()).unwrap();
    world.settle();
    assert!(world.derived().is_some());

    // That holds for a name that is not the first choice, too.
    let mut world = World::waiting();
    world.own.create(kinds::SERVICE, &derived(), json!({ "spec": {} })).unwrap();
    world.grant(granted());
    world.settle();
    let name = bound(&world, &shop());
    assert_ne!(name, derived());
    world.own.delete(kinds::SERVICE, &derived()).unwrap();
    world.own.delete(kinds::SERVICE, &name).unwrap();
    world.settle();
    assert_eq!(bound(&world, &shop()), name);
    assert_eq!(world.own.names(kinds::SERVICE), [name]);
}

/// MCS-8: ports of the derived Service follow the import, and so do its type and its lack of a
/// selector.
#[test]
fn the_derived_service_follows_the_import() {
    type Change = fn(&mut Value);
    let mut world = World::importing();
    let mut other = granted();
    other["ports"] = json!([
        { "name": "web", "protocol": "TCP", "port": 81, "targetPort": "http" },
        { "name": "dns", "protocol": "UDP", "port": 53, "targetPort": 5353 },
    ]);
    world.grant(other.clone());
    world.settle();
    assert_eq!(world.derived().unwrap()["spec"]["ports"], other["ports"]);

    let tamper: [Change; 3] = [
        |service| service["spec"]["ports"] = json!([{ "port": 7, "protocol": "TCP" }]),
        |service| service["spec"]["type"] = json!("ExternalName"),
        |service| service["spec"]["selector"] = json!({ "app": "mine" }),
    ];
    for change in tamper {
        world.edit(kinds::SERVICE, &derived(), change);
        world.settle();
        let spec = &world.derived().unwrap()["spec"];
        assert_eq!(spec["ports"], other["ports"]);
        assert_eq!(spec["type"], "LoadBalancer");
        assert!(spec["selector"].is_null());
    }
}

/// The type is chosen when the Service is made. No other setting changes it, and neither does a rollback: a release
/// that makes another type finds what is there, and so does this one after it.
#[test]
fn the_type_is_chosen_once() {
    let cluster_ip = DerivedServices {
        service_type: DerivedServiceType::ClusterIp,
        load_balancer_class: Some("example.com/vip".to_owned()),
    };
    let mut world = World::importing();
    let address = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } });
    world.edit(kinds::SERVICE, &derived(), |service| service["status"] = address.clone());
    world.settle();
    world.settings.derived_services = cluster_ip.clone();
    assert!(world.plan().is_empty());
    world.own.delete(kinds::SERVICE, &derived()).unwrap();
    world.settle();
    let spec = world.derived().unwrap()["spec"].clone();
    assert_eq!(
        (&spec["type"], &spec["ipFamilyPolicy"]),
        (&json!("ClusterIP"), &json!("PreferDualStack"))
    );
    assert!(spec["loadBalancerClass"].is_null());
    for kept in ["LoadBalancer", "NodePort", "ClusterIP"] {
        world.edit(kinds::SERVICE, &derived(), |service| service["spec"]["type"] = json!(kept));
        assert!(world.plan().is_empty(), "{kept}");
    }
    world.settings.derived_services = DerivedServices::default();
    assert!(world.plan().is_empty());
}

/// The user of an import decides on its type at any time.
#[test]
fn the_annotation_of_the_import_changes_the_type() {
    let mut world = World::importing();
    world.settings.derived_services.load_balancer_class = Some("example.com/vip".to_owned());
    let annotate = |world: &mut World, text: Value| {
        world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), |mcs| {
            mcs["metadata"]["annotations"] = json!({ annotations::DERIVED_SERVICE_TYPE: text });
        });
        let events = world.plan().events;
        world.settle();
        let refused =
            |event: &fleet_plan::Event| event.reason == events::INVALID_DERIVED_SERVICE_TYPE;
        (world.derived().unwrap()["spec"].clone(), events.iter().any(refused))
    };
    let (spec, refused) = annotate(&mut world, json!("ClusterIP"));
    assert_eq!((&spec["type"], refused), (&json!("ClusterIP"), false));
    for invalid in ["ExternalName", "NodePort", ""] {
        let (spec, refused) = annotate(&mut world, json!(invalid));
        assert_eq!((&spec["type"], refused), (&json!("ClusterIP"), true), "{invalid}");
    }
    let (spec, refused) = annotate(&mut world, json!("LoadBalancer"));
    assert_eq!((&spec["type"], refused), (&json!("LoadBalancer"), false));
    assert_eq!(spec["loadBalancerClass"], "example.com/vip");
}

/// `Valid=True` contains why connections fail nevertheless, once that has lasted for a while.
#[test]
fn the_user_reads_which_endpoints_are_not_reached() {
    let mut world = World::importing();
    let message = |world: &World| {
        world.mcs(&shop()).unwrap()["status"]["conditions"][0]["message"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let families = |world: &mut World, families: Value| {
        world.edit(kinds::SERVICE, &derived(), |service| service["spec"]["ipFamilies"] = families);
    };
    families(&mut world, json!(["IPv4"]));
    world.rest();
    assert_eq!(message(&world), "service team/shop is imported");
    families(&mut world, json!(["IPv6"]));
    let plan = world.plan();
    assert!(plan.steps.is_empty() && plan.debounced.len() == 1, "{plan:#?}");
    world.rest();
    let unreached = ", but its endpoints have IPv4 addresses, and its derived service only IPv6";
    assert!(message(&world).ends_with(unreached), "{}", message(&world));
    assert!(world.plan().is_empty());
    families(&mut world, json!(["IPv4", "IPv6"]));
    world.rest();
    assert_eq!(message(&world), "service team/shop is imported");
}

/// A cluster allocates node ports and addresses, and others keep notes: none of it is a difference.
#[test]
fn what_the_cluster_adds_is_left_alone() {
    let mut world = World::importing();
    world.edit(kinds::SERVICE, &derived(), |service| {
        service["spec"]["clusterIP"] = json!("10.0.0.9");
        service["spec"]["ports"][0]["nodePort"] = json!(31_000);
        service["spec"]["ports"][0]["targetPort"] = json!(80);
        service["metadata"]["finalizers"] = json!(["service.kubernetes.io/load-balancer-cleanup"]);
        service["metadata"]["labels"]["example.com/note"] = json!("x");
        service["metadata"]["annotations"]["example.com/note"] = json!("x");
    });
    assert!(world.plan().is_empty());
}

/// MCS-10: every text that Go reads as true asks for an internal load balancer; any other, and the
/// end of the annotation, gives it up.
#[test]
fn an_internal_load_balancer_is_asked_for_and_given_up() {
    let yes = ["1", "t", "T", "TRUE", "true", "True"];
    let no = ["0", "f", "F", "FALSE", "false", "False", "", "perhaps", "tRUE", " true"];
    let key = annotations::SERVICE_AZURE_LOAD_BALANCER_INTERNAL;
    let mut world = World::importing();
    for (text, internal) in
        yes.map(|text| (text, true)).into_iter().chain(no.map(|text| (text, false)))
    {
        let asked = json!({ annotations::AZURE_LOAD_BALANCER_INTERNAL: text });
        for (wanted, internal) in [(asked, internal), (json!({}), false)] {
            world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), |mcs| {
                mcs["metadata"]["annotations"] = wanted.clone();
            });
            world.settle();
            let service = world.derived().unwrap();
            let expected = if internal { json!("true") } else { Value::Null };
            assert_eq!(service["metadata"]["annotations"][key], expected, "{text:?}");
        }
    }
}

/// MCS-15: Services and MultiClusterServices of the same names in different namespaces live side
/// by side; so do those whose joined names collide (`a-b`/`c` and `a`/`b-c`), are too long for a
/// label, or begin with a digit.
#[test]
fn names_that_collide_live_side_by_side() {
    let long = "n".repeat(50);
    let all_mcs = [
        ObjectName::new("team", "shop"),
        ObjectName::new("other", "shop"),
        ObjectName::new("a-b", "c"),
        ObjectName::new("a", "b-c"),
        ObjectName::new("9th", "shop"),
        ObjectName::new(long.as_str(), "a-service-with-a-long-name"),
        ObjectName::new(long.as_str(), "a-service-with-a-long-name-too"),
    ];
    let mut world = World::new();
    for mcs in &all_mcs {
        world.create_mcs(mcs, &mcs.name);
    }
    world.rest_for(&all_mcs);
    for (request, mcs) in requests(&world) {
        let set = |request: &mut Value| request["status"] = granted();
        world.hub.edit(kinds::INTERNAL_SERVICE_IMPORT, &request, set).unwrap();
        let copy = super::copy_of(&mcs, &["10.1.0.1"], &[]);
        let name = on_hub(&format!("x-{}", request.name));
        world.hub.create(kinds::ENDPOINT_SLICE_IMPORT, &name, copy).unwrap();
    }
    world.rest_for(&all_mcs);

    let mut services: Vec<_> = all_mcs.iter().map(|mcs| bound(&world, mcs)).collect();
    for (mcs, service) in all_mcs.iter().zip(&services) {
        assert_eq!(world.valid(mcs).0, "True", "{mcs}");
        assert!(names::is_dns1035_label(&service.name), "{service}");
        let service = world.own.get(kinds::SERVICE, service).expect("a derived Service");
        assert_eq!(
            service["metadata"]["annotations"][annotations::FLEET_SERVICE],
            json!(mcs.to_string())
        );
    }
    services.sort();
    services.dedup();
    assert_eq!(services.len(), all_mcs.len(), "{services:?}");
    assert_eq!(world.own.names(kinds::ENDPOINT_SLICE).len(), all_mcs.len());
    assert_eq!(bound(&world, &all_mcs[0]), derived());
}

/// Requests on the hub with the Service that each asks for.
fn requests(world: &World) -> Vec<(ObjectName, ObjectName)> {
    let names = world.hub.names(kinds::INTERNAL_SERVICE_IMPORT).into_iter();
    names
        .map(|name| {
            let request = world.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &name).unwrap();
            let service = &request["spec"]["serviceImportReference"]["namespacedName"];
            let service = ObjectName::parse(service.as_str().unwrap()).unwrap();
            (name, service)
        })
        .collect()
}

fn bound(world: &World, mcs: &ObjectName) -> ObjectName {
    let mcs = world.mcs(mcs).unwrap();
    system(mcs["metadata"]["labels"][labels::DERIVED_SERVICE].as_str().unwrap())
}

/// `team-a/shop` and `team/a-shop` have the same first choice: the older one gets it, whichever is planned first.
#[test]
fn who_gets_a_name_does_not_depend_on_the_order_of_plans() {
    let both = [ObjectName::new("team-a", "shop"), ObjectName::new("team", "a-shop")];
    let names = |order: [usize; 2]| {
        let mut world = World::new();
        for mcs in &both {
            world.create_mcs(mcs, &mcs.name);
        }
        world.settle_for(&order.map(|at| both[at].clone()));
        let names = both.each_ref().map(|mcs| bound(&world, mcs).name.to_string());
        assert_ne!(names[0], names[1]);
        assert!(names.iter().any(|name| name == "team-a-shop"), "{names:?}");
        names
    };
    assert_eq!(names([0, 1]), names([1, 0]));
}

/// Before names were claimed by age, the first one planned got it, and clients know it by that.
#[test]
fn a_name_stays_with_the_younger_one_that_has_it() {
    let (older, younger) = (ObjectName::new("team-a", "shop"), ObjectName::new("team", "a-shop"));
    let mut world = World::new();
    world.create_mcs(&older, "shop");
    world.own.advance(10);
    world.create_mcs(&younger, "a-shop");
    world.edit(kinds::MULTI_CLUSTER_SERVICE, &younger, |mcs| {
        mcs["metadata"]["labels"] = json!({ labels::DERIVED_SERVICE: "team-a-shop" });
    });
    world.settle_for(&[younger.clone(), older.clone()]);
    assert_eq!(bound(&world, &younger), system("team-a-shop"));
    assert_ne!(bound(&world, &older), system("team-a-shop"));
}

/// The user learns of it.
#[test]
fn a_derived_service_of_another_name_is_reported() {
    let mut world = World::waiting();
    world.own.create(kinds::SERVICE, &derived(), json!({ "spec": {} })).unwrap();
    world.rest();
    world.grant(granted());
    let plan = world.plan();
    let taken = plan.events.iter().find(|event| event.reason == events::NAME_TAKEN).unwrap();
    assert!(taken.note.contains("team-shop"), "{taken:?}");
    world.settle();
    assert_ne!(bound(&world, &shop()), derived());
    assert!(!World::importing().reasons().contains(&events::NAME_TAKEN));
}

/// While other Services have every name the MultiClusterService reports that; it takes the first that
/// is freed.
#[test]
fn when_all_names_are_taken_the_mcs_says_so() {
    let mut world = World::waiting();
    world.edit(kinds::MULTI_CLUSTER_SERVICE, &shop(), |mcs| mcs["metadata"]["labels"] = json!({}));
    let candidates: Vec<_> = names::derived_service_candidates(&shop()).collect();
    for name in &candidates {
        world.own.create(kinds::SERVICE, &system(name), json!({ "spec": {} })).unwrap();
    }
    world.grant(granted());
    world.rest();
    assert_eq!(world.reasons(), [events::NO_FREE_NAME]);
    let (status, message) = world.valid(&shop());
    assert_eq!(status, "Unknown");
    assert!(message.contains("no free name"), "{message}");

    let freed = system(candidates.last().unwrap());
    let before = world.snapshot();
    world.own.delete(kinds::SERVICE, &freed).unwrap();
    assert_eq!(super::namespaces::marked(&world, &before), ["team/shop"]);
    world.settle();
    assert_eq!(bound(&world, &shop()), freed);
    assert_eq!(world.valid(&shop()).0, "True");
}

/// MCS-9: without exporters the derived Service goes, whether or not it still is there, and the
/// address with it. The label stays: it is output only (docs/design/rules.md#derived-service-label).
#[test]
fn a_lost_import_takes_service_and_address_along() {
    for gone_already in [false, true] {
        let mut world = World::importing();
        world.edit(kinds::SERVICE, &derived(), |service| {
            service["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } });
        });
        world.settle();
        if gone_already {
            world.own.delete(kinds::SERVICE, &derived()).unwrap();
        }
        world.revoke();
        let told = if gone_already { vec![] } else { vec![events::UNIMPORTED_SERVICE] };
        assert_eq!(world.reasons(), told);
        world.rest();
        assert!(world.derived().is_none());
        assert_eq!(world.mcs(&shop()).unwrap()["status"]["loadBalancer"], json!({}));
        assert_eq!(world.valid(&shop()).0, "Unknown");
    }
}

/// A second derived Service of one MultiClusterService, left by a handover, is deleted.
#[test]
fn one_derived_service_is_enough() {
    let mut world = World::importing();
    let object = json!({
        "metadata": { "labels": {
            labels::MULTI_CLUSTER_SERVICE_NAMESPACE: "team",
            labels::MULTI_CLUSTER_SERVICE_NAME: "shop",
        }},
        "spec": { "type": "LoadBalancer" },
    });
    world.own.create(kinds::SERVICE, &system("a-team-shop"), object).unwrap();
    world.settle();
    assert_eq!(world.own.names(kinds::SERVICE), [derived()]);
}
