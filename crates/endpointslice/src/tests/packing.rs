//! How many slices there are, and how full.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::fixture::{World, object, pod, pods, service, with};
use crate::AddressType;

/// EPS-13: a Service that publishes everything has ready endpoints only.
#[test]
fn publishing_makes_all_ready() {
    let service = with(&service(), "/spec/publishNotReadyAddresses", json!(true));
    let mut world = World::new(service, pods(50));
    assert_eq!(world.counts(), (1, 0, 0));
    assert_eq!(
        world
            .only()
            .endpoints
            .iter()
            .filter(|endpoint| crate::endpoint::is_ready(endpoint))
            .count(),
        50
    );
}

/// EPS-14, EPS-27: full slices first, then the rest, whatever the limit.
#[test]
fn new_endpoints_fill_slices() {
    let cases: [(usize, &[usize]); 6] = [
        (100, &[100, 100, 50]),
        (50, &[50; 5]),
        (80, &[80, 80, 80, 10]),
        (150, &[150, 100]),
        (250, &[250]),
        (500, &[250]),
    ];
    for (limit, sizes) in cases {
        let mut world = World::new(service(), pods(250));
        world.config.limit = limit;
        assert_eq!(world.counts(), (sizes.len(), 0, 0));
        assert_eq!(world.sizes(), sizes);
        assert_eq!(world.counts(), (0, 0, 0));
    }
}

/// EPS-15: the remainder goes into the one slice that it fills best.
#[test]
fn a_remainder_goes_into_one_existing_slice() {
    let all = pods(250);
    let mut world = World::new(service(), all.clone()).given(&[&all[..62], &all[62..123]]);
    assert_eq!(world.counts(), (1, 1, 0));
    assert_eq!(world.sizes(), [100, 89, 61]);
}

/// EPS-16: a remainder that fits nowhere makes a slice.
#[test]
fn a_remainder_that_fits_nowhere_makes_a_slice() {
    let all = pods(300);
    let mut world = World::new(service(), all.clone()).given(&[&all[..74], &all[74..148]]);
    assert_eq!(world.counts(), (2, 0, 0));
    assert_eq!(world.sizes(), [100, 74, 74, 52]);
}

fn three_slices() -> World {
    let all = pods(250);
    World::new(service(), all.clone()).given(&[&all[..100], &all[100..200], &all[200..]])
}

/// EPS-17: other ports, other slices; the old ones are recycled.
#[test]
fn another_target_port_recycles_all_slices() {
    let mut world = three_slices();
    world.service = with(&world.service, "/spec/ports/0/targetPort", json!(81));
    assert_eq!(world.counts(), (0, 3, 0));
    assert_eq!(world.sizes(), [100, 100, 50]);
}

/// EPS-18, EPS-19: a label is written to all slices, a reserved one to none.
#[test]
fn labels_of_the_service_are_copied_to_all_slices() {
    let mut world = three_slices();
    world.service =
        with(&world.service, "/metadata/labels", json!({"kubernetes.io/service-name": "bad"}));
    assert_eq!(world.counts(), (0, 0, 0));
    world.service = with(&world.service, "/metadata/labels", json!({"foo": "bar"}));
    assert_eq!(world.counts(), (0, 3, 0));
    assert!(
        world.slices.iter().all(|slice| slice.metadata.labels.as_ref().unwrap()["foo"] == "bar")
    );
    assert_eq!(world.counts(), (0, 0, 0));
}

/// EPS-20, EPS-21: half-empty slices stay as they are, until all must be written anyway.
#[test]
fn slices_are_repacked_only_when_all_change() {
    let all = pods(300);
    let parts: Vec<&[Pod]> = all.chunks(30).collect();
    let mut world = World::new(service(), all.clone()).given(&parts);
    assert_eq!(world.counts(), (0, 0, 0));
    assert_eq!(world.sizes(), [30; 10]);
    world.service = with(&world.service, "/spec/ports/0/targetPort", json!(81));
    let (measures, counts) = world.measured();
    assert_eq!(counts, (0, 3, 7));
    assert_eq!(world.sizes(), [100, 100, 100]);
    assert_eq!((measures[0].added, measures[0].removed), (300, 0));
}

