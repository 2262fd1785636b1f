//! The model of pictures.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use fleet_accumulator::{ClusterId, SourceState};
use fleet_api::{ObjectName, kinds};
use fleet_model_server::ModelServer;
use jiff::SignedDuration;
use serde_json::json;

use super::world::{World, home, namespace};
use crate::picture::Picture;
use crate::status::status;
use crate::story::Cause;
use crate::view::{Edge, Endpoints, ServiceView, View, view};

fn of(world: &World) -> View {
    let picture = world.picture();
    view(&picture, status(&picture), &[])
}

fn only(found: View) -> ServiceView {
    let [service] = <[_; 1]>::try_from(found.services).unwrap();
    Arc::unwrap_or_clone(service)
}

fn causes(edges: &[Edge]) -> Vec<(&str, Option<Cause>)> {
    let cause = |edge: &Edge| edge.finding.as_ref().map(|finding| finding.cause);
    edges.iter().map(|edge| (edge.member.as_str(), cause(edge))).collect()
}

#[test]
fn a_service_that_works_has_endpoints_on_both_sides() {
    let mut world = World::shared();
    world.hub.advance(7);
    let found = of(&world);
    let at = found.at;
    let states: Vec<_> = found.members.iter().map(|it| (it.state, it.reaches_hub)).collect();
    assert_eq!(states, [("Joined", Some(true)); 2]);
    let service = only(found);
    assert_eq!((service.namespace.as_str(), service.name.as_str()), ("shop", "web"));
    assert_eq!(service.findings().count(), 0, "{service:?}");
    assert!(service.verdict.contains("works from east to west"), "{}", service.verdict);
    for (edges, member) in [(&service.exporters, "east"), (&service.importers, "west")] {
        assert_eq!(causes(edges), [(member, None)]);
        assert_eq!(edges[0].endpoints, Endpoints { ready: 1, draining: 0 });
        let changed = edges[0].changed.unwrap();
        assert!(at.duration_since(changed).as_secs() >= 7, "{edges:?}");
    }
    assert_eq!((&*service.ports, service.headless), (&["80/TCP http".to_owned()][..], false));
}

#[test]
fn endpoints_that_drain_are_counted_on_both_sides() {
    let mut world = World::shared();
    world.edit("east", kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-1"), |slice| {
        let draining = json!({ "ready": false, "serving": true, "terminating": true });
        slice["endpoints"] = json!([
            { "addresses": ["10.1.0.1"] }, { "addresses": ["10.1.0.2"], "conditions": draining },
        ]);
    });
    world.hub.advance(5);
    world.settle();
    let service = only(of(&world));
    let both = Endpoints { ready: 1, draining: 1 };
    assert_eq!([service.exporters[0].endpoints, service.importers[0].endpoints], [both; 2]);
}

