//! The hash of what the executor acts on.

use fleet_api::names::digest;
use fleet_api::offload::PodExportSpec;

/// The hash of a spec. How long its containers have to end is no part of it: that does not make it another Pod.
///
/// # Panics
/// Never: the types have texts as keys.
pub fn spec_hash(spec: &PodExportSpec) -> String {
    let bare = PodExportSpec { spec_hash: String::new(), stop_grace_seconds: None, ..spec.clone() };
    digest(&serde_json::to_string(&bare).expect("texts are the keys of all maps"))
}
