use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const UID: &str = "0b6f5a8e-7c51-4f0e-9d55-3f6f1a2b3c4d";

fn exports(namespace: &str, name: &str) -> Vec<String> {
    let export = ObjectName::new(namespace, name);
    let candidates: Vec<_> = internal_export_candidates(&export).collect();
    assert_eq!(candidates, internal_import_candidates(&export).collect::<Vec<_>>());
    candidates
}

fn derived(namespace: &str, name: &str) -> Vec<String> {
    derived_service_candidates(&ObjectName::new(namespace, name)).collect()
}

fn slice_export_name(cluster: &str, namespace: &str, slice: &str, uid: &str) -> String {
    slice_export_candidates(cluster, namespace, slice, uid).next().unwrap()
}

#[test]
fn a_member_is_known_by_its_namespace() {
    assert_eq!(member_namespace("east"), "fleet-member-east");
    assert_eq!(member_of_namespace("fleet-member-east"), Some("east"));
    assert_eq!(member_of_namespace("fleet-member-"), None);
    assert_eq!(member_of_namespace("fleet-system"), None);
}

// The hashes below were computed with another implementation of the same rule.

#[test]
fn plain_names_come_first() {
    let expected = ["team-shop", "team-shop-23smu7c4ma", "team-shop-ouxctkssts"];
    assert_eq!(exports("team", "shop"), expected);
    assert_eq!(derived("team", "shop"), expected);
}

/// S19: `a-b/c` and `a/b-c` share the plain name, and no other.
#[test]
fn colliding_plain_names_have_distinct_hashed_ones() {
    assert_eq!(exports("a-b", "c"), ["a-b-c", "a-b-c-dvatzem5g5", "a-b-c-3la67ez47j"]);
    assert_eq!(exports("a", "b-c"), ["a-b-c", "a-b-c-wiezn5fit7", "a-b-c-hil7knz3h2"]);
    assert_eq!(slice_export_name("a-b", "c", "d", UID), "a-b-c-d-37v3wy6hfj3ftbhgnjq66e23af");
    assert_eq!(slice_export_name("a", "b-c", "d", UID), "a-b-c-d-5r4fs2zszaxbxwcjch6l3gab3z");
}

/// The copy of a slice has its name, and another one where that is taken, which depends on what the hub chose.
#[test]
fn a_copy_has_a_second_name_that_no_member_can_choose() {
    let slice = ObjectName::new("fleet-member-a", "a-team-shop-x");
    let [plain, hashed] = slice_import_candidates(&slice, UID);
    assert_eq!((plain.as_str(), hashed.len()), ("a-team-shop-x", plain.len() + 1 + LONG_HASH));
    assert!(hashed.starts_with("a-team-shop-x-"));
    let others = [
        slice_import_candidates(&ObjectName::new("fleet-member-b", "a-team-shop-x"), UID),
        slice_import_candidates(&slice, "another"),
    ];
    assert!(others.iter().all(|[name, second]| *name == plain && *second != hashed));
    let long = ObjectName::new("fleet-member-a", "x".repeat(253));
    let [_, hashed] = slice_import_candidates(&long, UID);
    assert!(hashed.len() <= SUBDOMAIN_LIMIT && is_dns1123_subdomain(&hashed));
}

/// S19: digits in front.
#[test]
fn a_name_that_starts_with_a_digit_is_valid_except_for_a_service() {
    assert_eq!(exports("1team", "shop")[0], "1team-shop");
    assert_eq!(derived("1team", "shop"), ["ns1team-shop-rr4j6qi3s5", "ns1team-shop-cmxx4artys"]);
}

/// S19: dots.
#[test]
fn a_dot_is_valid_except_in_the_name_of_a_service() {
    assert_eq!(exports("team", "shop.v1")[0], "team-shop.v1");
    assert_eq!(derived("team", "shop.v1"), ["team-shop-v1-223p2df5oe", "team-shop-v1-ulnsvh34w7"]);
}

/// S19: the limits of 63 and 253 characters, from below.
#[test]
fn the_longest_plain_names_stay_plain() {
    let (namespace, name) = ("n".repeat(31), "s".repeat(31));
    assert_eq!(derived(&namespace, &name)[0], format!("{namespace}-{name}"));
    assert!(derived(&namespace, &format!("{name}s"))[0].len() <= LABEL_LIMIT);
    assert!(
        !derived(&namespace, &format!("{name}s"))[0].starts_with(&format!("{namespace}-{name}s"))
    );

    let (namespace, name) = ("n".repeat(63), "s".repeat(189));
    assert_eq!(exports(&namespace, &name)[0], format!("{namespace}-{name}"));
    assert_eq!(exports(&namespace, &format!("{name}s")).len(), 2);
}

