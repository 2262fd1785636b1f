//! References between objects, as ours are made.

use std::time::Duration;

use fleet_accumulator::{Object, Tracked};
use fleet_api::ExportedObjectReference;
use fleet_plan::{Plan, Step, StepId};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Refers to `record` of this cluster, seen for export at `since`.
pub fn export_of<T: Tracked>(
    cluster: &str,
    record: &Object<T>,
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

/// Whether a reference names `record` of this cluster in all that identifies the object. Versions
/// and times are left aside: they change without the object becoming another.
pub fn refers<T: Tracked>(
    reference: &ExportedObjectReference,
    cluster: &str,
    record: &Object<T>,
) -> bool {
    reference.cluster_id == cluster
        && record.uid.is(&reference.uid)
        && reference.object().as_ref() == Some(&record.name)
}

/// Writes `step`, which brings generation `ours` of an object to where generation `there` of it is: at once, unless
/// that is an older one. Then another agent has seen more than our watches have delivered yet, as one that has just
/// lost its Lease; only what stays so for [`LAG`] is true, or another party's work.
pub fn write<M>(plan: &mut Plan<M>, step: Step, ours: i64, there: Option<i64>) -> Option<StepId> {
    if there.is_some_and(|there| ours < there) {
        plan.debounce(LAG, "its view may lag behind", step);
        return None;
    }
    Some(plan.push(step))
}

/// How long a watch may lag behind another one.
const LAG: Duration = Duration::from_secs(5);
