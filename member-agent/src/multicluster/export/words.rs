//! Messages of the conditions, each from a closed list of openings: by these an agent knows its own words again.

use fleet_accumulator::Object;
use fleet_api::multicluster::Conflict;
use fleet_model::objects::multicluster::ResolvedService;
use fleet_plan::text::truncate;

use crate::intent::{Hold, Withdrawal};

/// Between messages about several conflicts.
const CLAUSE: &str = "; ";
/// Longest message of a condition, in bytes: API servers refuse a status with a longer one, each time.
const MAX_MESSAGE: usize = 32 * 1024;
/// How much of an id is quoted, in bytes: a ClusterProperty can have a hundred thousand.
const MAX_ID: usize = 256;

/// Note about a Service that another implementation serves.
pub(super) const FOREIGN: &str = "another implementation wrote the ServiceImport of this name; until that is deleted, \
                                  this agent leaves the Service and its ServiceExport as they are";

pub(super) const VALID: &str = "the Service exists and can be exported";
const NO_SERVICE: &str = "there is no Service of this name, or it is being deleted";
const EXTERNAL_NAME: &str = "a Service of type ExternalName cannot be exported";
const IMPORTED: &str = "a Service that was made for an import cannot be exported";
const NOT_VALID: &str = "the Service cannot be exported";
pub(super) const CLEAN_UP: &str =
    "the member agent deletes what it made for this API (--multicluster=clean-up)";
const NO_MEMBER: &str = "this cluster is leaving the fleet, or has left it";
const SYSTEM_NAMESPACE: &str = "this namespace is the agents' own";
const REFUSED_CLUSTER: &str = "the hub does not accept this cluster: ";
const REFUSED: &str = "the hub does not accept the export: ";
const PORTS: &str = "a Service with more than 100 ports cannot be exported; this one has ";
pub(super) const DENIED: &str = "Services of this namespace are not exported (--denied-namespaces)";
const OTHER_ID: &str =
    "the ClusterProperty cluster.clusterset.k8s.io gives this cluster another id than the fleet: ";
const NO_ADDRESS: &str = "the Service has no address yet";
pub(super) const EXPORTED: &str = "the Service is exported to the clusterset";
pub(super) const WAITING: &str = "the hub has not answered yet";
pub(super) const UNKNOWN: &str = "it is not known what the hub has of this Service";
pub(super) const STALE: &str = "the hub does not answer";
pub(super) const UNCLAIMED: &str = "the hub has not accepted this cluster yet";
pub(super) const NO_CONFLICTS: &str = "all clusters that export the Service agree";

/// How all messages begin but those of conflicts, which the hub agent writes.
const OPENINGS: [&str; 20] = [
    VALID,
    NO_SERVICE,
    EXTERNAL_NAME,
    IMPORTED,
    NOT_VALID,
    CLEAN_UP,
    NO_MEMBER,
    SYSTEM_NAMESPACE,
    REFUSED_CLUSTER,
    REFUSED,
    PORTS,
    DENIED,
    OTHER_ID,
    NO_ADDRESS,
    EXPORTED,
    WAITING,
    UNKNOWN,
    STALE,
    UNCLAIMED,
    NO_CONFLICTS,
];

/// Whether a message begins as one of ours.
pub(super) fn is_ours(message: &str) -> bool {
    OPENINGS.iter().any(|opening| message.starts_with(opening))
}

/// Why the condition `Valid` is false; `None` if the Service itself can be exported.
pub(super) fn invalid(withdrawal: Withdrawal<'_>) -> Option<&'static str> {
    match withdrawal {
        Withdrawal::NoService => Some(NO_SERVICE),
        Withdrawal::ExternalName => Some(EXTERNAL_NAME),
        Withdrawal::Imported => Some(IMPORTED),
        Withdrawal::CleanUp
        | Withdrawal::NoMember
        | Withdrawal::SystemNamespace
        | Withdrawal::Refused(_)
        | Withdrawal::TooManyPorts(_) => None,
    }
}

/// Why the Service is not exported.
pub(super) fn withdrawn(withdrawal: Withdrawal<'_>) -> String {
    match withdrawal {
        Withdrawal::NoService | Withdrawal::ExternalName | Withdrawal::Imported => {
            NOT_VALID.to_owned()
        }
        Withdrawal::CleanUp => CLEAN_UP.to_owned(),
        Withdrawal::NoMember => NO_MEMBER.to_owned(),
        Withdrawal::SystemNamespace => SYSTEM_NAMESPACE.to_owned(),
        Withdrawal::Refused(why) => bounded(REFUSED_CLUSTER, why),
        Withdrawal::TooManyPorts(ports) => format!("{PORTS}{ports}"),
    }
}

/// Why nothing new is exported.
pub(super) fn held(hold: Hold<'_>) -> String {
    match hold {
        Hold::NoAddress => NO_ADDRESS.to_owned(),
        Hold::Denied => DENIED.to_owned(),
        Hold::OtherId(id) if id.len() > MAX_ID => {
            format!("{OTHER_ID}{}... of {} bytes", truncate(id, MAX_ID), id.len())
        }
        Hold::OtherId(id) => format!("{OTHER_ID}{id}"),
        Hold::Unclaimed => UNCLAIMED.to_owned(),
    }
}

/// What is exported although nothing new would be.
pub(super) fn stays(hold: Hold<'_>) -> String {
    format!("{EXPORTED} and stays so, although {}", held(hold))
}

/// Why the hub does not accept the export.
pub(super) fn refused(why: &str) -> String {
    bounded(REFUSED, why)
}

/// What the hub states may be as long as the message that quotes it.
fn bounded(opening: &str, why: &str) -> String {
    truncate(&format!("{opening}{why}"), MAX_MESSAGE).to_owned()
}

/// In what the exports of a Service differ.
pub(super) fn conflicts(resolved: &Object<ResolvedService>) -> (String, String) {
    let join = |text: fn(&Conflict) -> &str, between| {
        resolved.conflicts.iter().map(text).collect::<Vec<_>>().join(between)
    };
    let message = join(|conflict| &conflict.message, CLAUSE);
    let reasons = join(|conflict| conflict.reason.as_str(), ",");
    (reasons, truncate(&message, MAX_MESSAGE).to_owned())
}

/// Whether two messages differ in numbers alone.
pub(super) fn differ_in_numbers(a: &str, b: &str) -> bool {
    let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    a != b && words(a) == words(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A status with a longer message is refused, again and again.
    #[test]
    fn messages_have_room_in_a_condition() {
        let long = "x".repeat(MAX_MESSAGE);
        let messages = [
            withdrawn(Withdrawal::Refused(&long)),
            refused(&long),
            held(Hold::OtherId(&long)),
            stays(Hold::OtherId(&long)),
        ];
        for message in messages {
            assert!(message.len() <= MAX_MESSAGE, "{} bytes", message.len());
            assert!(is_ours(&message), "{message:.100}");
        }
        assert!(held(Hold::OtherId(&long)).ends_with("x... of 32768 bytes"));
        assert_eq!(held(Hold::OtherId("west")), format!("{OTHER_ID}west"));
    }
}
