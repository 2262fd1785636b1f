//! Pods on virtual nodes, counted for metrics.

use std::collections::BTreeMap;

use fleet_api::names::member_of_namespace;
use fleet_model::objects::offload::PodExport;
use fleet_virtual_node::life::{ExportState, state};

use super::orphan;
use crate::snapshot::HubSnapshot;

/// Pods of a fleet that run in other members than their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodCount {
    /// By origin, executor and how far they are.
    pub pods: BTreeMap<(String, String, &'static str), usize>,
    /// Imports without an export that are kept for now.
    pub withheld: usize,
    /// Executors for which so many are kept that more probably the hub has lost their exports.
    pub open_fuses: usize,
}

/// Counts them. The cost depends on the size of the fleet: this is for scrapes, not for plans.
pub fn count(snapshot: &HubSnapshot) -> PodCount {
    let (withheld, open_fuses) = orphan::withheld(snapshot);
    let mut count = PodCount { withheld, open_fuses, ..PodCount::default() };
    for export in snapshot.pod_exports.iter() {
        let Some(origin) = member_of_namespace(&export.name.namespace) else { continue };
        // An origin states any name: those without a virtual node make no series.
        let node = fleet_api::ObjectName::new(
            export.name.namespace.clone(),
            export.spec.executor.as_str(),
        );
        let known = snapshot.virtual_nodes.get(&node).is_some();
        let executor = if known { export.spec.executor.clone() } else { "unknown".to_owned() };
        let label = far(export).as_str();
        *count.pods.entry((origin.to_owned(), executor, label)).or_default() += 1;
    }
    count
}

fn far(export: &PodExport) -> fleet_virtual_node::life::State {
    let status = &export.status;
    let exported = ExportState {
        deleting: export.meta.is_terminating(),
        accepted: status.accepted,
        rejected: status.rejected.clone(),
        remote: status.remote.clone(),
        released: status.released,
        ..ExportState::default()
    };
    let pod = fleet_virtual_node::pod::LocalPod::default();
    state(Some(&pod), Some(&exported))
}