/// What explain finds in a member is put on the side of the path where it is.
#[test]
fn a_cause_is_on_the_side_where_it_lies() {
    let mut world = World::shared();
    world.own("east").delete(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", "web-1")).unwrap();
    world.hub.advance(5);
    world.settle();
    let service = only(of(&world));
    assert_eq!(causes(&service.exporters), [("east", Some(Cause::NoEndpoints))]);
    let finding = service.exporters[0].finding.as_ref().unwrap();
    assert!(finding.advice.as_ref().is_some_and(|it| it.contains("kubectl --context east")));

    let mut world = World::shared();
    let derived = ObjectName::new("fleet-system", "shop-web");
    world.own("west").delete(kinds::SERVICE, &derived).unwrap();
    let service = only(of(&world));
    assert_eq!(causes(&service.exporters), [("east", None)]);
    assert!(service.importers[0].finding.is_some(), "{service:?}");
}

#[test]
fn what_stops_on_the_hub_is_on_the_service() {
    let mut world = World::shared();
    world.hub.delete(kinds::NAMESPACE, &namespace("shop")).ok();
    let service = only(of(&world));
    assert!(service.finding.is_some(), "{service:?}");
}

/// An export that no member imports, and a request that the hub has not seen.
#[test]
fn what_has_one_side_only_is_there() {
    let service = only(of(&World::exported()));
    assert_eq!((service.exporters.len(), service.importers.len()), (1, 0));
    assert_eq!(service.finding.map(|finding| finding.cause), Some(Cause::NotImported));

    let mut world = World::new();
    world.import("west");
    let service = only(of(&world));
    assert_eq!((service.exporters.len(), service.importers.len()), (0, 1));
}

#[test]
fn both_apis_are_one_service_whose_endpoints_count_once() {
    for world in [World::standard_shared(), World::both()] {
        let service = only(of(&world));
        let members = |edges: &[Edge]| edges.iter().map(|it| it.member.clone()).collect::<Vec<_>>();
        assert_eq!(members(&service.exporters), ["east"]);
        assert_eq!(members(&service.importers), ["east", "west"]);
        let west = &service.importers[1];
        assert_eq!(west.endpoints, Endpoints { ready: 1, draining: 0 });
    }
}

#[test]
fn a_member_whose_cluster_is_not_seen_has_what_the_hub_has_for_it() {
    let mut world = World::shared();
    world.blind = Some("west");
    let found = of(&world);
    assert_eq!(found.members[1].unseen.as_deref(), Some("no context"));
    let service = only(found);
    assert_eq!(service.importers[0].endpoints, Endpoints { ready: 1, draining: 0 });
}

/// Its members go on, and are not to be drained or forgotten for it.
#[test]
fn a_hub_that_does_not_answer_makes_no_member_silent() {
    let mut picture = World::shared().picture();
    let states = |picture: &Picture| -> Vec<_> {
        status(picture).members.iter().map(|member| member.state).collect()
    };
    let before = states(&picture);
    assert!(!before.contains(&"Silent"), "{before:?}");
    let (since, message) = (Instant::now(), "connection refused".into());
    let stale = SourceState::Stale { since, message };
    picture.hub.namespaces = picture.hub.namespaces.in_state(stale);
    picture.now += SignedDuration::from_hours(1);
    let found = view(&picture, status(&picture), &[]);
    assert_eq!(states(&picture), before);
    let shown = found.unread.iter().map(|hop| hop.says.as_str()).collect::<Vec<_>>();
    assert!(matches!(shown[..], [one] if one.contains("connection refused")), "{shown:?}");
    picture.heard = picture.now;
    assert!(states(&picture).contains(&"Silent"), "those that the hub itself has not heard");
}

/// A report of west about web, whose endpoints of east do not answer.
fn unreached(hop: &str) -> serde_json::Value {
    json!({ "spec": {
        "observed": "2026-01-01T00:00:00Z", "unreachable": 1,
        "exporters": [{ "cluster": "east", "unreachable": 1 }],
        "troubles": [{
            "exporter": "east", "namespace": "shop", "service": "web", "api": "Fleet", "hop": hop,
            "since": "2026-01-01T00:00:00Z", "detail": "10.1.0.1:80: there is no answer within 2 s",
        }],
    }})
}

#[test]
fn what_is_not_reached_stops_there() {
    for (hop, advice) in [
        ("Name", "fleetctl doctor --member west"),
        ("Address", "kubectl --context west -n kube-system get pods"),
        ("Route", "firewalls between west and east"),
        ("Endpoint", "kubectl --context east -n shop get pods,networkpolicies"),
    ] {
        let mut world = World::shared();
        let at = ObjectName::new(home("west"), "west");
        let mut report = unreached(hop);
        report["spec"]["observed"] = json!(world.now().to_string());
        report["spec"]["troubles"][0]["since"] = json!(world.now().to_string());
        world.hub.create(kinds::REACH_REPORT, &at, report).unwrap();
        let found = of(&world);
        let counts = found.members[1].reach.unwrap();
        assert_eq!((counts.reachable, counts.unreachable, found.reach.len()), (0, 1, 1));
        assert_eq!(found.members[0].reach, None);
        let service = only(found);
        assert_eq!(causes(&service.exporters), [("east", None)]);
        assert_eq!(causes(&service.importers), [("west", Some(Cause::NotReached))]);
        let west = &service.importers[0];
        assert_eq!((west.unreached[0].member.as_str(), west.unreached[0].hop), ("east", hop));
        let finding = west.finding.as_ref().unwrap();
        assert!(finding.advice.as_ref().is_some_and(|it| it.contains(advice)), "{finding:?}");
        let stops = format!("(hop {hop}): 10.1.0.1:80: there is no answer");
        assert!(service.verdict.contains(&stops), "{}", service.verdict);
    }
}

/// Of an agent that does not dial any more, and of one that writes in the name of another.
#[test]
fn other_reports_change_nothing() {
    for (namespace, hours) in [(home("west"), 3), (home("east"), 0)] {
        let mut world = World::shared();
        let mut report = unreached("Route");
        report["spec"]["observed"] = json!(world.now().to_string());
        world.hub.create(kinds::REACH_REPORT, &ObjectName::new(namespace, "west"), report).unwrap();
        world.hub.advance(hours * 3600);
        let found = of(&world);
        assert_eq!((found.reach.len(), found.members[1].reach), (0, None));
        assert_eq!(only(found).importers[0].unreached, []);
    }
}

#[test]
fn namespaces_can_be_chosen() {
    let picture = World::shared().picture();
    let of = |namespaces: &[&str]| {
        let namespaces: Vec<_> = namespaces.iter().map(|&it| it.to_owned()).collect();
        view(&picture, crate::status::status(&picture), &namespaces).services.len()
    };
    assert_eq!([of(&[]), of(&["shop"]), of(&["other"]), of(&["other", "shop"])], [1, 1, 0, 1]);
}

/// A hundred members, each of which exports twenty Services and imports forty: a loop over all pairs of Services, or over all
/// members for each pair, would not end in the time that tests have.
#[test]
fn a_large_fleet_has_a_model_of_its_size() {
    const MEMBERS: usize = 100;
    const SERVICES: usize = 2000;
    let mut hub = ModelServer::new(ClusterId::Hub);
    let mut create = |kind, at: ObjectName, object| hub.create(kind, &at, object).unwrap();
    create(kinds::NAMESPACE, namespace("shop"), json!({}));
    let member = |index: usize| format!("member-{:03}", index % MEMBERS);
    for index in 0..MEMBERS {
        create(kinds::NAMESPACE, namespace(&home(&member(index))), json!({}));
    }
    let reference = |member: &str, name: &str| {
        json!({
            "clusterId": member, "kind": "Service", "namespace": "shop", "name": name, "uid": name,
            "namespacedName": format!("shop/{name}"), "resourceVersion": "1", "generation": 1,
        })
    };
    for index in 0..SERVICES {
        let name = format!("web-{index}");
        let from = member(index);
        let export = json!({ "spec": {
            "ports": [{ "port": 80, "protocol": "TCP", "targetPort": 80 }],
            "serviceReference": reference(&from, &name),
        }});
        let at = |member: &str| ObjectName::new(home(member), format!("shop-{name}"));
        create(kinds::INTERNAL_SERVICE_EXPORT, at(&from), export);
        for to in [member(index + 1), member(index + 7)] {
            let request = json!({ "spec": { "serviceImportReference": reference(&to, &name) } });
            create(kinds::INTERNAL_SERVICE_IMPORT, at(&to), request);
        }
    }
    let (members, serving) = (BTreeMap::new(), BTreeSet::new());
    let world =
        World { hub, members, blind: None, exclusive: false, serving, names_served: Some(true) };
    let found = of(&world);
    assert_eq!((found.members.len(), found.services.len()), (MEMBERS, SERVICES));
    let sides = |service: &ServiceView| (service.exporters.len(), service.importers.len());
    assert!(found.services.iter().all(|service| sides(service) == (1, 2)));
}
