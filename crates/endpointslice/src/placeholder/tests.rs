use serde_json::json;

use super::equals;
use crate::tests::fixture::object;

/// EPS-12: what makes two placeholders equal.
#[test]
fn placeholders_are_compared_by_content() {
    let of = |meta: serde_json::Value, kind: &str, lists: serde_json::Value| {
        let mut slice = json!({"addressType": kind, "metadata": meta, "endpoints": []});
        if !lists.is_null() {
            slice["ports"] = lists;
        }
        object(slice)
    };
    let plain = || json!({"namespace": "test", "name": "a", "labels": {"foo": "bar"}});
    let base = of(plain(), "IPv4", json!(null));
    let mut renamed = plain();
    renamed["name"] = json!("b");
    let mut relabelled = plain();
    relabelled["labels"]["foo"] = json!("baz");
    let mut empty_label = plain();
    empty_label["labels"]["headless"] = json!("");
    let mut created = plain();
    created["creationTimestamp"] = json!("2024-05-06T07:08:09Z");
    for (other, expected) in [
        (of(plain(), "IPv4", json!(null)), true),
        (of(plain(), "IPv4", json!([])), true),
        (of(plain(), "IPv4", json!([{"port": 80}])), false),
        (of(renamed, "IPv4", json!(null)), true),
        (of(relabelled, "IPv4", json!(null)), false),
        (of(empty_label, "IPv4", json!(null)), true),
        (of(created, "IPv4", json!(null)), true),
        (of(plain(), "IPv6", json!(null)), false),
    ] {
        assert_eq!(equals(&base, &other), expected, "{other:?}");
    }
}
