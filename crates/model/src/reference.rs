//! References between objects, as ours are made.

use fleet_accumulator::{Record, Tracked};
use fleet_api::{ExportedObjectReference, ObjectName, OwnerServiceReference};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Names the Service whose endpoints a slice carries.
pub fn owner(service: &ObjectName) -> OwnerServiceReference {
    OwnerServiceReference {
        namespace: service.namespace.to_string(),
        name: service.name.to_string(),
        namespaced_name: service.to_string(),
    }
}

/// Refers to `record` of this cluster, seen for export at `since`.
pub fn export_of<T: Tracked>(
    cluster: &str,
    record: &Record<T>,
    generation: i64,
    since: Timestamp,
) -> ExportedObjectReference {
    ExportedObjectReference {
        cluster_id: cluster.to_owned(),
        api_version: Some(T::KIND.api_version()),
        kind: T::KIND.kind.to_owned(),
        namespace: record.name.namespace.to_string(),
        name: record.name.name.to_string(),
        resource_version: record.version.to_string(),
        generation,
        uid: record.uid.to_string(),
        namespaced_name: record.name.to_string(),
        exported_since: Some(Time(since)),
    }
}

/// Whether a reference names `record` of this cluster in all that says which object it is. Versions
/// and times are left aside: they change without the object becoming another.
pub fn refers<T: Tracked>(
    reference: &ExportedObjectReference,
    cluster: &str,
    record: &Record<T>,
) -> bool {
    reference.cluster_id == cluster
        && reference.uid == record.uid.to_string()
        && reference.object().as_ref() == Some(&record.name)
}
