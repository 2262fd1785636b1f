use std::time::Duration;

use fleet_api::offload::{Capacity, Topology, VirtualNodePhase};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use proptest::prelude::*;

use super::*;
use crate::condition::Condition;
use crate::status::Link;

const ALIVE: NodeHealth = NodeHealth { phase: VirtualNodePhase::Accepted, link: Link::Alive };

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn offer() -> Capacity {
    Capacity {
        cpu: "4".to_owned(),
        memory: "16Gi".to_owned(),
        ephemeral_storage: Some("100Gi".to_owned()),
        pods: 110,
        extended: [("example.com/gpu".to_owned(), "2".to_owned())].into(),
    }
}

fn desired() -> DesiredNode {
    DesiredNode {
        executor: "west".to_owned(),
        phase: VirtualNodePhase::Accepted,
        offer: offer(),
        topology: Topology { zone: Some("z1".to_owned()), ..Topology::default() },
        address: Some("10.1.0.1".parse().unwrap()),
        conditions: conditions(ALIVE, "west", &[], at(5)),
        ..DesiredNode::default()
    }
}

/// A user sees on which hop a node is not reached.
#[test]
fn a_node_that_is_not_ready_names_the_hop() {
    use VirtualNodePhase::{Accepted, Draining, Offered, Withdrawn};
    for (phase, link, expected) in [
        (Accepted, Link::Alive, (true, "ExecutorReady")),
        (Draining, Link::Alive, (true, "ExecutorReady")),
        (Accepted, Link::HubUnreachable, (false, "HubUnreachable")),
        (Accepted, Link::ExecutorUnreachable, (false, "ExecutorUnreachable")),
        (Draining, Link::ExecutorUnreachable, (false, "ExecutorUnreachable")),
        (Offered, Link::Alive, (false, "NotAccepted")),
        (Withdrawn, Link::HubUnreachable, (false, "OfferWithdrawn")),
    ] {
        assert_eq!(ready_reason(NodeHealth { phase, link }), expected);
        let ready = &conditions(NodeHealth { phase, link }, "west", &[], at(5))[0];
        assert_eq!((ready.status, ready.reason.as_str()), expected);
        assert!(ready.message.contains("west"), "{}", ready.message);
    }
}

#[test]
fn a_condition_keeps_its_time_while_its_status_is_the_same() {
    let before = conditions(ALIVE, "west", &[], at(5));
    assert_eq!(conditions(ALIVE, "west", &before, at(9)), before);
    let down = NodeHealth { link: Link::HubUnreachable, ..ALIVE };
    let after = conditions(down, "west", &before, at(9));
    assert_eq!((after[0].since, after[1].since), (Some(at(9)), Some(at(5))));
}

#[test]
fn conditions_of_others_are_not_written() {
    let other = Condition { type_: "a/other".to_owned(), status: true, ..Condition::default() };
    let written = conditions(ALIVE, "west", &[other], at(5));
    let types: Vec<_> = written.iter().map(|one| one.type_.as_str()).collect();
    assert_eq!(
        types,
        ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"]
    );
    assert!(written[1..].iter().all(|one| !one.status));
}

#[test]
fn a_node_is_one_that_kubernetes_accepts() {
    let written = node_document(&desired());
    let node: Node = serde_json::from_value(written).unwrap();
    assert_eq!(node.metadata.name.as_deref(), Some("fleet-west"));
    let labels = node.metadata.labels.unwrap();
    assert_eq!(labels["topology.kubernetes.io/zone"], "z1");
    assert_eq!(labels["type"], "virtual-node");
    assert!(labels.contains_key("node.kubernetes.io/exclude-from-external-load-balancers"));
    let status = node.status.unwrap();
    let capacity = status.capacity.unwrap();
    assert_eq!((capacity["pods"].0.as_str(), capacity["example.com/gpu"].0.as_str()), ("110", "2"));
    assert_eq!(status.allocatable.unwrap(), capacity);
    assert_eq!(status.daemon_endpoints, None, "no port of a kubelet is advertised");
    let spec = node.spec.unwrap();
    assert_eq!((spec.pod_cidr, spec.unschedulable), (None, None), "administrators cordon it");
}

