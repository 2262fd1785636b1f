//! Slices that a member agent makes of what Services select in its own cluster: S28 (only beside the Service, owned by
//! it, not too big, and no other manager's), S29 (as long as the Service wants them, of machines that are there).

use fleet_api::{kinds, labels};
use serde_json::Value;

use super::history::{History, Life, Version};
use super::object::{condition_status, is_made_slice, label, list, ready, terminating, text};
use super::quiescence::{Moment, moments};
use super::violation::{Violation, said};

/// Most endpoints of a slice.
const LIMIT: usize = 100;

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let members = history.members().into_iter();
    let slices = members.flat_map(|member| history.of_kind(member, kinds::ENDPOINT_SLICE));
    let mut found: Vec<_> = slices.flat_map(|slice| of_slice(history, slice)).collect();
    for moment in moments(history) {
        for member in history.members() {
            found.extend(left(history, &moment, member));
        }
    }
    found
}

/// S29: what is there when nothing moves, though it should not be.
fn left(history: &History<'_>, moment: &Moment, member: &str) -> Vec<Violation> {
    let slices = history.of_kind(member, kinds::ENDPOINT_SLICE);
    let slices = slices.filter(|life| life.namespace() == moment.namespace);
    let left = slices.filter_map(|life| {
        let slice = life.at(moment.until());
        let slice = slice.filter(|slice| is_made_slice(slice) && !terminating(slice))?;
        said("S29", life, moment, groundless(history, moment, member, slice)?)
    });
    left.collect()
}

fn groundless(
    history: &History<'_>,
    moment: &Moment,
    member: &str,
    slice: &Value,
) -> Option<&'static str> {
    let there = |kind, name| {
        let mut lives = history.named(member, kind, (&moment.namespace, name));
        lives.find_map(|life| life.at(moment.until()))
    };
    let Some(service) = there(kinds::SERVICE, label(slice, labels::SERVICE_NAME)) else {
        return Some("its Service is gone");
    };
    let selector = service["spec"]["selector"].as_object().filter(|pairs| !pairs.is_empty());
    let Some(selector) = selector.filter(|_| service["spec"]["type"] != "ExternalName") else {
        return Some("its Service selects nothing");
    };
    let mut endpoints = list(slice, "/endpoints").peekable();
    if endpoints.peek().is_none() {
        return Some("it has no endpoint");
    }
    endpoints.find_map(|endpoint| {
        let Some(machine) = there(kinds::EXTERNAL_WORKLOAD, text(endpoint, "/targetRef/name"))
        else {
            return Some("a machine of it is gone");
        };
        let selected = selector.iter().all(|(key, value)| label(machine, key) == value);
        let own: Vec<_> = list(machine, "/spec/workloadIPs").map(|ip| text(ip, "/ip")).collect();
        let mut used = list(endpoint, "/addresses").filter_map(Value::as_str);
        if !selected {
            Some("a machine of it is not selected")
        } else if !used.all(|address| own.contains(&address)) {
            Some("a machine of it has another address")
        } else if ready(endpoint) && condition_status(machine, "Ready") != "True" {
            Some("a machine of it is not ready")
        } else {
            None
        }
    })
}

fn of_slice(history: &History<'_>, life: &Life<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut before: Option<&Version<'_>> = None;
    for version in &life.versions {
        let ours = version.author().is_agent();
        let seized = before.is_some_and(|before| !is_made_slice(before.object()));
        if ours && is_made_slice(version.object()) {
            let problem = if seized {
                Some("it was another manager's")
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
