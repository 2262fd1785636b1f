//! Ports in force stay in force, messages explain conflicts, and a successor takes over without a gap.

use fleet_api::kinds;
use serde_json::{Value, json};

use super::world::{World, of_shop, port};

const SINCE_2026: &str = "cluster c, which has exported it since 2026-01-01T00:00:00Z";

/// The differences in the message of "a" if "c" exported first.
fn differences(c: &Value, a: &Value) -> String {
    let mut world = World::new();
    world.export_ports("c", c.clone());
    world.export_ports("a", a.clone());
    world.settle();
    assert_eq!(world.clusters(), ["c"]);
    let message = world.message("a");
    assert!(message.contains(SINCE_2026), "{message}");
    message.rsplit_once(": ").unwrap().1.to_owned()
}

#[test]
fn the_message_says_which_field_differs_from_which_member_and_since_when() {
    let with = |field: &str, value: Value| {
        let mut ports = port(80);
        ports[0][field] = value;
        ports
    };
    for (ports, text) in [
        (with("name", json!("http")), r#"port TCP/80 has name "http" here and "web" there"#),
        (
            with("appProtocol", json!("h2c")),
            r#"port TCP/80 has appProtocol "h2c" here and none there"#,
        ),
        (
            with("protocol", json!("UDP")),
            "port TCP/80 is exported there only, port UDP/80 is exported here only",
        ),
        (port(81), "port TCP/80 is exported there only, port TCP/81 is exported here only"),
    ] {
        assert_eq!(differences(&port(80), &ports), text);
    }
}

#[test]
fn many_or_long_differences_are_truncated() {
    let many = |from: i32| (from..from + 20).map(|number| json!({ "port": number })).collect();
    let text = differences(&many(100), &many(200));
    assert!(text.ends_with("port TCP/104 is exported there only, and 35 more"), "{text}");
    let mut long = port(80);
    long[0]["appProtocol"] = json!("ä".repeat(300));
    assert!(differences(&port(80), &long).len() < 300);
}

#[test]
fn the_order_of_ports_makes_no_conflict() {
    let mut world = World::new();
    let (one, two) = (json!({ "name": "a", "port": 1 }), json!({ "name": "b", "port": 2 }));
    world.export_ports("a", json!([one, two]));
    world.export_ports("c", json!([two, one]));
    world.settle();
    assert_eq!(world.clusters(), ["a", "c"]);
}

/// Slices contain the resolved numbers. What the older export has stays in the status while it is exported.
#[test]
fn target_ports_alone_make_no_conflict() {
    let with = |target: Value| {
        let mut ports = port(80);
        ports[0]["targetPort"] = target;
        ports
    };
    let target =
        |world: &World| world.import().unwrap()["status"]["ports"][0]["targetPort"].clone();
    let mut world = World::new();
    world.export_ports("c", with(json!(8080)));
    world.export_ports("a", with(json!("http")));
    world.settle();
    assert_eq!((world.clusters(), target(&world)), (vec!["a", "c"], json!(8080)));
    world.set_ports("a", with(json!(9090)));
    world.settle();
    assert_eq!((world.clusters(), target(&world)), (vec!["a", "c"], json!(8080)));
    world.delete_export("c");
    world.settle();
    assert_eq!((world.clusters(), target(&world)), (vec!["a"], json!(9090)));
}

#[test]
fn nothing_is_written_again_while_nothing_changes() {
    let mut world = World::shared();
    world.export("c", 81);
    world.settle();
    world.hub.advance(3600);
    assert!(world.plan().is_empty(), "{:#?}", world.plan());
    // A third export does not change the message of the second.
    world.export("d", 80);
    world.hub.take_writes();
    world.settle();
    let rewritten = world.hub.take_writes().into_iter().any(|write| write.name == of_shop("c"));
    assert!(!rewritten, "{}", world.message("c"));
}

#[test]
fn an_older_export_does_not_take_over() {
    let mut world = World::new();
    world.export("c", 81);
    world.export("a", 80);
    world.settle();
    // If "a" is in force, for example because "c" had other ports for a while, it stays in force.
    world.set_ports("c", port(80));
    world.settle();
    world.set_ports("c", port(81));
    world.settle();
    assert_eq!(world.clusters(), ["a"]);
    assert_eq!((world.conflict("a"), world.conflict("c")), ("False", "True"));
    assert!(world.message("c").contains("cluster a"), "{}", world.message("c"));
}

#[test]
fn the_next_takes_over_without_a_gap_when_the_winner_goes() {
    let mut world = World::shared();
    world.export("c", 81);
    world.export("d", 81);
    // The slice of a Go member that has not withdrawn it yet.
    world.slice("c", "s2", "10.3.0.1");
    world.settle();
    world.delete_export("a");
    world.settle_watched(|world| {
        assert!(!world.clusters().is_empty());
        assert_eq!(world.granted(), ["b"]);
        assert_eq!(world.holders(), ["b"]);
    });
    assert_eq!(world.clusters(), ["c", "d"]);
    assert_eq!((world.conflict("c"), world.conflict("d")), ("False", "False"));
    assert_eq!(world.status_of_request("b")["ports"], port(81));
    assert_eq!(world.copies(), ["fleet-member-b/c-s2"]);
}

#[test]
fn a_winner_that_leaves_removes_only_its_own_slices() {
    let mut world = World::shared();
    world.export("c", 80);
    world.slice("c", "s2", "10.3.0.1");
    world.settle();
    for change in [true, false] {
        if change {
            world.set_ports("a", port(81));
        } else {
            world.delete_export("a");
        }
        world.settle_watched(|world| {
            assert!(world.clusters().contains(&"c"));
            assert!(world.copies().contains(&"fleet-member-b/c-s2".to_owned()));
        });
    }
    assert_eq!(world.clusters(), ["c"]);
}

/// The exporters change their ports one after the other: those that have changed are in conflict until the last one
/// follows; its change moves all of them in one write. The list of exporters is never empty.
#[test]
fn a_rolling_port_change_leaves_no_moment_without_exporters() {
    let mut world = World::shared();
    for (member, address) in [("c", "10.3.0.1"), ("d", "10.4.0.1")] {
        world.export(member, 80);
        world.slice(member, "s", address);
    }
    world.settle();
    let mut serving = Vec::new();
    for member in ["a", "c", "d"] {
        world.set_ports(member, port(81));
        world.settle_watched(|world| {
            assert!(!world.clusters().is_empty() && !world.copies().is_empty());
        });
        let ports = world.import().unwrap()["status"]["ports"][0]["port"].clone();
        serving.push((ports, world.clusters().join(" "), world.copies().len()));
        world.release_copies();
    }
    world.settle();
    assert_eq!(serving[0], (json!(80), "c d".to_owned(), 2));
    assert_eq!(serving[1], (json!(80), "d".to_owned(), 1));
    let (ports, clusters, _) = &serving[2];
    assert_eq!((ports, clusters.as_str()), (&json!(81), "d a c"));
    assert_eq!(world.copies().len(), 3);
}

/// The resolution depends only on what the hub stores: every hub agent computes the same.
#[test]
fn a_restart_changes_no_resolution() {
    let mut world = World::new();
    for (member, number) in [("d", 80), ("a", 81), ("c", 81), ("b", 80)] {
        world.export(member, number);
    }
    world.settle();
    assert_eq!(world.clusters(), ["b", "d"]);
    world.delete(kinds::INTERNAL_SERVICE_EXPORT, &of_shop("d"));
    world.settle();
    assert_eq!(world.clusters(), ["b"], "ports in force stay, though \"a\" is older");
    world.hub.take_writes();
    let mut restarted = World::new();
    restarted.hub = world.hub.clone();
    assert!(restarted.plan().is_empty());
}