/// S19: the limits of 63 and 253 characters, from above.
#[test]
fn longer_names_are_truncated_before_the_hash() {
    let (namespace, name) = ("n".repeat(63), "s".repeat(63));
    assert_eq!(derived(&namespace, &name)[0], format!("{}-vgbvzjvc6d", "n".repeat(52)));

    let name = "s".repeat(253);
    let expected = format!("{namespace}-{}-ix5sv3zqwj", "s".repeat(242 - 64));
    assert_eq!(expected.len(), SUBDOMAIN_LIMIT);
    assert_eq!(exports(&namespace, &name)[0], expected);
}

#[test]
fn truncation_leaves_no_dash_or_dot_before_the_hash() {
    let (namespace, name) = ("n".repeat(40), format!("{}-{}", "s".repeat(10), "s".repeat(30)));
    let expected = format!("{namespace}-{}-", "s".repeat(10));
    assert!(derived(&namespace, &name)[0].starts_with(&expected));
    assert_eq!(derived(&namespace, &name)[0].len(), expected.len() + SHORT_HASH);

    let slice = format!("{}.t", "s".repeat(97));
    let expected = format!(
        "{}-{}-{}-qixcgq42qh37kznqyeebkyi63a",
        "c".repeat(63),
        "n".repeat(63),
        "s".repeat(97)
    );
    assert_eq!(slice_export_name(&"c".repeat(63), &"n".repeat(63), &slice, UID), expected);
}

#[test]
fn a_slice_is_named_after_cluster_namespace_and_name() {
    assert_eq!(
        slice_export_name("east", "team", "shop-x7k2p", UID),
        "east-team-shop-x7k2p-2ftjtzsd3wpdryfdmjckzgfetg"
    );
    let longest = slice_export_name(&"c".repeat(63), &"n".repeat(63), &"s".repeat(253), UID);
    assert_eq!(longest.len(), SUBDOMAIN_LIMIT);
    assert!(longest.ends_with("-awtbrpzzvyoeoydwq6suvyshlk"));
}

/// S19: another source, another name, be it of the same name.
#[test]
fn a_new_incarnation_of_a_slice_has_a_new_name() {
    assert_ne!(
        slice_export_name("east", "team", "shop", "1"),
        slice_export_name("east", "team", "shop", "2")
    );
}

#[test]
fn base32_is_that_of_rfc_4648_in_lower_case() {
    assert_eq!(base32(b"fooba").collect::<String>(), "mzxw6ytb");
}

#[test]
fn validators_accept_what_the_server_accepts() {
    let long = "a".repeat(63);
    for good in ["a", "a1", "a-b", &long] {
        assert!(is_dns1035_label(good) && is_dns1123_label(good), "{good}");
    }
    for only_1123 in ["1", "1a", "0-a"] {
        assert!(!is_dns1035_label(only_1123) && is_dns1123_label(only_1123), "{only_1123}");
    }
    let longer = "a".repeat(64);
    for no_label in ["", "-a", "a-", "A", "a.b", "a_b", "ä", &longer] {
        assert!(!is_dns1123_label(no_label) && !is_dns1035_label(no_label), "{no_label}");
    }
    for good in ["a", "1.2", "a-b.c", &longer, &"a".repeat(253)] {
        assert!(is_dns1123_subdomain(good), "{good}");
    }
    for bad in ["", ".", "a.", ".a", "a..b", "a-.b", "a.-b", &"a".repeat(254)] {
        assert!(!is_dns1123_subdomain(bad), "{bad}");
    }
}

/// Names as the API server admits them for a Namespace.
fn label() -> impl Strategy<Value = String> {
    "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
}

/// Names as the API server admits them for most objects.
fn subdomain() -> impl Strategy<Value = String> {
    "[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?){0,6}"
        .prop_filter("too long", |name| is_dns1123_subdomain(name))
}

/// Short names over few letters, so that joined names collide often.
fn colliding() -> impl Strategy<Value = ObjectName> {
    ("[ab](-?[ab]){0,3}", "[ab](-?[ab]){0,3}").prop_map(|(ns, name)| ObjectName::new(ns, name))
}

