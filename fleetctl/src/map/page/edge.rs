//! Labels of lines.

use super::words::{cause, endpoints};
use crate::cause::Cause;
use crate::view::{Edge, Share, Unreached};

/// The label of what a member exports.
pub(super) fn export_label(edge: &Edge) -> String {
    match &edge.finding {
        Some(finding) => format!("{} · {}", cause(finding.cause), endpoints(edge)),
        None => endpoints(edge),
    }
}

/// The label of what a member imports: where its new connections go, and how fast changes arrive.
pub(super) fn import_label(edge: &Edge) -> String {
    if let Some(finding) = &edge.finding {
        let is_hop = finding.cause == Cause::NotReached && !edge.unreached.is_empty();
        return if is_hop { unreached(edge) } else { cause(finding.cause) };
    }
    let mut parts = vec![shares(edge)];
    parts.extend(edge.lag_p99_millis.map(|millis| format!("p99 {millis} ms")));
    parts.join(" · ")
}

/// The hop at which the first connection stops, and how many others do.
fn unreached(edge: &Edge) -> String {
    let more = edge.unreached.len().saturating_sub(1);
    let more = if more > 0 { format!(" +{more}") } else { String::new() };
    let one = |it: &Unreached| format!("{} to {} fails{more}", it.hop, it.member);
    edge.unreached.first().map(one).unwrap_or_default()
}

/// The shares in force; the numbers of endpoints where the cluster could not be read.
pub(super) fn shares(edge: &Edge) -> String {
    let used: Vec<_> = edge.shares.iter().filter(|share| share.percent > 0).collect();
    if edge.shares.is_empty() {
        return endpoints(edge);
    }
    if used.is_empty() {
        return "no endpoint".to_owned();
    }
    let one = |share: &&Share| {
        let whose = if share.member == edge.member { "own" } else { share.member.as_str() };
        format!("{whose} {} %", share.percent)
    };
    let first: Vec<_> = used.iter().take(2).map(one).collect();
    let more = used.len().saturating_sub(2);
    let more = if more > 0 { format!(" +{more}") } else { String::new() };
    first.join(" ") + &more
}
