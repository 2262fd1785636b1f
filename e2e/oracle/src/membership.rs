//! Leaving: L6 (a member that reports that it has left has left nothing).

use fleet_api::names::{SYSTEM_NAMESPACE, member_of_namespace};
use fleet_api::{annotations, kinds};
use serde_json::Value;

use super::history::{HUB, History, Until, Version};
use super::object::{annotation, condition_status, is_imported_slice, list};
use super::requests::Author;
use super::violation::Violation;

/// The agent types of the original whose part the member agent takes.
const OURS: [&str; 2] = ["MultiClusterServiceAgent", "ServiceExportImportAgent"];

/// L6.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for life in history.of_kind(HUB, kinds::INTERNAL_MEMBER_CLUSTER) {
        let Some(member) = member_of_namespace(life.namespace()) else { continue };
        let mut before = false;
        for version in life.states() {
            let left = has_left(version.object());
            let ours = matches!(version.author(), Author::Member(_));
            if left && !before && ours {
                found.extend(
                    leftovers(history, member, version)
                        .into_iter()
                        .map(|one| Violation::of("L6", life, version, format!("{one} is left"))),
                );
            }
            before = left;
        }
    }
    found
}

fn has_left(membership: &Value) -> bool {
    list(membership, "/status/agentStatus").any(|agent| {
        let ours = OURS.iter().any(|known| agent["type"] == *known);
        let status = serde_json::json!({ "status": agent });
        ours && condition_status(&status, "Joined") == "False"
    })
}

/// Titles of what is there of a member when it reports that it has left.
fn leftovers(history: &History<'_>, member: &str, version: &Version<'_>) -> Vec<String> {
    let (on_hub, at_home) = (version.here(), Until::Time(version.when));
    let kinds_on_hub = [
        kinds::INTERNAL_SERVICE_EXPORT,
        kinds::INTERNAL_SERVICE_IMPORT,
        kinds::ENDPOINT_SLICE_EXPORT,
        kinds::ENDPOINT_SLICE_IMPORT,
    ];
    let exported = kinds_on_hub.into_iter().flat_map(|kind| history.of_kind(HUB, kind));
    let exported = exported.filter(|life| {
        member_of_namespace(life.namespace()) == Some(member) && life.at(on_hub).is_some()
    });
    let made = [kinds::SERVICE, kinds::ENDPOINT_SLICE].into_iter();
    let imported = made.flat_map(|kind| history.of_kind(member, kind)).filter(|life| {
        life.at(at_home).is_some_and(|object| {
            let derived = life.kind == kinds::SERVICE.kind
                && life.namespace() == SYSTEM_NAMESPACE
                && !annotation(object, annotations::MULTI_CLUSTER_SERVICE_UID).is_empty();
            derived || is_imported_slice(object)
        })
    });
    exported.chain(imported).map(super::history::Life::title).collect()
}
