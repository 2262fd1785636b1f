//! What a Go agent does not find: it looks for an export or a request under one name only.

use fleet_api::v1alpha1::{InternalServiceExport, InternalServiceImport};
use fleet_api::{ExportedObjectReference, kinds};
use kube::ResourceExt;
use kube::api::ObjectMeta;

/// One sentence for each Service whose export or request has a name that a Go agent does not know.
///
/// Such a name was taken because another Service had the plain one. A Go agent would take that one's
/// object for its own, and both would delete it again and again.
pub fn unknown(
    exports: &[InternalServiceExport],
    requests: &[InternalServiceImport],
) -> Vec<String> {
    let exported = exports.iter().filter_map(|export| {
        let reference = &export.spec.service_reference;
        let kind = kinds::INTERNAL_SERVICE_EXPORT.kind;
        let what = "unexport it, or the other Service, before a Go agent starts";
        sentence(kind, &export.metadata, &export.name_any(), reference, what)
    });
    let imported = requests.iter().filter_map(|request| {
        let reference = &request.spec.service_import_reference;
        let kind = kinds::INTERNAL_SERVICE_IMPORT.kind;
        let what = "delete its import, or that of the other Service, before a Go agent starts";
        sentence(kind, &request.metadata, &request.name_any(), reference, what)
    });
    exported.chain(imported).collect()
}

fn sentence(
    kind: &str,
    metadata: &ObjectMeta,
    name: &str,
    reference: &ExportedObjectReference,
    what: &str,
) -> Option<String> {
    let plain = format!("{}-{}", reference.namespace, reference.name);
    if name == plain || metadata.deletion_timestamp.is_some() {
        return None;
    }
    let service = format!("{}/{}", reference.namespace, reference.name);
    Some(format!(
        "Service {service}: a Go agent does not recognise its {kind} {name}, because it looks for \
         {plain}: {what}"
    ))
}

#[cfg(test)]
mod tests {
    use fleet_api::ObjectName;
    use fleet_api::names::internal_export_candidates;
    use fleet_api::v1alpha1::{InternalServiceExportSpec, InternalServiceImportSpec};

    use super::*;

    fn reference(service: &ObjectName) -> ExportedObjectReference {
        ExportedObjectReference {
            namespace: service.namespace.to_string(),
            name: service.name.to_string(),
            ..ExportedObjectReference::default()
        }
    }

    fn export(name: &str, service: &ObjectName) -> InternalServiceExport {
        let service_reference = reference(service);
        let spec = InternalServiceExportSpec { service_reference, ..Default::default() };
        InternalServiceExport::new(name, spec)
    }

    fn request(name: &str, service: &ObjectName) -> InternalServiceImport {
        let service_import_reference = reference(service);
        InternalServiceImport::new(name, InternalServiceImportSpec { service_import_reference })
    }

    /// Of two Services with one plain name, the second is reported, whether exported or imported.
    #[test]
    fn a_service_under_another_name_is_told() {
        let (first, second) = (ObjectName::new("a-b", "c"), ObjectName::new("a", "b-c"));
        let other = internal_export_candidates(&second).nth(1).unwrap();
        let exports = [export("a-b-c", &first), export(&other, &second)];
        let requests = [request("a-b-c", &first), request(&other, &second)];
        assert_eq!(unknown(&exports[..1], &requests[..1]), Vec::<String>::new());
        let told = unknown(&exports, &requests);
        assert_eq!(told.len(), 2, "{told:?}");
        for (told, kind) in told.iter().zip(["InternalServiceExport", "InternalServiceImport"]) {
            assert!(told.starts_with("Service a/b-c: "), "{told}");
            assert!(told.contains(&format!("its {kind} {other}, because")), "{told}");
        }
    }

    #[test]
    fn what_is_going_is_not_told() {
        let mut going = export("another", &ObjectName::new("team", "shop"));
        going.metadata.deletion_timestamp =
            serde_json::from_value(serde_json::json!("2026-01-01T00:00:00Z")).unwrap();
        assert_eq!(unknown(&[going], &[]), Vec::<String>::new());
    }
}
