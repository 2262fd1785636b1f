//! S18: a slice leaves its cluster once, and of a Service that has machines none is in two slices.

use std::collections::BTreeSet;

use fleet_api::{kinds, labels};
use serde_json::Value;

use super::history::{HUB, History, Life, Version};
use super::object::{is_made_slice, label, list, terminating, text};
use super::quiescence::{Moment, moments};
use super::violation::{Violation, said};

/// Copies of a slice that may be there while one takes the place of the other.
const MEANWHILE: usize = 2;

/// All of them.
pub(super) fn check(history: &History<'_>) -> Vec<Violation> {
    let mut found: Vec<Violation> = Vec::new();
    for moment in moments(history) {
        found.extend(exported_twice(history, &moment));
        for member in history.members() {
            found.extend(made_twice(history, &moment, member));
        }
    }
    for life in history.of_kind(HUB, kinds::ENDPOINT_SLICE_EXPORT) {
        found
            .extend(life.versions.first().and_then(|version| one_too_many(history, life, version)));
    }
    found
}

/// The slice that an EndpointSliceExport is of.
fn source<'a>(life: &Life<'a>, export: &'a Value) -> (&'a str, &'a str) {
    (life.namespace(), text(export, "/spec/endpointSliceReference/uid"))
}

/// When nothing moves, at most one.
fn exported_twice(history: &History<'_>, moment: &Moment) -> Vec<Violation> {
    let mut sources = BTreeSet::new();
    let mut found = Vec::new();
    for life in history.of_kind(HUB, kinds::ENDPOINT_SLICE_EXPORT) {
        let export = life.at(moment.until()).filter(|export| {
            text(export, "/spec/ownerServiceReference/namespace") == moment.namespace
        });
        let Some(export) = export else { continue };
        if !sources.insert(source(life, export)) {
            found.extend(said("S18", life, moment, "its slice is exported twice"));
        }
    }
    found
}

/// At any time, at most one too many.
fn one_too_many(history: &History<'_>, life: &Life<'_>, made: &Version<'_>) -> Option<Violation> {
    let of = source(life, made.object());
    let same = history.of_kind(HUB, kinds::ENDPOINT_SLICE_EXPORT).filter(|other| {
        let there = other.at(made.here());
        there.is_some_and(|export| !terminating(export) && source(other, export) == of)
    });
    let many = made.author().is_agent() && same.count() > MEANWHILE;
    many.then(|| Violation::of("S18", life, made, "its slice is exported over and over"))
}

/// When nothing moves, a machine is one endpoint of a Service, per family and ports.
fn made_twice(history: &History<'_>, moment: &Moment, member: &str) -> Vec<Violation> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let slices = history.of_kind(member, kinds::ENDPOINT_SLICE);
    for life in slices.filter(|life| life.namespace() == moment.namespace) {
        let Some(slice) = life.at(moment.until()).filter(|slice| is_made_slice(slice)) else {
            continue;
        };
        let ports: BTreeSet<_> = list(slice, "/ports").map(Value::to_string).collect();
        let group = (label(slice, labels::SERVICE_NAME), text(slice, "/addressType"), ports);
        for endpoint in list(slice, "/endpoints") {
            let identity = (text(endpoint, "/targetRef/name"), endpoint["addresses"].to_string());
            if !seen.insert((group.clone(), identity)) {
                found.extend(said("S18", life, moment, "an endpoint is in two slices"));
            }
        }
    }
    found
}