/// Without the toleration no Pod is placed; only a withdrawn offer drives Pods away.
#[test]
fn taints_keep_pods_off_and_drive_them_away() {
    let taints = |phase, paused| {
        let all = taints("west", phase, paused).into_iter();
        let all = all.map(|taint| {
            format!("{}:{}", taint["key"].as_str().unwrap(), taint["effect"].as_str().unwrap())
        });
        all.map(|text| text.replace("offload.networking.fleet.azure.com/", "")).collect::<Vec<_>>()
    };
    assert_eq!(taints(VirtualNodePhase::Accepted, false), ["virtual:NoSchedule"]);
    assert_eq!(taints(VirtualNodePhase::Draining, false), ["virtual:NoSchedule"]);
    assert_eq!(
        taints(VirtualNodePhase::Accepted, true),
        ["virtual:NoSchedule", "capacity:NoSchedule"]
    );
    assert_eq!(
        taints(VirtualNodePhase::Withdrawn, false),
        ["virtual:NoSchedule", "virtual:NoExecute"]
    );
}

#[test]
fn the_cap_of_the_origin_counts_where_it_is_less() {
    let cap = Capacity {
        cpu: "500m".to_owned(),
        memory: "1Ti".to_owned(),
        pods: 5,
        ..Capacity::default()
    };
    let written = node_document(&DesiredNode { cap: Some(cap), ..desired() });
    let capacity = &written["status"]["capacity"];
    let [cpu, memory, pods] =
        ["cpu", "memory", "pods"].map(|name| capacity[name].as_str().unwrap());
    assert_eq!((cpu, memory, pods), ("500m", "16Gi", "5"));
}

/// Kubernetes takes a node without renewals for dead, which it is for its Pods.
#[test]
fn the_lease_is_renewed_while_the_way_works() {
    let second = Duration::from_secs(1);
    assert_eq!(renewal(ALIVE, None, false), Renewal::Now);
    assert_eq!(renewal(ALIVE, Some(4 * second), false), Renewal::After(6 * second));
    assert_eq!(renewal(ALIVE, Some(10 * second), false), Renewal::Now);
    assert_eq!(renewal(ALIVE, Some(4 * second), true), Renewal::Now, "another Node has that name");
    for health in [
        NodeHealth { link: Link::HubUnreachable, ..ALIVE },
        NodeHealth { link: Link::ExecutorUnreachable, ..ALIVE },
        NodeHealth { phase: VirtualNodePhase::Withdrawn, ..ALIVE },
    ] {
        assert_eq!(renewal(health, None, true), Renewal::Never);
    }
    assert!(LEASE_RENEWAL * 4 <= LEASE_DURATION);
}

#[test]
fn a_node_that_was_made_again_is_another_one() {
    assert!(
        !is_recreated(None, "2") && !is_recreated(Some("2"), "2") && is_recreated(Some("1"), "2")
    );
}

#[test]
fn a_pause_grows_to_a_quarter_of_an_hour() {
    let minute = Duration::from_mins(1);
    let lengths: Vec<_> = (0..7).map(|failures| pause(failures, Duration::ZERO)).collect();
    let expected = [0, 1, 2, 4, 8, 15, 15].map(|minutes| (minutes > 0).then(|| minutes * minute));
    assert_eq!(lengths, expected);
    assert_eq!(pause(1, minute), None);
    assert_eq!(pause(2, minute), Some(minute));
    assert_eq!(pause(u32::MAX, minute), Some(14 * minute));
}

#[test]
fn amounts_are_compared_by_what_they_are() {
    for (less, more) in [
        ("500m", "1"),
        ("1", "1.5"),
        ("1000", "1k"),
        ("1k", "1Ki"),
        ("1023Mi", "1Gi"),
        ("1Gi", "2G"),
        ("0.1m", "1m"),
        ("1n", "1m"),
        ("1001u", "2m"),
        ("999", "1e3"),
        ("1E+3", "1k"),
        ("100e-2", "1"),
        ("1P", "1E"),
        ("1E", "1Ei"),
    ] {
        assert!(Amount::parse(less) <= Amount::parse(more), "{less} {more}");
        assert_eq!(
            (least(less, more), least(more, less)),
            (less, if Amount::parse(less) == Amount::parse(more) { more } else { less })
        );
    }
    for bad in [
        "",
        "m",
        "-1",
        "1e",
        "1e99",
        "1e--3",
        "e3",
        " 1",
        "1.",
        ".5",
        "1.5.5",
        "1Xi",
        "1234567890123456",
        "١",
    ] {
        assert_eq!(Amount::parse(bad), None, "{bad}");
        assert_eq!(least(bad, "1"), "0", "an offer that cannot be read is none");
    }
}

proptest! {
    #[test]
    fn reading_an_amount_never_fails_otherwise(text in ".{0,40}") {
        let _ = Amount::parse(&text);
    }
}
