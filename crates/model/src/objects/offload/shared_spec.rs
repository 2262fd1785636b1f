//! What crosses of a Pod, kept once: an export and its import have the same, and both are on the hub.

use std::sync::{Arc, LazyLock};

use fleet_accumulator::Shared;
use fleet_api::offload::PodExportSpec;
use parking_lot::Mutex;

static SPECS: LazyLock<Mutex<Shared<PodExportSpec>>> = LazyLock::new(Mutex::default);

/// The spec, in one allocation with an equal one.
pub(super) fn share(spec: PodExportSpec) -> Arc<PodExportSpec> {
    let key = (spec.origin.clone(), spec.spec_hash.clone());
    SPECS.lock().get(&key, spec)
}
