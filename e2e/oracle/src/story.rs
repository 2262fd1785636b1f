//! What happened around a violation: enough of it to see the cause in the log of a run whose record is gone.

use std::fmt::Write as _;

use super::history::{History, LAG, Life, Version};
use super::object::{exporters, finalizers, terminating};
use super::record::Micros;
use super::requests::Request;
use super::tenancy::claimants;
use super::violation::Violation;

/// Before a violation: a cause, an agent's plan and its writes.
const BEFORE: Micros = LAG + 1_000_000;
const AFTER: Micros = 500_000;
/// How many of the last lines are shown.
const LINES: usize = 60;
/// How much of a request's body is shown, in characters.
const BODY: usize = 160;

/// Lines for the versions of all objects of the same Services, in all clusters, and of the agents' writes about
/// them that failed, by time.
pub(super) fn around(history: &History<'_>, violation: &Violation) -> Vec<String> {
    let mut told = vec![format!("{violation}\n")];
    let Some((at, subjects)) = found(history, violation) else { return told };
    let span = at - BEFORE..=at + AFTER;
    let about = |life: &&Life<'_>| life.subjects().iter().any(|subject| subjects.contains(subject));
    let objects: Vec<_> = history.lives.iter().filter(about).collect();
    let mut lines = Vec::new();
    for life in &objects {
        let versions = life.versions.iter().filter(|version| span.contains(&version.when));
        lines.extend(versions.map(|version| (version.when, of_version(life, version))));
    }
    let names = |request: &Request| objects.iter().any(|life| request.name == life.name());
    let failed = history.agent_requests().filter(|request| {
        let failed = request.is_write() && !request.succeeded();
        failed && span.contains(&request.received) && names(request)
    });
    lines.extend(failed.map(|request| (request.received, of_request(request))));
    lines.sort();
    let last = lines.len().saturating_sub(LINES);
    told.extend(
        lines[last..]
            .iter()
            .map(|(when, what)| format!("  {:+9.6} s {what}\n", seconds(*when - at))),
    );
    told
}

/// When it happened, and which Services it is about.
fn found(history: &History<'_>, violation: &Violation) -> Option<(Micros, Vec<String>)> {
    let is_it =
        |life: &&Life<'_>| life.cluster == violation.cluster && life.title() == violation.object;
    history.lives.iter().filter(is_it).find_map(|life| {
        let mut versions = life.versions.iter();
        let version = versions.find(|version| version.version() == violation.version)?;
        Some((version.when, life.subjects()))
    })
}

#[expect(clippy::cast_precision_loss, reason = "some seconds")]
fn seconds(micros: Micros) -> f64 {
    micros as f64 / 1e6
}

fn of_version(life: &Life<'_>, version: &Version<'_>) -> String {
    let object = version.object();
    let mut told = format!("{} {} {}", life.cluster, version.version(), life.title());
    let _ = write!(told, " {:?}", version.event.what);
    if terminating(object) {
        told.push_str(" terminating");
    }
    let short = |name: &&str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let held: Vec<_> = finalizers(object).iter().map(short).collect();
    for (what, names) in [
        ("held by", held),
        ("exported by", exporters(object).into_iter().map(str::to_owned).collect()),
        ("claimed by", claimants(object).into_iter().collect()),
    ] {
        if !names.is_empty() {
            let _ = write!(told, ", {what} {}", names.join(" "));
        }
    }
    match version.request {
        Some(request) => format!("{told} <- {}", of_request(request)),
        None => format!("{told} <- unknown"),
    }
}

fn of_request(request: &Request) -> String {
    let Request { author, verb, resource, subresource, namespace, name, code, body, .. } = request;
    let took = seconds(request.answered - request.received);
    let body: String = body.to_string().chars().take(BODY).collect();
    format!(
        "{author:?} {verb} {resource}/{subresource} {namespace}/{name} {code} in {took:.3} s {body}"
    )
}
