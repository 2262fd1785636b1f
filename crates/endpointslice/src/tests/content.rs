//! What new slices look like: address types, labels, endpoints.

use serde_json::{Value, json};

use super::fixture::{World, object, pod, service, with};
use crate::names::HEADLESS;
use crate::{AddressType, Config, labels, trigger_time_annotation};
use k8s_openapi::api::core::v1::Service;

/// A pod of both families.
fn dual() -> k8s_openapi::api::core::v1::Pod {
    let mut pod = serde_json::to_value(pod(1, true)).unwrap();
    pod["status"]["podIPs"] = json!([{"ip": "1.2.3.4"}, {"ip": "1234::5678:0000:0000:9abc:def0"}]);
    object(pod)
}

fn with_ip(ip: &str, families: Value) -> Service {
    with(&with(&service(), "/spec/clusterIP", json!(ip)), "/spec/ipFamilies", families)
}

fn is_headless(world: &World) -> bool {
    world.only().metadata.labels.as_ref().unwrap().contains_key(HEADLESS)
}

/// EPS-2, EPS-3, EPS-4, EPS-7, EPS-8, EPS-92: one slice of the Service's only type, headless if it has no cluster IP,
/// addresses in canonical form.
#[test]
fn one_family_gives_one_slice() {
    for (ip, families, address, headless) in [
        ("10.0.0.10", json!([]), "1.2.3.4", false),
        ("", json!(["IPv4"]), "1.2.3.4", true),
        ("1.1.1.1", json!(["IPv4"]), "1.2.3.4", false),
        ("", json!(["IPv6"]), "1234::5678:0:0:9abc:def0", true),
        ("1234::5678:0000:0000:9abc:def1", json!(["IPv6"]), "1234::5678:0:0:9abc:def0", false),
    ] {
        let mut world = World::new(with_ip(ip, families), vec![dual()]);
        world.trigger_time = Some("2024-05-06T07:08:09.00000001Z".parse().unwrap());
        assert_eq!(world.counts(), (1, 0, 0));
        let endpoint = &world.only().endpoints[0];
        assert_eq!(endpoint.addresses, [address]);
        assert_eq!(endpoint.zone.as_deref(), Some("us-central1-a"));
        assert_eq!(is_headless(&world), headless, "{ip}");
        let annotations = world.only().metadata.annotations.as_ref().unwrap();
        assert_eq!(
            annotations["endpoints.kubernetes.io/last-change-trigger-time"],
            "2024-05-06T07:08:09.00000001Z"
        );
    }
    assert_eq!(
        trigger_time_annotation("2024-05-06T07:08:09Z".parse().unwrap()),
        "2024-05-06T07:08:09Z"
    );
}

/// EPS-91: one slice for all ports of the Service, in the order of the original.
#[test]
fn all_ports_are_in_one_slice() {
    let ports = json!([
        {"name": "tcp-example", "protocol": "TCP", "port": 80, "targetPort": 80},
        {"name": "udp-example", "protocol": "UDP", "port": 161, "targetPort": 161},
        {"name": "sctp-example", "protocol": "SCTP", "port": 3456, "targetPort": 3456},
    ]);
    let mut world = World::new(with(&service(), "/spec/ports", ports), vec![dual(), pod(2, true)]);
    assert_eq!(world.counts(), (1, 0, 0));
    assert_eq!(world.only().endpoints.len(), 2);
    let names = world.only().ports.iter().flatten().map(|port| port.name.clone().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["udp-example", "tcp-example", "sctp-example"]);
}

/// EPS-9: both families, a slice of each.
#[test]
fn two_families_give_two_slices() {
    let mut world = World::new(with_ip("10.0.0.10", json!(["IPv4", "IPv6"])), vec![dual()]);
    let (measures, counts) = world.measured();
    assert_eq!(counts, (2, 0, 0));
    assert_eq!(measures.iter().map(|measures| measures.added).sum::<usize>(), 2);
}

/// EPS-5, EPS-6: labels are copied, reserved ones are not.
#[test]
fn labels_are_those_of_the_service_and_three_of_the_controller() {
    let labels = json!({"foo": "bar", "kubernetes.io/service-name": "bad",
        "endpointslice.kubernetes.io/managed-by": "bad", "service.kubernetes.io/headless": "invalid"});
    let mut world = World::new(with(&service(), "/metadata/labels", labels), vec![dual()]);
    assert_eq!(world.counts(), (1, 0, 0));
    let expected = json!({"foo": "bar", "kubernetes.io/service-name": "foo",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "service.kubernetes.io/headless": ""});
    assert_eq!(json!(world.only().metadata.labels), expected);
}

