//! An export, as decisions read it.

use fleet_accumulator::Object;
use fleet_model::objects::offload::PodExport;
use fleet_virtual_node::life::ExportState;

/// The export. One whose spec cannot be read has none: it is replaced, or stopped.
pub(super) fn export_state(export: &Object<PodExport>) -> ExportState {
    let PodExport { meta, spec, status, .. } = &*export.object;
    ExportState {
        spec: (**spec).clone(),
        deleting: meta.is_terminating(),
        accepted: status.accepted,
        rejected: status.rejected.clone(),
        remote: status.remote.clone(),
        released: status.released,
    }
}
