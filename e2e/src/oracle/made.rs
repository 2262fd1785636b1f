//! Slices that a member agent makes of what Services select in its own cluster: S28 (only beside the Service, owned by
//! it, not too big, and nobody else's).

use fleet_api::{kinds, labels};
use serde_json::Value;

use super::history::{History, Life, Version};
use super::object::{is_made_slice, label, list, text};
use super::violation::Violation;

/// Most endpoints of a slice.
const LIMIT: usize = 100;

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let members = history.members().into_iter();
    let slices = members.flat_map(|member| history.of_kind(member, kinds::ENDPOINT_SLICE));
    slices.flat_map(|slice| of_slice(history, slice)).collect()
}

fn of_slice(history: &History<'_>, life: &Life<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut before: Option<&Version<'_>> = None;
    for version in &life.versions {
        let ours = version.author().is_agent();
        let seized = before.is_some_and(|before| !is_made_slice(before.object()));
        if ours && is_made_slice(version.object()) {
            let problem = if seized {
                Some("it was somebody else's")
            } else {
                misplaced(history, life, version)
            };
            found.extend(problem.map(|problem| Violation::of("S28", life, version, problem)));
        }
        before = Some(version);
    }
    found
}

fn misplaced(
    history: &History<'_>,
    life: &Life<'_>,
    version: &Version<'_>,
) -> Option<&'static str> {
    let slice = version.object();
    let mut owners = list(slice, "/metadata/ownerReferences");
    let Some(owner) = owners.find(|owner| owner["controller"] == true) else {
        return Some("nothing owns it");
    };
    let key = (life.namespace(), label(slice, labels::SERVICE_NAME));
    let is_service = |owner: &Value| owner["kind"] == "Service" && owner["apiVersion"] == "v1";
    let mut services = history.named(life.cluster, kinds::SERVICE, key);
    if !is_service(owner) || !services.any(|service| service.uid() == text(owner, "/uid")) {
        return Some("its owner is not the Service that it backs");
    }
    (list(slice, "/endpoints").count() > LIMIT).then_some("it has too many endpoints")
}
