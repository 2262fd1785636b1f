//! One row per thing that can go wrong: what a user did, and the sentence it is answered with.

use fleet_accumulator::SourceState;
use fleet_api::{ObjectName, annotations, finalizers, kinds};
use serde_json::{Value, json};

use super::world::{World, home, namespace, web};
use crate::picture::Picture;
use crate::story::{Cause, State, Story};

/// Something that goes wrong.
type Act = Box<dyn FnOnce(&mut World)>;

/// What is told of a fleet in which one thing was done.
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
    assert_eq!(story.verdict, "shop/web crosses from east to west");
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
        &["before it begins", "no member has a Service of that name"],
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

#[test]
fn an_agent_that_says_what_holds_it_up() {
    let mut world = World::exported();
    world.import("west");
    let mut picture = world.picture();
    let note = "nothing changes for it until this works: endpointsliceimports: list is forbidden";
    picture.held_up.insert("west".to_owned(), note.to_owned());
    let story = crate::explain(&picture, &web());
    stops(&story, Cause::AgentHeldUp, &["in west", "has yet to", "held up", "list is forbidden"]);

    world.settle();
    let picture = Picture { held_up: picture.held_up, ..world.picture() };
    assert!(!crate::explain(&picture, &web()).stops(), "what is over does not matter");
}

/// What the user did is told the same after the agents have dealt with it.
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
    stops(&story, Cause::HubImportHeld, &["held by example.com/mine"]);

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
    assert!(story.advice.unwrap().contains("the ports it has in east"));

    let story = told(World::shared(), |world| {
        world.serve("west", 8080, "10.2.0.1");
        world.export("west");
        world.settle();
    });
    stops(&story, Cause::Conflict, &["crosses from east to west, but stops in west"]);
}

#[test]
fn the_importer_stops_it() {
    let derived = || ObjectName::new("fleet-system", "shop-web");
    let story = told(World::exported(), |world| {
        world.own("west").delete(kinds::NAMESPACE, &namespace("fleet-system")).unwrap();
        world.import("west");
        world.settle();
    });
    stops(&story, Cause::SystemNamespaceMissing, &["in west", "fleet-system", "does not exist"]);

    let story = told(World::shared(), |world| {
        world.own("west").delete(kinds::SERVICE, &derived()).unwrap();
    });
    stops(&story, Cause::DerivedServiceMissing, &["in west", "fleet-system/shop-web is missing"]);

    let story = told(World::shared(), |world| {
        world.import_as("west", "again");
        world.settle();
    });
    stops(&story, Cause::ImportHeldHere, &["shop/web has imported the Service already"]);

    let story = told(World::exported(), |world| {
        world.own("west").create(kinds::SERVICE_IMPORT, &web(), json!({})).unwrap();
        world.import("west");
        world.settle();
    });
    stops(&story, Cause::ImportForeign, &["belongs to no MultiClusterService"]);

    let story = told(World::shared(), |world| {
        world.own("west").delete(kinds::MULTI_CLUSTER_SERVICE, &web()).unwrap();
    });
    stops(&story, Cause::ImportTerminating, &["in west", "being deleted"]);

    let story = told(World::exported(), |world| {
        world.import("west");
        world.settle_all_but("west");
    });
    stops(&story, Cause::AgentBehind, &["in west", "has yet to"]);

    let story = told(World::shared(), |world| {
        let mut slices = world.own("west").names(kinds::ENDPOINT_SLICE);
        let slice = slices.pop().unwrap();
        world.own("west").delete(kinds::ENDPOINT_SLICE, &slice).unwrap();
    });
    stops(&story, Cause::AgentBehind, &["in west", "create EndpointSlice"]);
}

/// What nobody does on purpose.
#[test]
fn rare_ways_to_get_no_further() {
    let story = told(World::exported(), |world| {
        let name = ObjectName::new("fleet-system", "shop-web");
        world.own("west").create(kinds::SERVICE, &name, json!({ "spec": {} })).unwrap();
        for name in fleet_api::names::derived_service_candidates(&web()).skip(1) {
            let name = ObjectName::new("fleet-system", name);
            world.own("west").create(kinds::SERVICE, &name, json!({ "spec": {} })).unwrap();
        }
        world.import("west");
        world.settle();
    });
    stops(&story, Cause::NoFreeName, &["in west", "every name for its derived Service"]);

    let mut world = World::new();
    world.settle();
    for name in fleet_api::names::internal_export_candidates(&web()) {
        let export = json!({ "spec": { "ports": [], "serviceReference": {
            "clusterId": "east", "kind": "Service", "namespace": "shop", "name": "other",
            "namespacedName": "shop/other", "resourceVersion": "1", "generation": 1, "uid": "u",
        } } });
        let name = ObjectName::new(home("east"), name);
        world.hub.create(kinds::INTERNAL_SERVICE_EXPORT, &name, export).unwrap();
    }
    world.serve("east", 80, "10.1.0.1");
    let guarded = json!({ "metadata": { "finalizers": [finalizers::SERVICE_EXPORT] } });
    world.own("east").create(kinds::SERVICE_EXPORT, &web(), guarded).unwrap();
    stops(
        &world.explain(),
        Cause::NoFreeName,
        &["in east", "fleet-member-east of the hub is taken"],
    );

    let story = told(World::shared(), |world| {
        world.edit("west", kinds::NAMESPACE, &namespace("shop"), |namespace| {
            namespace["metadata"]["finalizers"] = json!(["x"]);
        });
        world.own("west").delete(kinds::NAMESPACE, &namespace("shop")).unwrap();
    });
    stops(&story, Cause::NamespaceTerminating, &["in west", "being deleted"]);

    let request = ObjectName::new(home("west"), "shop-web");
    let story = told(World::shared(), |world| {
        world.edit("hub", kinds::INTERNAL_SERVICE_IMPORT, &request, |request| {
            request["status"] = json!({});
        });
    });
    assert!(story.hops.iter().any(|hop| hop.cause == Some(Cause::NotGranted)), "{story:#?}");
    stops(&story, Cause::HubAgentBehind, &["patch status InternalServiceImport"]);
}

