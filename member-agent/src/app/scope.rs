//! What of each kind the member agent watches, in its own cluster and on the hub.

use fleet_accumulator::{SourceId, SourceSet, SourceSpec};
use fleet_api::{labels, names};

use crate::external_workloads;
use crate::settings::Settings;
use crate::snapshot::MemberSnapshot;
use crate::virtual_node_tasks::Selected;

/// What importers of the standard API forget nothing of until it was followed for a while.
pub(super) fn cautious() -> SourceSet {
    SourceSet::from([
        MemberSnapshot::resolved_services(),
        MemberSnapshot::fleet_slices(),
        MemberSnapshot::fleet_reports(),
    ])
}

/// The managers of slices of which the agent reads all that they have.
fn managers(settings: &Settings) -> String {
    let machines = settings.external_workloads.then_some(labels::MANAGED_BY_EXTERNAL_WORKLOADS);
    let pods = settings.endpointslices.managers();
    let standard = settings.multicluster.is_watched();
    let imported = standard.then_some(labels::MANAGED_BY_MULTICLUSTER);
    // Of those that the agent imports itself, hints and conditions count, too.
    let directs = settings.networking && settings.traffic.enabled;
    let directed = directs.then_some(labels::MANAGED_BY_IMPORT);
    let few = machines.into_iter().chain(imported).chain(directed);
    few.chain(pods.iter().copied()).collect::<Vec<_>>().join(",")
}

/// Restricts the watch of a kind of which only few objects matter.
pub(super) fn own(
    settings: &Settings,
    selected: &Selected,
    source: SourceId,
    spec: SourceSpec,
) -> SourceSpec {
    let managed_by = labels::MANAGED_BY;
    if source == MemberSnapshot::managed_slices() {
        spec.labels(format!("{managed_by} in ({})", managers(settings)))
    } else if source == MemberSnapshot::endpoint_slices() && !settings.watches_all_slices() {
        // Those without a manager are among them.
        spec.labels(format!("{managed_by} notin ({})", managers(settings)))
    } else if source == MemberSnapshot::linkerd_leases() {
        // Elsewhere anybody may create a Lease of that name.
        spec.namespace(settings.linkerd_namespace.as_str())
            .fields(format!("metadata.name={}", external_workloads::LEASE))
    } else if source == MemberSnapshot::offload_consent() {
        spec.namespace(settings.identity.system_namespace.as_str())
    } else if source == MemberSnapshot::virtual_pods() {
        spec.selections(selected.pods.subscribe())
    } else if source == MemberSnapshot::offload_config_maps() {
        spec.selections(selected.config_maps.subscribe())
    } else if source == MemberSnapshot::offload_secrets() {
        spec.selections(selected.secrets.subscribe())
    } else if source == MemberSnapshot::virtual_node_objects() {
        spec.labels(labels::VIRTUAL_NODE)
    } else if source == MemberSnapshot::remote_pods()
        || source == MemberSnapshot::remote_config_maps()
    {
        spec.labels(labels::OFFLOAD_ORIGIN)
    } else {
        spec
    }
}

/// Where on the hub a kind is watched: in the member's own namespace, but for what all members read.
pub(super) fn hub(settings: &Settings, source: SourceId, spec: SourceSpec) -> SourceSpec {
    if source == MemberSnapshot::resolved_services() {
        spec.namespace(names::SYSTEM_NAMESPACE)
    } else if source == MemberSnapshot::fleet_slices() {
        // What this member exports itself it does not import from the hub, and `slice_exports` has it already.
        let others = format!("metadata.namespace!={}", settings.identity.hub_namespace);
        spec.labels(labels::MULTICLUSTER_NAMESPACE).fields(others).unidentified()
    } else if source == MemberSnapshot::fleet_reports()
        || source == MemberSnapshot::hub_service_traffics()
        || source == MemberSnapshot::fleet_traffics()
        || source == MemberSnapshot::member_traffics()
    {
        spec.unidentified()
    } else {
        spec.namespace(settings.identity.hub_namespace.as_str())
    }
}
