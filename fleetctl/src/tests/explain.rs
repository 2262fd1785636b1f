//! One row per thing that can go wrong: what a user did, and the sentence it is answered with.

mod importer;
mod member;
mod rare;

use fleet_api::{ObjectName, annotations, kinds};
use serde_json::{Value, json};

use super::world::{World, home, namespace, web};
use crate::story::{Cause, Story};

/// Something that goes wrong.
type Act = Box<dyn FnOnce(&mut World)>;

/// The explanation of a fleet after one change.
fn told(mut world: World, act: impl FnOnce(&mut World)) -> Story {
    act(&mut world);
    world.explain()
}

/// The story stops first for `cause`, and its verdict holds all of `words`.
#[track_caller]
fn stops(story: &Story, cause: Cause, words: &[&str]) {
    assert_eq!(story.cause(), Some(cause), "{story:#?}");
    for word in words {
        assert!(story.verdict.contains(word), "{word:?} is not in: {}", story.verdict);
    }
    assert!(story.advice.is_some(), "{story:#?}");
}

#[test]
fn a_service_that_crosses_is_told_with_its_hops() {
    let story = World::shared().explain();
    assert_eq!(story.verdict, "shop/web works from east to west");
    assert!(!story.stops(), "{story:#?}");
    assert_eq!(story.crossings[0].endpoints, 1);
    let clusters: Vec<_> = story.hops.iter().map(|hop| hop.cluster.as_str()).collect();
    assert_eq!(clusters, ["east", "west", "east", "east", "east", "hub", "west", "west"]);
}

#[test]
fn before_the_agents_do_anything() {
    let story = World::new().explain();
    stops(
        &story,
        Cause::NotExported,
        &["at its beginning", "no member has a Service of that name"],
    );
    let story = told(World::new(), |world| world.serve("east", 80, "10.1.0.1"));
    stops(&story, Cause::NotExported, &["no ServiceExport for the Service in east"]);
    assert!(story.advice.unwrap().contains("kubectl --context east apply"));
    let story = told(World::new(), |world| {
        world.import("west");
        world.settle();
    });
    stops(&story, Cause::NotExported, &["it is imported, but no member has"]);
    let story = World::exported().explain();
    stops(&story, Cause::NotImported, &["exported, and no member imports it"]);
    let story = told(World::exported(), |world| {
        world.own("west").delete(kinds::NAMESPACE, &namespace("shop")).unwrap();
    });
    stops(&story, Cause::NotImported, &["there is no namespace shop in west"]);
}

/// The export in east is spoiled in one way each.
#[test]
fn the_exporter_stops_it() {
    let weigh = |weight: &'static str| {
        move |world: &mut World| {
            world.edit("east", kinds::SERVICE_EXPORT, &web(), |export| {
                export["metadata"]["annotations"][annotations::WEIGHT] = json!(weight);
            });
        }
    };
    let edit_service = |change: fn(&mut Value)| {
        move |world: &mut World| world.edit("east", kinds::SERVICE, &web(), change)
    };
    let table: Vec<(Act, Cause, &[&str])> = vec![
        (Box::new(weigh("0")), Cause::WeightZero, &["in east", "weight is 0"]),
        (Box::new(weigh("much")), Cause::WeightInvalid, &["in east", "much"]),
        (
            Box::new(|world| world.own("east").delete(kinds::SERVICE, &web()).unwrap()),
            Cause::ServiceNotFound,
            &["in east", "no Service shop/web"],
        ),
        (
            Box::new(edit_service(|service| service["spec"]["clusterIP"] = json!("None"))),
            Cause::ServiceIneligible,
            &["headless"],
        ),
        (
            Box::new(edit_service(|service| service["spec"]["type"] = json!("ExternalName"))),
            Cause::ServiceIneligible,
            &["ExternalName"],
        ),
        (
            Box::new(|world| world.own("east").delete(kinds::SERVICE_EXPORT, &web()).unwrap()),
            Cause::ExportTerminating,
            &["being deleted", "svc-export-cleanup"],
        ),
        (
            Box::new(|world| {
                let slice = ObjectName::new("shop", "web-1");
                world.own("east").delete(kinds::ENDPOINT_SLICE, &slice).unwrap();
            }),
            Cause::NoEndpoints,
            &["in east", "no ready endpoint"],
        ),
        (
            Box::new(|world| {
                world.edit("east", kinds::SERVICE, &web(), |service| {
                    service["spec"]["ports"][0]["port"] = json!(81);
                });
            }),
            Cause::AgentBehind,
            &["its agent has yet to patch InternalServiceExport"],
        ),
    ];
    for (act, cause, words) in table {
        stops(&told(World::shared(), act), cause, words);
    }
}

/// The cause that a user made is reported in the same way after the agents have reacted.
#[test]
fn the_reason_stays_when_the_agents_have_worked() {
    for (weight, cause) in [("0", Cause::WeightZero), ("much", Cause::WeightInvalid)] {
        let story = told(World::shared(), |world| {
            world.edit("east", kinds::SERVICE_EXPORT, &web(), |export| {
                export["metadata"]["annotations"][annotations::WEIGHT] = json!(weight);
            });
            world.settle();
        });
        assert_eq!(story.cause(), Some(cause), "{story:#?}");
    }
    let story = told(World::shared(), |world| {
        world.own("east").delete(kinds::SERVICE, &web()).unwrap();
        world.settle();
    });
    stops(&story, Cause::ServiceNotFound, &["no Service shop/web"]);
}

