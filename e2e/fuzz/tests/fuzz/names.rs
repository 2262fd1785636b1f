//! Names that are made of names of others: valid, and never the same for two objects.

use fleet_api::ObjectName;
use fleet_api::names::{
    self, LABEL_LIMIT, SUBDOMAIN_LIMIT, is_dns1035_label, is_dns1123_label, is_dns1123_subdomain,
};
use proptest::prelude::*;

use crate::mutation::text;
use crate::runner::check;

const SEEDS: &str = "corpus/names.txt";

/// Two names that are easily taken for one another: what is between their parts wanders.
fn alike() -> impl Strategy<Value = (ObjectName, ObjectName)> {
    let parts = ("[a-z][a-z0-9-]{0,80}", "[a-z0-9][a-z0-9.-]{0,200}", any::<(usize, usize)>());
    parts.prop_map(|(namespace, name, cuts)| {
        let whole = format!("{namespace}-{name}");
        let dashes: Vec<_> = whole.match_indices('-').map(|(at, _)| at).collect();
        let at = |cut: usize| {
            let dash = dashes[cut % dashes.len()];
            ObjectName::new(&whole[..dash], &whole[dash + 1..])
        };
        (at(cuts.0), at(cuts.1))
    })
}

fn any_two() -> impl Strategy<Value = (ObjectName, ObjectName)> {
    let name = || (text(), text()).prop_map(|(namespace, name)| ObjectName::new(namespace, name));
    prop_oneof![alike(), (name(), name())]
}

#[test]
fn names_are_valid_and_distinct() {
    check(SEEDS, 256, &(any_two(), text()), |((one, other), uid)| {
        for object in [&one, &other] {
            for name in names::internal_export_candidates(object) {
                prop_assert!(
                    is_dns1123_subdomain(&name) && name.len() <= SUBDOMAIN_LIMIT,
                    "{}",
                    name
                );
            }
            for name in names::derived_service_candidates(object) {
                prop_assert!(is_dns1035_label(&name) && name.len() <= LABEL_LIMIT, "{}", name);
            }
            for name in names::derived_import_candidates(object) {
                prop_assert!(is_dns1123_label(&name), "{}", name);
            }
            for name in names::made_slice_candidates(&object.name, &uid).take(3) {
                prop_assert!(is_dns1123_subdomain(&name) && name.len() <= LABEL_LIMIT, "{}", name);
            }
            let slices =
                names::slice_export_candidates(&object.namespace, &object.name, &uid, &uid);
            for name in slices {
                prop_assert!(
                    is_dns1123_subdomain(&name) && name.len() <= SUBDOMAIN_LIMIT,
                    "{}",
                    name
                );
            }
        }
        if one != other {
            let last = |object: &ObjectName| {
                let made = names::made_slice_candidates(&object.name, &object.namespace).next();
                [
                    names::internal_export_candidates(object).last(),
                    names::derived_service_candidates(object).last(),
                    Some(names::derived_import_candidates(object)[1].clone()),
                    names::slice_export_candidates(&object.namespace, &object.name, &uid, &uid)
                        .last(),
                    Some(names::slice_import_candidates(object, &uid)[1].clone()),
                    made.filter(|_| one.namespace != other.namespace),
                ]
            };
            for (one, other) in last(&one).into_iter().zip(last(&other)) {
                prop_assert!(one != other || one.is_none(), "{:?}", one);
            }
        }
        Ok(())
    });
}

#[test]
fn the_namespace_of_a_member_names_it() {
    check(SEEDS, 128, &text(), |text| {
        let namespace = names::member_namespace(&text);
        let member = names::member_of_namespace(&namespace);
        prop_assert_eq!(member, Some(&*text).filter(|text| !text.is_empty()));
        if let Some(member) = names::member_of_namespace(&text) {
            prop_assert_eq!(names::member_namespace(member), text);
        }
        Ok(())
    });
}