/// EPS-54: owner, name and namespace of a new slice; annotations of the Service stay there.
#[test]
fn a_new_slice_belongs_to_its_service() {
    let service = with(&service(), "/metadata/annotations", json!({"foo": "bar"}));
    let mut world = World::new(service, vec![dual()]);
    world.counts();
    let meta = &world.only().metadata;
    assert_eq!(
        (meta.namespace.as_deref(), meta.generate_name.as_deref()),
        (Some("test"), Some("foo-"))
    );
    let owner = json!([{"apiVersion": "v1", "kind": "Service", "name": "foo", "uid": "service-uid",
        "controller": true, "blockOwnerDeletion": true}]);
    assert_eq!(json!(meta.owner_references), owner);
    assert_eq!(meta.annotations, None);
}

/// EPS-58: the Service's labels and a slice's → whether the slice must be written.
#[test]
fn labels_change_in_either_direction() {
    let reserved = json!({"kubernetes.io/service-name": "x", "endpointslice.kubernetes.io/managed-by": "x",
        "service.kubernetes.io/headless": ""});
    for (of_service, of_slice, changed) in [
        (json!({}), json!({}), false),
        (json!({"foo": "bar"}), json!({}), true),
        (json!({"service.kubernetes.io/headless": ""}), json!({}), false),
        (json!({}), json!({"service.kubernetes.io/headless": ""}), false),
        (json!({"foo": "bar"}), json!({"foo": "bar"}), false),
        (json!({"foo": "bar"}), json!({"foo": "baz"}), true),
        (json!({"foo": "bar"}), json!({"foo": "bar", "extra": "x"}), true),
        (json!({"foo": "bar"}), reserved.clone(), true),
        (reserved.clone(), json!({}), false),
        (json!({"service.kubernetes.io/headless": "", "foo": "bar"}), json!({}), true),
    ] {
        let service = with(&service(), "/metadata/labels", of_service.clone());
        let slice = object(
            json!({"addressType": "IPv4", "endpoints": [], "metadata": {"labels": of_slice}}),
        );
        assert_eq!(
            labels::changed(&slice, &service, &Config::pods()),
            changed,
            "{of_service} {of_slice}"
        );
    }
}

/// EPS-58: the headless label comes and goes with the cluster IP.
#[test]
fn desired_labels_depend_on_the_cluster_ip() {
    let config = Config::pods();
    for (ip, headless) in [("None", true), ("", true), ("10.0.0.1", false)] {
        let service = with(&service(), "/spec/clusterIP", json!(ip));
        assert_eq!(labels::desired(&service, &config).contains_key(HEADLESS), headless, "{ip}");
    }
}

/// EPS-59: families, else the cluster IP, else both.
#[test]
fn address_types_of_a_service() {
    use AddressType::{IPv4, IPv6};
    for (ip, families, expected) in [
        ("10.0.0.10", json!(null), vec![IPv4]),
        ("2001:db8::1", json!(null), vec![IPv6]),
        ("10.0.0.10", json!(["IPv4"]), vec![IPv4]),
        ("10.0.0.10", json!(["IPv6"]), vec![IPv6]),
        ("10.0.0.10", json!(["IPv4", "IPv6"]), vec![IPv4, IPv6]),
        ("10.0.0.10", json!(["IPv6", "IPv4"]), vec![IPv6, IPv4]),
        ("None", json!(null), vec![IPv4, IPv6]),
        ("None", json!(["IPv4", "IPv6"]), vec![IPv4, IPv6]),
    ] {
        let mut service = with_ip(ip, families);
        assert_eq!(AddressType::of_service(&service), expected);
        service.spec.as_mut().unwrap().selector = None;
        assert_eq!(AddressType::of_service(&service), expected, "without selector");
    }
}

/// EPS-38: a headless Service without ports has slices without ports, be the list absent or empty.
#[test]
fn no_ports_are_a_group_of_their_own() {
    let headless =
        with(&with(&service(), "/spec/clusterIP", json!("None")), "/spec/ports", json!([]));
    let mut world = World::new(headless, vec![pod(1, true)]);
    assert_eq!(world.counts(), (1, 0, 0));
    assert_eq!(world.only().ports, None);
    assert_eq!(world.counts(), (0, 0, 0));
}