proptest! {
    /// S19: whatever the API server admits as names.
    #[test]
    fn candidates_are_valid_and_distinct(namespace in label(), name in subdomain()) {
        let exports = exports(&namespace, &name);
        prop_assert!(exports.iter().all(|name| is_dns1123_subdomain(name)), "{exports:?}");
        prop_assert_eq!(exports.iter().collect::<HashSet<_>>().len(), exports.len());

        let derived = derived(&namespace, &name);
        prop_assert!(derived.iter().all(|name| is_dns1035_label(name)), "{derived:?}");
        prop_assert_eq!(derived.iter().collect::<HashSet<_>>().len(), derived.len());

        prop_assert!((2..=3).contains(&exports.len()) && (2..=3).contains(&derived.len()));
    }

    /// S19: names that are cut to the same beginning still differ, because the hash is of the whole.
    #[test]
    fn long_names_differ_in_what_is_cut_off(
        name in "[a-z]{190,200}", left in "[a-z0-9]{1,40}", right in "[a-z0-9]{1,40}",
    ) {
        prop_assume!(left != right);
        let namespace = "n".repeat(63);
        let of = |end: &str| ObjectName::new(namespace.as_str(), format!("{name}{end}"));
        let names = |object: &ObjectName| -> HashSet<String> {
            let slices = slice_export_candidates("a", &object.namespace, &object.name, UID);
            internal_export_candidates(object)
                .chain(derived_service_candidates(object))
                .chain(slices)
                .collect()
        };
        prop_assert!(names(&of(&left)).is_disjoint(&names(&of(&right))));
    }

    #[test]
    fn names_of_slices_are_valid(cluster in label(), namespace in label(), slice in subdomain()) {
        let name = slice_export_name(&cluster, &namespace, &slice, UID);
        prop_assert!(is_dns1123_subdomain(&name), "{name}");
    }

    #[test]
    fn names_are_valid_for_any_text(namespace in "\\PC{0,80}", name in "\\PC{0,300}") {
        let derived = derived(&namespace, &name);
        prop_assert!(derived.iter().all(|name| is_dns1035_label(name)), "{derived:?}");
        let exports = exports(&namespace, &name);
        prop_assert!(exports.iter().all(|name| is_dns1123_subdomain(name)), "{exports:?}");
        let slice = slice_export_name(&namespace, &name, &name, UID);
        prop_assert!(is_dns1123_subdomain(&slice), "{slice}");
    }

    /// S19: different sources never meet beyond their plain names, also where all parts have the same letters.
    #[test]
    fn different_objects_share_no_hashed_name(left in colliding(), right in colliding()) {
        prop_assume!(left != right);
        let hashed = |object: &ObjectName| -> HashSet<String> {
            internal_export_candidates(object)
                .chain(derived_service_candidates(object))
                .filter(|name| *name != join(object))
                .collect()
        };
        prop_assert!(hashed(&left).is_disjoint(&hashed(&right)));
    }

    /// S19: different slices never meet.
    #[test]
    fn different_slices_have_different_names(
        left in ("[ab](-?[ab]){0,2}", "[ab](-?[ab]){0,2}", "[ab](-?[ab]){0,2}", "[12]"),
        right in ("[ab](-?[ab]){0,2}", "[ab](-?[ab]){0,2}", "[ab](-?[ab]){0,2}", "[12]"),
    ) {
        prop_assume!(left != right);
        prop_assert_ne!(
            slice_export_name(&left.0, &left.1, &left.2, &left.3),
            slice_export_name(&right.0, &right.1, &right.2, &right.3)
        );
    }
}

#[test]
fn the_next_name_of_a_slice_differs_in_its_hash_only() {
    let names: Vec<_> = slice_export_candidates("east", "team", "shop-x7k2p", UID).collect();
    assert_eq!(names.len(), 2);
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.starts_with("east-team-shop-x7k2p-")), "{names:?}");
    assert!(names.iter().all(|name| is_dns1123_subdomain(name)), "{names:?}");
}

#[test]
fn derived_services_of_the_standard_api_have_the_customary_names() {
    let [first, second] = derived_import_candidates(&ObjectName::new("shop", "web"));
    assert_eq!(first, "derived-isrlchlhrq");
    assert!(second.starts_with("derived-isrlchlhrq-") && is_dns1035_label(&second), "{second}");
    let [other, _] = derived_import_candidates(&ObjectName::new("shop-web", "web"));
    assert_ne!(first, other);
}
