//! Services of the clusterset that a member does not import although its agent runs: `--multicluster-import-namespaces` and
//! `--denied-namespaces` are in no object.

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::multicluster::ResolvedService;
use hub_agent::heartbeat::{heartbeat_timeout, last_heartbeat};
use jiff::SignedDuration;

use crate::picture::{Member, Picture};

/// Time that an agent needs at most for an import, and the clocks of two clusters to agree.
const ENOUGH: SignedDuration = SignedDuration::from_secs(60);

/// What is in force for a Service on the hub.
pub(crate) fn in_force<'a>(
    picture: &'a Picture,
    service: &ObjectName,
) -> Option<&'a Object<ResolvedService>> {
    let mut resolved = picture.hub.resolved_services.by(service);
    resolved.find(|it| !it.meta.is_terminating() && !it.exporters.is_empty())
}

/// Whether a member's agent, which runs, has had the time to import a Service, and has not done it.
pub(crate) fn is_left_out(picture: &Picture, member: &Member, service: &ObjectName) -> bool {
    let snapshot = &member.snapshot;
    let since = in_force(picture, service).and_then(|resolved| resolved.meta.created);
    let has_time = heartbeat(picture, member)
        .zip(since)
        .is_some_and(|(last, since)| last.duration_since(since) > ENOUGH);
    has_time
        && snapshot.standard_imports.get(service).is_none()
        && namespace_accepts_objects(&snapshot.namespaces, &service.namespace)
}

/// The last heartbeat of a member that is not silent.
fn heartbeat(picture: &Picture, member: &Member) -> Option<jiff::Timestamp> {
    let identity = &member.settings.identity;
    let key = ObjectName::new(identity.hub_namespace.as_str(), identity.cluster.as_str());
    let membership = picture.hub.internal_members.get(&key)?;
    let last = last_heartbeat(membership)?;
    let silence = picture.heard.duration_since(last);
    (silence < heartbeat_timeout(&picture.settings, membership)).then_some(last)
}
