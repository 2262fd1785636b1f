//! Where an export stops in its own cluster.

use fleet_api::{ObjectName, annotations, kinds};
use serde_json::{Value, json};

use super::super::world::{World, home, namespace, web};
use super::{explained, has_hop, stops};
use crate::story::Cause;

/// Something that goes wrong.
type Act = Box<dyn FnOnce(&mut World)>;

fn edit_service(change: fn(&mut Value)) -> Act {
    Box::new(move |world: &mut World| world.edit("east", kinds::SERVICE, &web(), change))
}

/// Each is reported in the same way before and after the agents react.
#[test]
fn the_export_is_spoiled_in_one_way_each() {
    type Way = (fn() -> Act, Cause, &'static [&'static str]);
    let table: Vec<Way> = vec![
        (
            || Box::new(|world| world.own("east").delete(kinds::SERVICE, &web()).unwrap()),
            Cause::ServiceNotFound,
            &["in east", "no Service shop/web"],
        ),
        (
            || edit_service(|service| service["spec"]["type"] = json!("ExternalName")),
            Cause::ServiceIneligible,
            &["ExternalName"],
        ),
        (
            || {
                edit_service(|service| {
                    service["metadata"]["annotations"][annotations::FLEET_SERVICE] = json!("a/b");
                })
            },
            Cause::ServiceIneligible,
            &["made for an import"],
        ),
        (
            || {
                edit_service(|service| {
                    let port = |number: i32| json!({ "name": format!("p{number}"), "protocol": "TCP", "port": number });
                    service["spec"]["ports"] = (1..=101).map(port).collect();
                })
            },
            Cause::LimitExceeded,
            &["101 ports"],
        ),
        (
            || {
                Box::new(|world| {
                    let slice = ObjectName::new("shop", "web-1");
                    world.own("east").delete(kinds::ENDPOINT_SLICE, &slice).unwrap();
                })
            },
            Cause::NoEndpoints,
            &["in east", "no ready endpoint"],
        ),
    ];
    for (act, cause, words) in table {
        stops(&explained(World::standard_shared(), act()), cause, words);
        let settled = |world: &mut World| {
            act()(world);
            world.settle();
        };
        stops(&explained(World::standard_shared(), settled), cause, words);
    }
}

#[test]
fn a_service_export_that_is_being_deleted() {
    let story = explained(World::standard_shared(), |world| {
        world.edit("east", kinds::MCS_SERVICE_EXPORT, &web(), |export| {
            export["metadata"]["finalizers"] = json!(["example.com/mine"]);
        });
        world.own("east").delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
    });
    stops(&story, Cause::ExportTerminating, &["in east", "example.com/mine"]);
}

#[test]
fn a_service_without_address_waits() {
    let story = explained(World::standard(), |world| {
        world.serve("east", 80, "10.1.0.1");
        world.edit("east", kinds::SERVICE, &web(), |service| {
            service["spec"]["clusterIP"] = json!("");
        });
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::NoAddress, &["in east", "no cluster IP yet"]);
}

#[test]
fn another_implementation_serves_the_service() {
    let story = explained(World::standard(), |world| {
        let import = json!({ "spec": { "type": "ClusterSetIP", "ports": [] } });
        world.own("east").create(kinds::MCS_SERVICE_IMPORT, &web(), import).unwrap();
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::ImportForeign, &["in east", "another implementation"]);
}

#[test]
fn a_cluster_with_another_name_of_its_own() {
    let story = explained(World::standard(), |world| {
        let property = json!({ "spec": { "value": "orient" } });
        let name = ObjectName::cluster("cluster.clusterset.k8s.io");
        world.own("east").create(kinds::CLUSTER_PROPERTY, &name, property).unwrap();
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::OtherClusterId, &["in east", "the id orient, and not east"]);
}

#[test]
fn a_hub_agent_that_serves_the_api_no_more_or_not_yet() {
    let mut world = World::standard();
    world.serving.remove("hub");
    let reports = world.hub.names(kinds::CLUSTER_REPORT);
    for report in reports {
        world.edit("hub", kinds::CLUSTER_REPORT, &report, |report| report["status"] = json!({}));
    }
    let story = explained(world, |world| {
        world.serve("east", 80, "10.1.0.1");
        world.export_standard("east");
        world.settle();
    });
    stops(&story, Cause::NotAccepted, &["in east", "has not accepted east"]);
    has_hop(&story, "hub", "hub agent", &["has accepted no member"]);
}

#[test]
fn an_agent_that_is_behind() {
    let story = explained(World::standard_shared(), |world| {
        world.edit("east", kinds::SERVICE, &web(), |service| {
            service["spec"]["ports"][0]["port"] = json!(81);
        });
    });
    stops(&story, Cause::AgentBehind, &["in east", "has yet to update ExportedService"]);

    // Endpoints travel by the other controller.
    let story = explained(World::standard_shared(), |world| {
        let slice = ObjectName::new("shop", "web-1");
        world.edit("east", kinds::ENDPOINT_SLICE, &slice, |slice| {
            slice["endpoints"] = json!([{ "addresses": ["10.1.0.9"] }]);
        });
    });
    stops(&story, Cause::AgentBehind, &["in east", "EndpointSliceExport"]);
}

#[test]
fn what_stays_on_the_hub_after_the_service_export_is_a_missing_write() {
    let story = explained(World::standard_shared(), |world| {
        world.own("east").delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
    });
    stops(&story, Cause::AgentBehind, &["in east", "delete ExportedService"]);
    let story = explained(World::standard_shared(), |world| {
        world.own("east").delete(kinds::MCS_SERVICE_EXPORT, &web()).unwrap();
        world.settle();
    });
    stops(&story, Cause::NotExported, &["no ServiceExport for the Service in east"]);
}

#[test]
fn a_member_that_left_or_lost_its_place() {
    let story = explained(World::standard_shared(), |world| {
        world.hub.delete(kinds::NAMESPACE, &namespace(&home("east"))).unwrap();
    });
    stops(&story, Cause::MemberHomeMissing, &["in east"]);
}

#[test]
fn the_agents_own_namespace() {
    let service = ObjectName::new("fleet-system", "web");
    let mut world = World::standard();
    let spec = json!({ "spec": { "type": "ClusterIP", "ports": [{ "port": 80 }] } });
    world.own("east").create(kinds::SERVICE, &service, spec).unwrap();
    world.own("east").create(kinds::MCS_SERVICE_EXPORT, &service, json!({})).unwrap();
    world.settle();
    let story = crate::explain(&world.picture(), &service);
    stops(&story, Cause::SystemNamespace, &["the agents' own namespace"]);
}

#[test]
fn an_agent_that_takes_back_what_it_made() {
    let story = explained(World::standard_shared(), |world| {
        let condition = json!({ "type": "Ready", "status": "False", "reason": "Failed",
            "message": "the member agent deletes what it made for this API (--multicluster=clean-up)",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1 });
        world.edit("east", kinds::MCS_SERVICE_EXPORT, &web(), |export| {
            export["status"] = json!({ "conditions": [condition] });
        });
    });
    stops(&story, Cause::StandardOff, &["in east", "--multicluster=clean-up"]);
}
