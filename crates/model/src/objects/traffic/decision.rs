//! What the hub agent has decided and not necessarily written: sources without a server.
//!
//! Decisions about silence and drains depend on the time of a clock, and on what was decided before: a task makes them, and hands
//! them in as a source, so that what is written depends on a snapshot alone.

use fleet_accumulator::{Document, Feed, ProvidedFeed, SourceSpec, Tracked};
use fleet_api::traffic::{FleetTrafficStatus, MemberTrafficStatus};
use fleet_api::{ObjectName, ResourceKind};
use serde::{Deserialize, Serialize};

/// What the status of a `MemberTraffic` has to be, without its conditions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberDecision {
    /// The status.
    pub status: MemberTrafficStatus,
    /// Why a drain is refused; absent if none is.
    pub refused: Option<String>,
}

/// What the status of the `FleetTraffic` has to be, without its conditions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetDecision {
    /// The status.
    pub status: FleetTrafficStatus,
    /// Whether this process judges members. One that has just begun passes on what an earlier one has found.
    #[serde(default)]
    pub judges: bool,
    /// Members that would be silent if not so many were at once.
    pub mass_silence: Vec<String>,
    /// Whether the API server went back in its history lately.
    pub rolled_back: bool,
}

macro_rules! decision {
    ($object:ty, $kind:literal, $plural:literal) => {
        impl Tracked for $object {
            const KIND: ResourceKind = ResourceKind {
                group: "traffic.networking.fleet.azure.com",
                version: "v1alpha1",
                kind: $kind,
                plural: $plural,
                namespaced: false,
            };
            type Wire = Document;
            type Index = ();

            fn project(wire: Document) -> Result<Self, String> {
                serde_json::from_value(wire.document).map_err(|error| error.to_string())
            }

            fn index(&self, _: &ObjectName) -> Vec<()> {
                Vec::new()
            }

            fn feed(spec: SourceSpec) -> Box<dyn Feed<Document>> {
                Box::new(ProvidedFeed::new(spec.provided))
            }
        }
    };
}

decision!(MemberDecision, "MemberDecision", "memberdecisions");
decision!(FleetDecision, "FleetDecision", "fleetdecisions");

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_handed_in_is_read() {
        let decision = MemberDecision {
            status: MemberTrafficStatus { serial: 3, ..MemberTrafficStatus::default() },
            refused: Some("too many".to_owned()),
        };
        let document = Document { document: json!(decision), ..Document::default() };
        assert_eq!(MemberDecision::project(document), Ok(decision));
        let document =
            Document { document: json!(FleetDecision::default()), ..Document::default() };
        assert_eq!(FleetDecision::project(document), Ok(FleetDecision::default()));
        assert!(MemberDecision::project(Document::default()).is_err());
    }
}
