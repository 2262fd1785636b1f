//! The properties by which programs in this cluster know its names: that of the cluster, and that of its clusterset.

use fleet_accumulator::Object;
use fleet_api::multicluster::standard::{CLUSTER_ID, CLUSTERSET_ID, ClusterPropertySpec};
use fleet_api::{ObjectName, annotations, labels};
use fleet_model::objects::multicluster::standard::ClusterProperty;
use fleet_model::steps::{LOCAL, to_json};
use fleet_plan::Step;
use serde_json::json;

use super::published::takes_part;
use crate::Settings;
use crate::fence::record_name;
use crate::hub_side::{Claim, HubSide, is_known};
use crate::measurement::Plan;
use crate::snapshot::MemberSnapshot;

/// Writes the properties once the hub has accepted this cluster. The clusterset's is deleted when nothing of it is left here; the
/// cluster's stays. A property that is there already stays as it is, and one that another program made for good.
pub(super) fn write(settings: &Settings, snapshot: &MemberSnapshot, plan: &mut Plan) {
    if !settings.multicluster.is_watched() || !is_known(&snapshot.cluster_properties) {
        return;
    }
    let Some(hub) = HubSide::of(snapshot) else { return };
    if !takes_part(settings, snapshot) {
        if is_nothing_left(hub, snapshot) {
            plan.steps.extend(delete(snapshot));
        }
    } else if let Claim::Accepted(incarnation) = hub.claim(&settings.identity) {
        let report = snapshot.cluster_reports.get(&record_name(&settings.identity));
        let clusterset = report.and_then(|report| report.clusterset_id.as_deref());
        let Some(clusterset) = clusterset else { return };
        let create = |name, value| create(snapshot, name, value, incarnation);
        plan.steps.extend(create(CLUSTER_ID, &settings.identity.cluster));
        plan.steps.extend(create(CLUSTERSET_ID, clusterset));
    }
}

fn get<'a>(snapshot: &'a MemberSnapshot, name: &str) -> Option<&'a Object<ClusterProperty>> {
    snapshot.cluster_properties.get(&ObjectName::cluster(name))
}

fn create(snapshot: &MemberSnapshot, name: &str, value: &str, hub: &str) -> Option<Step> {
    let spec = ClusterPropertySpec { value: value.to_owned() };
    let metadata = json!({ "annotations": { annotations::MULTICLUSTER_HUB: hub } });
    let body = json!({ "metadata": metadata, "spec": to_json(&spec) });
    let name = ObjectName::cluster(name);
    let is_free = snapshot.cluster_properties.get(&name).is_none();
    is_free.then(|| LOCAL.create::<ClusterProperty>(name, body))
}

/// Whatever value it has: the hub's may be another one by now.
fn delete(snapshot: &MemberSnapshot) -> Option<Step> {
    let property = get(snapshot, CLUSTERSET_ID)?;
    (property.is_ours && !property.terminating).then(|| LOCAL.delete(property))
}

/// Whether no object of the standard API is left that this agent made.
fn is_nothing_left(hub: HubSide<'_>, snapshot: &MemberSnapshot) -> bool {
    hub.is_live()
        && !snapshot.exported_services.iter().any(|exported| exported.service.is_some())
        && !snapshot
            .slice_exports
            .iter()
            .any(|copy| copy.meta.label(labels::MULTICLUSTER_NAMESPACE).is_some())
        && !snapshot.standard_imports.iter().any(|import| import.hub().is_some())
        && !snapshot.endpoint_slices.iter().any(|slice| slice.is_imported_by_standard())
}
