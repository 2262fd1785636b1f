use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn name(namespace: &str, name: &str) -> ObjectName {
    ObjectName::new(namespace, name)
}

fn exports(namespace: &str, object: &str) -> Vec<String> {
    internal_export_candidates(&name(namespace, object)).collect()
}

fn derived(namespace: &str, object: &str) -> Vec<String> {
    derived_service_candidates(&name(namespace, object)).collect()
}

#[test]
fn a_member_is_known_by_its_namespace() {
    assert_eq!(member_namespace("east"), "fleet-member-east");
    assert_eq!(member_of_namespace("fleet-member-east"), Some("east"));
    assert_eq!(member_of_namespace("fleet-member-"), None);
    assert_eq!(member_of_namespace("fleet-system"), None);
}

#[test]
fn colliding_plain_names_have_distinct_hashed_ones() {
    let (left, right) = (exports("a-b", "c"), exports("a", "b-c"));
    assert_eq!(left[0], right[0]);
    assert_ne!(left[1], right[1]);
    assert_ne!(left[2], right[2]);
}
