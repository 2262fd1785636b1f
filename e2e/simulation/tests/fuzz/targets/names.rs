//! Names that are made of names of others: valid whatever those are, and the same each time.

use fleet_api::names::{self, is_dns1035_label, is_dns1123_label, is_dns1123_subdomain};
use fleet_api::offload::ConfigKind;
use fleet_api::{ExportedObjectReference, ObjectName};
use fleet_virtual_node::names as pods;

use super::Target;
use crate::cost::Bound;

pub(crate) const TARGET: Target = Target {
    name: "names",
    is_json: false,
    short: 1000,
    bound: Some(Bound { base: 3000, per_byte: 60, base_bytes: 64 << 10, bytes_per_byte: 200 }),
    examples,
    read,
};

fn examples() -> Vec<Vec<u8>> {
    let long = format!("{}\n{}\n{}", "a".repeat(63), "b-c".repeat(84), "00000000-0000-4000-8000-000000000001");
    ["team\nweb\nu1", "a-b\nc\nu", "a\nb-c\nu", "0team\n0web\nu", "kube.dots\nweb.x1\nu", "\n\n", &long]
        .map(|text| text.as_bytes().to_vec())
        .to_vec()
}

/// Namespace, name and uid, a line each.
fn read(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (namespace, name, uid) = (next(), next(), next());
    let object = ObjectName::new(namespace, name);
    // API servers have checked both: that is what names are promised for.
    let are_valid = is_dns1123_label(namespace) && is_dns1123_subdomain(name);
    let made = [
        names::internal_export_candidates(&object).take(3).collect::<Vec<_>>(),
        names::internal_import_candidates(&object).take(3).collect(),
        names::slice_export_candidates(namespace, namespace, name, uid).take(3).collect(),
        names::slice_import_candidates(&object, uid).to_vec(),
        names::made_slice_candidates(name, uid).take(5).collect(),
    ];
    for list in &made {
        let distinct: std::collections::BTreeSet<_> = list.iter().collect();
        assert_eq!(distinct.len(), list.len(), "{list:?}");
        for made in list.iter().filter(|_| are_valid) {
            assert!(is_dns1123_subdomain(made), "{made:?} of {object}");
        }
    }
    let derived = names::derived_service_candidates(&object).take(3);
    let derived: Vec<_> = derived.chain(names::derived_import_candidates(&object)).collect();
    for made in derived.iter().filter(|_| are_valid) {
        assert!(is_dns1035_label(made), "{made:?} of {object}");
    }
    for made in [pods::node(name), pods::import(namespace, uid), pods::namespace(namespace, name)] {
        assert!(made.len() <= 253, "{made:?}");
    }
    for made in [pods::pod(name, uid), pods::config(ConfigKind::Secret, name, uid), pods::hostname(None, name)] {
        assert!(made.len() <= 253, "{made:?}");
    }
    let reference = ExportedObjectReference {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        namespaced_name: object.to_string(),
        ..ExportedObjectReference::default()
    };
    if let Some(found) = reference.object() {
        assert_eq!(found, object);
    }
}
