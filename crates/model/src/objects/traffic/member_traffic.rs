//! `MemberTraffic`.

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::traffic::{self, MemberTrafficSpec, MemberTrafficStatus};
use fleet_api::{ObjectName, ResourceKind, kinds};

wire! {
    /// A `MemberTraffic` on the wire.
    pub struct MemberTrafficWire as traffic::MemberTraffic {
        spec: Option<MemberTrafficSpec>,
        status: Option<MemberTrafficStatus>,
    }
}

/// What is decided about one member. It has the member's name.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberTraffic {
    /// Metadata.
    pub meta: Meta,
    /// Counts changes of the spec.
    pub generation: i64,
    /// What administrators have decided.
    pub spec: MemberTrafficSpec,
    /// What the hub agent has decided, which importers act on.
    pub status: MemberTrafficStatus,
}

impl Tracked for MemberTraffic {
    const KIND: ResourceKind = kinds::MEMBER_TRAFFIC;
    type Wire = MemberTrafficWire;
    type Index = ();

    fn project(wire: MemberTrafficWire) -> Result<Self, String> {
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            generation: wire.metadata.generation.unwrap_or_default(),
            spec: wire.spec.unwrap_or_default(),
            status: wire.status.unwrap_or_default(),
        })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use fleet_api::traffic::{DrainReason, SilenceInstruction, SilenceState};
    use serde_json::{Value, json};

    use super::*;

    fn member(object: Value) -> MemberTraffic {
        MemberTraffic::project(serde_json::from_value(object).unwrap()).unwrap()
    }

    #[test]
    fn an_empty_one_decides_nothing() {
        let east = member(json!({ "metadata": { "name": "east" }, "spec": {} }));
        assert_eq!(east.spec, MemberTrafficSpec::default());
        assert_eq!(east.spec.silence, SilenceInstruction::Auto);
        assert_eq!(east.status, MemberTrafficStatus::default());
        assert_eq!(east, member(json!({ "metadata": { "name": "east" } })));
    }

    #[test]
    fn requests_and_decisions_are_read() {
        let east = member(json!({
            "metadata": { "name": "east", "generation": 3 },
            "spec": { "drains": [{ "service": "*", "percent": 100, "overSeconds": 600 }], "silence": "Never" },
            "status": {
                "serial": 7,
                "drains": [{ "service": "*", "percent": 10, "reason": "Draining" }],
                "heldServices": ["shop/web"],
                "silence": { "state": "Silent", "percent": 100, "serial": 5, "confirmed": true },
                "complete": "hub/0",
            },
        }));
        assert_eq!((east.generation, east.spec.silence), (3, SilenceInstruction::Never));
        assert_eq!((&*east.spec.drains[0].service, east.spec.drains[0].over_seconds), ("*", 600));
        assert!(!east.spec.drains[0].force && !east.spec.drains[0].remove);
        assert_eq!(east.status.drains[0].reason, DrainReason::Draining);
        let silence = east.status.silence.unwrap();
        assert_eq!((silence.state, silence.serial), (SilenceState::Silent, Some(5)));
        assert!(silence.confirmed && !silence.by_domain && !silence.lapsed);
        assert_eq!(east.status.complete.as_deref(), Some("hub/0"));
    }
}
