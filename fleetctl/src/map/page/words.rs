//! Colours and words that several parts of the page share.

use fleet_api::ObjectName;
use jiff::SignedDuration;

use crate::cause::Cause;
use crate::explain::words::age;
use crate::view::{Edge, Endpoints, Finding, MemberView, ServiceView};

/// How good something is. Its name is a class of the style, and never the only sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tone {
    Ok,
    Warn,
    Bad,
}

impl Tone {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// That of a part in a Service.
pub(super) fn of_edge(edge: &Edge) -> Tone {
    match (&edge.finding, edge.endpoints.ready) {
        (Some(finding), _) if finding.cause.is_passing() => Tone::Warn,
        (Some(_), _) => Tone::Bad,
        (None, 0) => Tone::Warn,
        (None, _) if edge.last_resort > 0 => Tone::Warn,
        (None, _) => Tone::Ok,
    }
}

/// That of a Service: the worst cause.
pub(super) fn of_service(service: &ServiceView) -> Tone {
    let of_finding =
        |finding: &Finding| if finding.cause.is_passing() { Tone::Warn } else { Tone::Bad };
    let edges = service.exporters.iter().chain(&service.importers).map(of_edge);
    service.findings().map(of_finding).chain(edges).max().unwrap_or(Tone::Ok)
}

/// That of a member.
pub(super) fn of_member(member: &MemberView) -> Tone {
    match member.state {
        _ if member.credential == Some("expired") => Tone::Bad,
        "Silent" | "Left" | "Unknown" => Tone::Bad,
        _ if member.drained.is_some() || member.unseen.is_some() => Tone::Warn,
        _ if member.reach.is_some_and(|reach| reach.unreachable > 0) => Tone::Warn,
        "Joined" | "Unmanaged" => Tone::Ok,
        _ => Tone::Warn,
    }
}

/// A cause in words, as `no endpoints`.
pub(super) fn cause(cause: Cause) -> String {
    let mut words = String::new();
    for letter in format!("{cause:?}").chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

/// The name of a Service.
pub(super) fn name(service: &ServiceView) -> ObjectName {
    ObjectName::new(service.namespace.as_str(), service.name.as_str())
}

/// Endpoints as `3 ready · 1 draining`.
pub(super) fn endpoints(edge: &Edge) -> String {
    let Endpoints { ready, draining } = edge.endpoints;
    let mut parts = vec![format!("{ready} ready")];
    parts.extend((draining > 0).then(|| format!("{draining} draining")));
    parts.extend((edge.last_resort > 0).then(|| format!("{} last resort", edge.last_resort)));
    parts.join(" · ")
}

/// How long ago, as `3m ago`.
pub(super) fn ago(seconds: i64) -> String {
    format!("{} ago", age(SignedDuration::from_secs(seconds)))
}
