//! What becomes of an export, for programs that explain it.

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_api::conditions::READY;
use fleet_model::objects::multicluster::standard;
use fleet_plan::conditions::find;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::words::{CLEAN_UP, DENIED, is_ours};
use crate::Settings;
use crate::hub_side::HubSide;
use crate::intent::{self, Intent};
use crate::snapshot::MemberSnapshot;

/// The decision on the ServiceExport of a Service.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision<'a> {
    /// It is being deleted.
    Ending(&'a Object<standard::ServiceExport>),
    /// Another implementation serves the Service in this cluster.
    Foreign,
    /// What the agent does with the Service, and whether the hub has its export.
    Ours(Intent<'a>, bool),
}

/// The decision on a Service; `None` if no ServiceExport names it.
pub fn decision<'a>(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &'a MemberSnapshot,
) -> Option<Decision<'a>> {
    let export = snapshot.standard_exports.get(service)?;
    if export.meta.is_terminating() {
        return Some(Decision::Ending(export));
    }
    if intent::foreign_import(service, snapshot).is_some() {
        return Some(Decision::Foreign);
    }
    let intent = Intent::of(settings, service, snapshot);
    let current = HubSide::of(snapshot).and_then(|hub| intent::current(hub, service));
    let exported = intent.exported(export, current.map(|current| &*current.object));
    Some(Decision::Ours(intent, exported.and(current).is_some()))
}

/// Whether these conditions of a ServiceExport report that its namespace is denied.
pub fn is_denied(conditions: &[Condition]) -> bool {
    find(conditions, READY).is_some_and(|ready| ready.message.contains(DENIED))
}

/// Whether these conditions of a ServiceExport report that the agent takes back what it made for the API.
pub fn is_withdrawn(conditions: &[Condition]) -> bool {
    find(conditions, READY).is_some_and(|ready| ready.message == CLEAN_UP)
}

/// Whether one of these conditions of a ServiceExport is the agent's: other implementations write them, too.
pub fn is_reported(conditions: &[Condition]) -> bool {
    conditions.iter().any(|condition| is_ours(&condition.message))
}
