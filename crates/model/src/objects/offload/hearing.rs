//! Which members renew their Leases, as the hub agent observes: a source without a server.
//!
//! Whether a Lease is renewed depends on the time of a clock, and on what was seen before: a task finds it out, and hands it in as
//! a source, so that what is planned depends on a snapshot alone.

use fleet_accumulator::{Document, Feed, Object, ProvidedFeed, SourceSpec, Tracked, View};
use fleet_api::offload::LinkState;
use fleet_api::{ObjectName, ResourceKind};
use serde_json::{Value, json};

/// Field of the document.
const SILENT: &str = "silent";

/// Whether a member renews its Lease. One that was not followed for long enough has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hearing {
    /// Whether its Lease is renewed.
    pub state: LinkState,
}

impl Hearing {
    /// What is handed in about a member.
    pub fn document(silent: bool) -> Value {
        json!({ SILENT: silent })
    }

    /// Under which name a member is found.
    pub fn name(member: &str) -> ObjectName {
        ObjectName::cluster(member)
    }

    /// A view of these members, for what reads snapshots without watches.
    pub fn view<'a>(members: impl IntoIterator<Item = (&'a str, LinkState)>) -> View<Self> {
        View::of(members.into_iter().map(|(member, state)| {
            Object::new(Self::name(member), member.into(), "1".into(), Self { state })
        }))
    }
}

impl Tracked for Hearing {
    const KIND: ResourceKind = ResourceKind {
        group: "offload.networking.fleet.azure.com",
        version: "v1alpha1",
        kind: "Hearing",
        plural: "hearings",
        namespaced: false,
    };
    type Wire = Document;
    type Index = ();

    fn project(wire: Document) -> Result<Self, String> {
        let silent = wire.document[SILENT].as_bool().ok_or("it has no state")?;
        Ok(Self { state: if silent { LinkState::Silent } else { LinkState::Connected } })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }

    fn feed(spec: SourceSpec) -> Box<dyn Feed<Document>> {
        Box::new(ProvidedFeed::new(spec.provided))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_in_is_read() {
        for (silent, state) in [(true, LinkState::Silent), (false, LinkState::Connected)] {
            let document = Document { document: Hearing::document(silent), ..Document::default() };
            assert_eq!(Hearing::project(document), Ok(Hearing { state }));
        }
        assert!(Hearing::project(Document::default()).is_err());
    }
}