/// EPS-22: slices that are written anyway take new endpoints, the fullest first.
#[test]
fn changed_slices_take_new_endpoints() {
    let mut all: Vec<Pod> = (0..115).map(|n| pod(n, true)).collect();
    let mut world = World::new(service(), Vec::new()).given(&[&all[..80], &all[80..100]]);
    for n in (0..100).step_by(10) {
        all[n] = pod(n, false);
    }
    world.pods = all;
    assert_eq!(world.counts(), (0, 2, 0));
    assert_eq!(world.sizes(), [95, 20]);
}

/// EPS-23: slices of a type that the Service does not have go.
#[test]
fn slices_of_another_type_are_replaced() {
    let all = pods(130);
    let mut world = World::new(service(), all.clone()).given(&[&all[..80], &all[80..]]);
    world.slices.iter_mut().for_each(|slice| slice.address_type = "IP".to_owned());
    assert_eq!(world.counts(), (2, 0, 2));
    assert_eq!(world.sizes(), [100, 30]);
    assert!(world.slices.iter().all(|slice| slice.address_type == AddressType::IPv4.as_str()));
}

/// EPS-24, EPS-25: a right slice stays; one of an earlier Service of the name is replaced.
#[test]
fn only_owned_slices_are_kept() {
    let all = pods(1);
    let mut world = World::new(service(), all.clone()).given(&[&all]);
    assert_eq!(world.counts(), (0, 0, 0));
    world.slices[0].metadata.owner_references.as_mut().unwrap()[0].uid = "earlier".to_owned();
    assert_eq!(world.counts(), (1, 0, 1));
    assert_eq!(world.sizes(), [1]);
}

/// EPS-26: a name that pods resolve to five numbers makes five groups.
#[test]
fn each_number_of_a_named_port_is_a_group() {
    let numbered = |n: usize| -> Pod {
        let mut pod = serde_json::to_value(pod(n, true)).unwrap();
        let port = json!([{"name": "http", "containerPort": 8080 + n % 5, "protocol": "TCP"}]);
        pod["spec"]["containers"][0]["ports"] = port;
        object(pod)
    };
    let named = with(&service(), "/spec/ports/0/targetPort", json!("http"));
    let mut world = World::new(named, (0..300).map(numbered).collect());
    assert_eq!(world.counts(), (5, 0, 0));
    assert_eq!(world.sizes(), [60; 5]);
    let mut numbers: Vec<_> =
        world.slices.iter().map(|slice| slice.ports.as_ref().unwrap()[0].port).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [8080, 8081, 8082, 8083, 8084].map(Some));
}

/// As many combinations of numbers as there are machines are a user's to make: each is found without a look at the others.
#[test]
fn many_numbers_make_many_groups() {
    let numbered = |n: usize| -> Pod {
        let mut pod = serde_json::to_value(pod(n, true)).unwrap();
        let port = json!([{"name": "http", "containerPort": 1 + n, "protocol": "TCP"}]);
        pod["spec"]["containers"][0]["ports"] = port;
        object(pod)
    };
    let named = with(&service(), "/spec/ports/0/targetPort", json!("http"));
    let mut world = World::new(named, (0..4000).map(numbered).collect());
    assert_eq!(world.counts(), (4000, 0, 0));
}

/// EPS-95, EPS-96: pods that share an address are endpoints of their own.
#[test]
fn one_address_can_have_two_endpoints() {
    for ready in [true, false] {
        let mut second = pod(2, ready);
        second.status = pod(1, ready).status;
        let mut world = World::new(service(), vec![pod(1, true), second]);
        assert_eq!(world.counts(), (1, 0, 0));
        assert_eq!(world.sizes(), [2]);
    }
}

/// A slice fuller than the limit, which was lowered, is neither split nor filled.
#[test]
fn an_overfull_slice_stays() {
    let all = pods(8);
    let mut world = World::new(service(), all.clone()).given(&[&all[..6]]);
    world.config.limit = 4;
    assert_eq!(world.counts(), (1, 0, 0));
    assert_eq!(world.sizes(), [6, 2]);
}

/// An endpoint that stands in two slices stays in the first.
#[test]
fn a_duplicate_is_removed_from_the_later_slice() {
    let all = pods(4);
    let mut world = World::new(service(), all.clone()).given(&[&all[..3], &all[2..]]);
    assert_eq!(world.counts(), (0, 1, 0));
    assert_eq!(world.sizes(), [3, 1]);
}
