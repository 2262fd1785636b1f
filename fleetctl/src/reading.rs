//! Kinds that could not be read, and the reasons. Nothing is reported about objects that were not read.

use fleet_accumulator::{ClusterId, Snapshot, SourceInfo, SourceSet, SourceState};
use fleet_api::ResourceKind;
use hub_agent::snapshot::HubSnapshot;
use member_agent::Settings;
use member_agent::snapshot::MemberSnapshot;

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

/// Kinds of a member's own cluster that could not be read, of those that pictures have: Nodes, which agents that direct traffic read, are
/// none of them.
pub(crate) fn of_member(name: &str, member: &Member) -> Vec<Hop> {
    let asked = MemberControllers::new(&Settings::new(name)).reads();
    let unread = unread(&member.snapshot, ClusterId::Local, asked);
    unread.map(|unread| hop(name, &unread)).collect()
}

/// Kinds of the API of multicluster.x-k8s.io on the hub that could not be read, although they are served.
pub(crate) fn of_standard_hub(hub: &HubSnapshot) -> Vec<Hop> {
    let asked =
        SourceSet::from([HubSnapshot::exported_services(), HubSnapshot::resolved_services()]);
    denied(hub, "hub", asked)
}

/// Kinds of that API in a member's own cluster that could not be read, although they are served.
pub(crate) fn of_standard_member(name: &str, member: &Member) -> Vec<Hop> {
    let asked =
        SourceSet::from([MemberSnapshot::standard_exports(), MemberSnapshot::standard_imports()]);
    denied(&member.snapshot, name, asked)
}

fn denied<S: Snapshot>(snapshot: &S, cluster: &str, asked: SourceSet) -> Vec<Hop> {
    let sources = S::sources().iter().filter(|source| asked.contains(source.id));
    let unread = sources.filter_map(|source| of_source(snapshot, source));
    let unread = unread.filter(|unread| unread.cause != Cause::DefinitionMissing);
    unread.map(|unread| hop(cluster, &unread)).collect()
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
    asked.filter_map(move |source| of_source(snapshot, source))
}

fn of_source<S: Snapshot>(snapshot: &S, source: &SourceInfo) -> Option<Unread> {
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
}

fn hop(cluster: &str, unread: &Unread) -> Hop {
    let Unread { kind, cause, reason } = unread;
    let (says, advice) = match cause {
        Cause::NoRight => (
            format!("you may not list {}: {reason}", kind.resource()),
            format!("ask for the right to list and watch {}", kind.resource()),
        ),
        Cause::DefinitionMissing => (
            format!("{} are not served, so agents cannot use them", kind.resource()),
            format!("install the definitions of the {} chart", chart(cluster)),
        ),
        _ => (
            format!("{} could not be read: {reason}", kind.resource()),
            "try again, or set a longer --timeout".to_owned(),
        ),
    };
    Hop::stop(cluster, kind.label(), *cause, says, advice)
}

fn chart(cluster: &str) -> &'static str {
    if cluster == "hub" { "hub-agent" } else { "member-agent" }
}
