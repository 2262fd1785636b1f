//! Which agents serve the API of multicluster.x-k8s.io. No object shows their flags, but what they have written does.

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_api::multicluster::standard::CLUSTERSET_ID;
use fleet_api::names::MEMBER_LEASE;
use fleet_model::objects::multicluster::standard::ServiceExport;
use hub_agent::Settings;
use hub_agent::snapshot::HubSnapshot;
use member_agent::multicluster::export::{is_reported, is_withdrawn};
use member_agent::snapshot::MemberSnapshot;
use member_agent::{Identity, MulticlusterMode as Mode, Traffic};

/// The settings with the mode of the hub agent: where it serves the API, it has answered members with the id of the clusterset. Where it
/// decides about traffic, plans leave in force what verdicts of silence have brought into force: whether they are certain, it alone knows.
pub(crate) fn by_hub(hub: &HubSnapshot, settings: Settings) -> Settings {
    let settings = Settings { traffic: has_verdicts(hub), ..settings };
    let mut answered = hub.cluster_reports.iter().filter_map(|it| it.clusterset_id.as_deref());
    match answered.next() {
        None => settings,
        Some(id) => Settings { multicluster: Mode::On, clusterset_id: id.to_owned(), ..settings },
    }
}

/// The mode of a member agent, from its cluster and its namespace on the hub.
pub(crate) fn by_member(snapshot: &MemberSnapshot) -> Mode {
    let exports = || snapshot.standard_exports.iter();
    if exports().any(|export: &Object<ServiceExport>| is_withdrawn(&export.conditions)) {
        Mode::CleanUp
    } else if has_published(snapshot)
        || is_in_clusterset(snapshot)
        || snapshot.standard_imports.iter().any(|import| import.hub().is_some())
        || exports().any(|export| is_reported(&export.conditions))
    {
        Mode::On
    } else {
        Mode::Off
    }
}

/// Whether a member agent directs traffic: then it notes in its Lease what it has applied.
///
/// Its plans are computed without what it remembers and without policies, drains and verdicts: endpoints stay in the places that they
/// have, and only those that come or go are missing writes.
pub(crate) fn traffic_by_hub(identity: &Identity, hub: &HubSnapshot) -> Traffic {
    let lease = ObjectName::new(identity.hub_namespace.as_str(), MEMBER_LEASE);
    let lease = hub.member_leases.get(&lease);
    let enabled = lease.is_some_and(|lease| lease.applied.is_some() || lease.published.is_some());
    Traffic { enabled, ..Traffic::default() }
}

/// Whether the hub has verdicts of silence.
fn has_verdicts(hub: &HubSnapshot) -> bool {
    hub.member_traffics.iter().any(|member| member.status.silence.is_some())
}

fn has_published(snapshot: &MemberSnapshot) -> bool {
    let mut reports = snapshot.cluster_reports.iter();
    reports.any(|report| report.published_to.is_some())
        || snapshot.exported_services.iter().next().is_some()
}

fn is_in_clusterset(snapshot: &MemberSnapshot) -> bool {
    let property = snapshot.cluster_properties.get(&ObjectName::cluster(CLUSTERSET_ID));
    property.is_some_and(|property| property.is_ours)
}
