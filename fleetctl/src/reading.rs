//! Kinds that could not be read, and the reasons. Nothing is reported about objects that were not read.

use fleet_accumulator::{ClusterId, Snapshot, SourceSet, SourceState};
use fleet_api::ResourceKind;
use hub_agent::snapshot::HubSnapshot;

use crate::controllers::{HubControllers, MemberControllers};
use crate::picture::Member;
use crate::story::{Cause, Hop};

/// A kind that could not be read.
struct Unread {
    kind: ResourceKind,
    cause: Cause,
    reason: String,
}

/// Kinds of the hub that could not be read.
pub(crate) fn of_hub(hub: &HubSnapshot) -> Vec<Hop> {
    let asked = HubControllers::default().reads();
    unread(hub, ClusterId::Hub, asked).map(|unread| hop("hub", &unread)).collect()
}

/// Kinds of a member's own cluster that could not be read.
pub(crate) fn of_member(name: &str, member: &Member) -> Vec<Hop> {
    let asked = MemberControllers::new(&member.settings).reads();
    let unread = unread(&member.snapshot, ClusterId::Local, asked);
    unread.map(|unread| hop(name, &unread)).collect()
}

fn unread<S: Snapshot>(
    snapshot: &S,
    cluster: ClusterId,
    asked: SourceSet,
) -> impl Iterator<Item = Unread> {
    let sources = S::sources().iter();
    let asked = sources
        .filter(move |source| asked.contains(source.id) && source.cluster == cluster)
        .filter(|source| !source.optional);
    asked.filter_map(move |source| {
        let view = snapshot.view(source.id)?;
        let (cause, reason) = match view.state() {
            SourceState::Forbidden { message, .. } => (Cause::NoRight, message.to_string()),
            SourceState::Missing { .. } => {
                (Cause::DefinitionMissing, "the API server does not serve the kind".to_owned())
            }
            _ if view.bootstrapped() => return None,
            _ => (Cause::NotRead, view.trouble().unwrap_or("no answer in time").to_owned()),
        };
        Some(Unread { kind: source.kind, cause, reason })
    })
}

fn hop(cluster: &str, unread: &Unread) -> Hop {
    let Unread { kind, cause, reason } = unread;
    let (says, advice) = match cause {
        Cause::NoRight => (
            format!("you may not list {}: {reason}", kind.plural),
            format!("ask for the right to list and watch {}", kind.plural),
        ),
        Cause::DefinitionMissing => (
            format!("{} are not served, so agents cannot use them", kind.plural),
            format!("install the definitions of the {} chart", chart(cluster)),
        ),
        _ => (
            format!("{} could not be read: {reason}", kind.plural),
            "try again, or set a longer --timeout".to_owned(),
        ),
    };
    Hop::stop(cluster, kind.label(), *cause, says, advice)
}

fn chart(cluster: &str) -> &'static str {
    if cluster == "hub" { "hub-agent" } else { "member-agent" }
}
