//! The hash of what the executor acts on.

use fleet_api::names::digest;
use fleet_api::offload::PodExportSpec;

/// The hash of a spec. How long its containers have to end, and whether it has run, are no part of it: that does not make it another
/// Pod.
///
/// # Panics
/// Never: the types have texts as keys.
pub fn spec_hash(spec: &PodExportSpec) -> String {
    let (spec_hash, stop_grace_seconds, resumed) = (String::new(), None, false);
    let bare = PodExportSpec { spec_hash, stop_grace_seconds, resumed, ..spec.clone() };
    digest(&serde_json::to_string(&bare).expect("texts are the keys of all maps"))
}