/// Nothing leaves or enters the agents' own namespace.
#[test]
fn the_agents_namespace_takes_no_part() {
    let service = ObjectName::new("fleet-system", "web");
    let mut world = World::new();
    world.settle();
    let spec = json!({ "spec": { "type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{ "port": 80 }] } });
    world.own("east").create(kinds::SERVICE, &service, spec).unwrap();
    world.own("east").create(kinds::SERVICE_EXPORT, &service, json!({})).unwrap();
    let wish = json!({ "spec": { "serviceImport": { "name": "web" } } });
    world.own("west").create(kinds::MULTI_CLUSTER_SERVICE, &service, wish).unwrap();
    let story = crate::explain(&world.picture(), &service);
    let causes: Vec<_> = story.hops.iter().filter_map(|hop| hop.cause).collect();
    assert_eq!(causes, [Cause::SystemNamespace, Cause::SystemNamespace], "{story:#?}");
}

#[test]
fn an_import_that_another_cluster_holds_alone() {
    let story = told(World::exported(), |world| {
        world.exclusive = true;
        world.import("east");
        world.settle();
        world.import("west");
        world.settle();
        // As the tool sees it: the hub does not say how its agent was started.
        world.exclusive = false;
    });
    stops(&story, Cause::ImportHeldByCluster, &["in west", "cluster east holds the import alone"]);
}

#[test]
fn a_member_that_does_not_take_part() {
    let story = told(World::shared(), |world| world.hub.advance(400));
    stops(&story, Cause::MemberSilent, &["heard of last 6m ago", "its endpoints stay"]);

    let story = told(World::new(), |world| {
        world.serve("east", 80, "10.1.0.1");
        world.export("east");
    });
    stops(&story, Cause::MemberSilent, &["in east", "never reported"]);

    let leave = |world: &mut World| {
        let at = ObjectName::new(home("west"), "west");
        let leave = |record: &mut Value| record["spec"]["state"] = json!("Leave");
        world.edit("hub", kinds::INTERNAL_MEMBER_CLUSTER, &at, leave);
    };
    stops(&told(World::shared(), leave), Cause::MemberLeaving, &["in west", "told to leave"]);
    let story = told(World::shared(), |world| {
        leave(world);
        world.settle();
        world.import("west");
        world.settle();
    });
    stops(&story, Cause::MemberLeft, &["in west", "has left"]);
    assert_eq!(story.advice.as_deref(), Some("fleetctl join west"));

    let story = told(World::new(), |world| {
        world.hub.delete(kinds::NAMESPACE, &namespace("fleet-member-east")).unwrap();
        world.serve("east", 80, "10.1.0.1");
        world.export("east");
    });
    stops(&story, Cause::MemberHomeMissing, &["in east", "no namespace fleet-member-east"]);
}

#[test]
fn what_cannot_be_read_is_told_before_anything_else() {
    let since = std::time::Instant::now();
    let forbidden = SourceState::Forbidden { since, verb: "list", message: "not you".into() };
    let mut picture = World::shared().picture();
    picture.hub.slice_exports = picture.hub.slice_exports.clone().in_state(forbidden.clone());
    let story = crate::explain(&picture, &web());
    stops(&story, Cause::NoRight, &["on the hub", "endpointsliceexports", "not you"]);

    let mut picture = World::shared().picture();
    picture.hub.internal_exports =
        picture.hub.internal_exports.clone().in_state(SourceState::Missing { since });
    stops(
        &crate::explain(&picture, &web()),
        Cause::DefinitionMissing,
        &["internalserviceexports are not served"],
    );

    let mut picture = World::shared().picture();
    picture.hub.namespaces = picture.hub.namespaces.clone().in_state(SourceState::Listing);
    stops(&crate::explain(&picture, &web()), Cause::NotRead, &["no answer in time"]);

    let mut picture = World::shared().picture();
    let west = &mut picture.members.get_mut("west").unwrap().snapshot;
    west.multi_cluster_services = west.multi_cluster_services.clone().in_state(forbidden);
    stops(&crate::explain(&picture, &web()), Cause::NoRight, &["in west", "multiclusterservices"]);
}

#[test]
fn a_member_that_is_not_seen_is_told_from_the_hub() {
    let story = told(World::shared(), |world| world.blind = Some("west"));
    assert!(!story.stops(), "{story:#?}");
    assert!(story.hops.iter().any(|hop| hop.says == "granted, with 1 endpoint"), "{story:#?}");
    let unseen = story.hops.iter().filter(|hop| hop.state == State::Unseen);
    assert_eq!(unseen.map(|hop| hop.cluster.as_str()).collect::<Vec<_>>(), ["west"]);

    let story = told(World::shared(), |world| world.blind = Some("east"));
    assert_eq!(story.verdict, "shop/web crosses from east to west");

    let story = told(World::exported(), |world| world.blind = Some("west"));
    stops(&story, Cause::NotImported, &["no member that is seen imports it (not seen: west)"]);
}
