//! In what exports differ, as their users read it.

use fleet_api::limits::resolved;
use fleet_api::multicluster::{Conflict, ConflictReason, IpFamily, ServicePort, ServiceProperties};
use fleet_plan::text::truncate;

use super::export::Export;
use super::ports::sorted;

/// How many of the clusters that differ a message names.
const NAMED: usize = 3;
/// How long the value in force may be in a message, in bytes: names of clusters have room beside it.
const VALUE: usize = 512;

/// In what `exports` differ from what is in force, in the order of the reasons. The first export is the winner's.
pub(super) fn between(exports: &[Export<'_>], in_force: &ServiceProperties) -> Vec<Conflict> {
    let Some(winner) = exports.first() else { return Vec::new() };
    let winner = Winner { export: winner, ports: sorted(&winner.properties.ports) };
    let conflict = |reason| conflict(reason, &winner, exports, in_force);
    ConflictReason::ALL.into_iter().filter_map(conflict).collect()
}

/// The export that the others are compared with.
struct Winner<'a> {
    export: &'a Export<'a>,
    ports: Vec<&'a ServicePort>,
}

fn conflict(
    reason: ConflictReason,
    winner: &Winner<'_>,
    exports: &[Export<'_>],
    in_force: &ServiceProperties,
) -> Option<Conflict> {
    let differs = |export: &&Export<'_>| differs(reason, export, winner, in_force);
    let others: Vec<_> = exports.iter().filter(differs).map(|export| export.cluster).collect();
    let message = || {
        let value = shortened(&value(reason, in_force));
        let who = who(&others, exports.len());
        let text = format!("In force: {value} {}; {who}", whose(reason, winner.export, exports));
        truncate(&text, resolved::MESSAGE.accepted).to_owned()
    };
    (!others.is_empty()).then(|| Conflict { reason, message: message() })
}

/// Whether an export differs in one property. Most are the winner's; type and families stay what they were.
fn differs(
    reason: ConflictReason,
    export: &Export<'_>,
    winner: &Winner<'_>,
    in_force: &ServiceProperties,
) -> bool {
    let (own, other) = (&export.properties, &winner.export.properties);
    let affinities = || (export.affinity(), winner.export.affinity());
    match reason {
        ConflictReason::TypeConflict => export.type_() != in_force.type_,
        ConflictReason::PortConflict => {
            own.ports != other.ports && sorted(&own.ports) != winner.ports
        }
        // Headless Services have none: that they differ is a matter of the type.
        ConflictReason::SessionAffinityConflict => {
            let (own, other) = affinities();
            export.type_() == winner.export.type_() && own.0 != other.0
        }
        ConflictReason::SessionAffinityConfigConflict => {
            let (own, other) = affinities();
            own.1.zip(other.1).is_some_and(|(own, other)| own != other)
        }
        ConflictReason::InternalTrafficPolicyConflict => {
            own.internal_traffic_policy != other.internal_traffic_policy
        }
        ConflictReason::TrafficDistributionConflict => {
            own.traffic_distribution != other.traffic_distribution
        }
        ConflictReason::IPFamilyConflict => {
            in_force.ip_families.iter().any(|family| !own.ip_families.contains(family))
        }
        ConflictReason::LabelsConflict => {
            own.labels != other.labels && export.labels() != in_force.labels
        }
        ConflictReason::AnnotationsConflict => {
            own.annotations != other.annotations && export.annotations() != in_force.annotations
        }
    }
}

/// The property, and its value in force.
fn value(reason: ConflictReason, in_force: &ServiceProperties) -> String {
    match reason {
        ConflictReason::TypeConflict => format!("type {}", in_force.type_.as_str()),
        ConflictReason::PortConflict => format!("ports {}", ports(&in_force.ports)),
        ConflictReason::SessionAffinityConflict => {
            format!("sessionAffinity {}", in_force.session_affinity.as_str())
        }
        ConflictReason::SessionAffinityConfigConflict => {
            let seconds = in_force.affinity_timeout_seconds.unwrap_or_default();
            format!("sessionAffinityConfig with a timeout of {seconds} s")
        }
        ConflictReason::InternalTrafficPolicyConflict => {
            format!("internalTrafficPolicy {}", in_force.internal_traffic_policy.as_str())
        }
        ConflictReason::TrafficDistributionConflict => {
            let value = in_force.traffic_distribution.as_deref();
            value.map_or_else(
                || "no trafficDistribution".to_owned(),
                |value| format!("trafficDistribution {value}"),
            )
        }
        ConflictReason::IPFamilyConflict => {
            format!("ipFamilies {}", families(&in_force.ip_families))
        }
        ConflictReason::LabelsConflict => count("exported label", in_force.labels.len()),
        ConflictReason::AnnotationsConflict => {
            count("exported annotation", in_force.annotations.len())
        }
    }
}

/// Whose the value in force is, and why.
fn whose(reason: ConflictReason, winner: &Export<'_>, exports: &[Export<'_>]) -> String {
    let (winner, oldest) =
        (winner.cluster, format!("has the oldest export{}", of(winner, exports)));
    match reason {
        ConflictReason::PortConflict => {
            format!("of all clusters, those of {winner}, which {oldest}, first")
        }
        ConflictReason::IPFamilyConflict => {
            format!("as long as a cluster has them; {winner} {oldest}")
        }
        _ => format!("of {winner}, which {oldest}"),
    }
}

/// Among which exports the winner's is the oldest.
fn of(winner: &Export<'_>, exports: &[Export<'_>]) -> &'static str {
    let older = || exports.iter().filter(|export| export.age() < winner.age());
    let yields =
        |export: &Export<'_>| export.type_() == winner.type_() && !export.precedence.is_by_age();
    if older().next().is_none() {
        ""
    } else if older().any(yields) {
        " of a cluster that is not silent"
    } else {
        " of the type in force"
    }
}

/// Which clusters differ, and how many of all.
fn who(others: &[&str], total: usize) -> String {
    let (named, rest) = others.split_at(others.len().min(NAMED));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let differ = if others.len() == 1 { "differs" } else { "differ" };
    format!("{} of {total} clusters {differ}: {}{more}", others.len(), named.join(", "))
}

fn shortened(text: &str) -> String {
    let short = truncate(text, VALUE);
    if short.len() < text.len() { format!("{short}...") } else { text.to_owned() }
}

fn ports(ports: &[ServicePort]) -> String {
    let port = |port: &ServicePort| {
        let ServicePort { name, protocol, port, app_protocol } = port;
        let blank = if name.is_empty() { "" } else { " " };
        let app = app_protocol.as_ref().map(|app| format!(" ({app})")).unwrap_or_default();
        format!("{name}{blank}{port}/{}{app}", protocol.as_str())
    };
    ports.iter().map(port).collect::<Vec<_>>().join(", ")
}

fn families(families: &[IpFamily]) -> String {
    families.iter().map(|family| family.as_str()).collect::<Vec<_>>().join(", ")
}

fn count(what: &str, count: usize) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("one {what}"),
        _ => format!("{count} {what}s"),
    }
}