#[test]
fn the_hub_stops_it() {
    let story = told(World::new(), |world| {
        world.hub.delete(kinds::NAMESPACE, &namespace("shop")).unwrap();
        world.serve("east", 80, "10.1.0.1");
        world.export("east");
        world.settle();
    });
    stops(&story, Cause::HubNamespaceMissing, &["on the hub", "no namespace shop"]);
    assert_eq!(story.advice.as_deref(), Some("kubectl --context hub create namespace shop"));

    let story = told(World::shared(), |world| {
        world.edit("hub", kinds::NAMESPACE, &namespace("shop"), |namespace| {
            namespace["metadata"]["finalizers"] = json!(["x"]);
        });
        world.hub.delete(kinds::NAMESPACE, &namespace("shop")).unwrap();
    });
    stops(&story, Cause::NamespaceTerminating, &["namespace shop of the hub is being deleted"]);

    let story = told(World::shared(), |world| {
        world.edit("hub", kinds::SERVICE_IMPORT, &web(), |import| {
            import["metadata"]["finalizers"] = json!(["example.com/mine"]);
        });
        world.hub.delete(kinds::SERVICE_IMPORT, &web()).unwrap();
    });
    stops(&story, Cause::HubImportHeld, &["waits for the finalizers example.com/mine"]);

    let story = told(World::exported(), |world| {
        world.import("west");
        world.settle_all_but("hub");
    });
    stops(
        &story,
        Cause::HubAgentBehind,
        &["the hub agent has yet to patch ServiceImport shop/web"],
    );

    let story = told(World::shared(), |world| {
        let export = ObjectName::new(home("east"), "shop-web");
        world.edit("hub", kinds::INTERNAL_SERVICE_EXPORT, &export, |export| {
            export["spec"]["serviceReference"]["clusterId"] = json!("north");
        });
    });
    assert!(story.hops.iter().any(|hop| hop.cause == Some(Cause::ReferenceRefused)), "{story:#?}");

    let story = told(World::shared(), |world| {
        let export = ObjectName::new(home("east"), "shop-web");
        world.edit("hub", kinds::INTERNAL_SERVICE_EXPORT, &export, |export| {
            export["spec"]["ports"][0]["name"] = json!("x".repeat(64));
        });
    });
    assert!(story.hops.iter().any(|hop| hop.cause == Some(Cause::LimitExceeded)), "{story:#?}");
}

/// The flags of the agents are known by what they have refused.
#[test]
fn a_denied_namespace_is_named() {
    let refused = json!({ "conditions": [{
        "type": "Valid", "status": "False", "reason": "NamespaceDenied", "message": "rejected",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
    }] });
    let story = told(World::new(), |world| {
        world.settle();
        world.serve("east", 80, "10.1.0.1");
        world.export("east");
        let status = refused.clone();
        world.edit("east", kinds::SERVICE_EXPORT, &web(), |export| export["status"] = status);
    });
    stops(&story, Cause::NamespaceDenied, &["in east", "no Service of namespace shop is exported"]);

    let story = told(World::exported(), |world| {
        let export = ObjectName::new(home("east"), "shop-web");
        let status = refused.clone();
        world.edit("hub", kinds::INTERNAL_SERVICE_EXPORT, &export, |ise| ise["status"] = status);
    });
    let cause = Some(Cause::NamespaceDenied);
    assert!(story.hops.iter().any(|hop| hop.cause == cause), "{story:#?}");
}

#[test]
fn a_member_that_exports_too_many_services_is_named() {
    let rejected = json!({ "conditions": [{
        "type": "Valid", "status": "False", "reason": "LimitExceeded",
        "message": "rejected: too many (--max-services-per-member=0)",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
    }] });
    let story = told(World::exported(), |world| {
        let export = ObjectName::new(home("east"), "shop-web");
        world.edit("hub", kinds::INTERNAL_SERVICE_EXPORT, &export, |ise| ise["status"] = rejected);
    });
    let hop = story.hops.iter().find(|hop| hop.cause == Some(Cause::LimitExceeded)).unwrap();
    assert!(hop.says.contains("exports as many services as the hub accepts"), "{hop:?}");
}

#[test]
fn what_the_member_policy_does_not_list_is_named() {
    let give = |world: &mut World, member: &str, exports: &str, imports: &str| {
        let data = json!({ "cidrs": "", "exports": exports, "imports": imports });
        let name = ObjectName::new(home(member), "member-policy");
        world.hub.create(kinds::CONFIG_MAP, &name, json!({ "data": data })).unwrap();
    };
    let story = told(World::shared(), |world| {
        give(world, "west", "*", "shop/other");
        world.settle();
    });
    let says = "the member policy does not list shop/web among its imports";
    stops(&story, Cause::PolicyDenied, &["in west", says]);
    let advice = story.advice.unwrap();
    assert!(advice.contains("-n fleet-member-west edit configmap member-policy"), "{advice}");
    let story = told(World::shared(), |world| {
        give(world, "east", "", "*");
        world.settle();
    });
    let says = "the member policy does not list shop/web among its exports";
    stops(&story, Cause::PolicyDenied, &["in east", says]);
}

#[test]
fn a_conflict_names_whom_since_when_and_what() {
    let story = told(World::exported(), |world| {
        world.serve("west", 8080, "10.2.0.1");
        world.export("west");
        world.settle();
    });
    stops(
        &story,
        Cause::Conflict,
        &["in west", "differ from those of cluster east", "since 2026-01-01T", "port TCP/8080"],
    );
    assert!(story.advice.unwrap().contains("the ports that it has in east"));

    let story = told(World::shared(), |world| {
        world.serve("west", 8080, "10.2.0.1");
        world.export("west");
        world.settle();
    });
    stops(&story, Cause::Conflict, &["works from east to west, but stops in west"]);
}
