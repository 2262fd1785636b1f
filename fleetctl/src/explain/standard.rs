//! The path of a Service that is exported by the API of multicluster.x-k8s.io.
//!
//! ```text
//! ServiceExport ─▶ ExportedService ─▶ ResolvedService ─▶ ServiceImport ─▶ derived Service ─▶ name in clusterset.local
//! EndpointSlice ─▶ EndpointSliceExport ─────────────────▶ EndpointSlice
//! ```

mod endpoints;
mod export;
mod hub;
mod import;
mod names;
mod text;

use fleet_accumulator::SourceState;
use fleet_api::{ObjectName, kinds};
use hub_agent::snapshot::HubSnapshot;
use member_agent::MulticlusterMode as Mode;

use super::words::{lacking, no_member};
use crate::left_out::in_force;
use crate::picture::{Member, Picture};
use crate::reading;
use crate::story::{Cause, Crossing, Hop};
use text::{SERVE_ON_HUB, off_in};

/// Whether a Service is to be followed by this API. Where no agent serves it, a ServiceExport of another implementation is no
/// concern of the fleet, unless the Service is not in the fleet otherwise.
pub(super) fn is_used(picture: &Picture, service: &ObjectName) -> bool {
    let members = || picture.members.values();
    let is_exported = || members().any(|member| has_export(member, service));
    let is_there = || members().any(|member| has_objects(member, service));
    if is_served(picture) {
        return is_exported() || is_there() || in_force(picture, service).is_some();
    }
    let hub = &picture.hub;
    let in_fleet = hub.internal_exports.by(service).next().is_some()
        || hub.internal_imports.by(service).next().is_some()
        || members().any(|member| is_in_fleet(member, service));
    !in_fleet && is_exported()
}

/// Whether a member has a part in that path, if there is one.
pub(super) fn concerns(picture: &Picture, member: &Member, service: &ObjectName) -> bool {
    has_export(member, service)
        || has_objects(member, service)
        || (may_import(member, service) && in_force(picture, service).is_some())
}

/// Follows a Service on that path.
pub(super) fn walk(
    picture: &Picture,
    service: &ObjectName,
    is_healthy: &impl Fn(&str) -> bool,
    hops: &mut Vec<Hop>,
    crossings: &mut Vec<Crossing>,
) {
    let unread = reading::of_standard_hub(&picture.hub);
    if !unread.is_empty() {
        hops.extend(unread);
        return;
    }
    let (mut found, mut arrived) = (Vec::new(), Vec::new());
    let members = || picture.members.iter();
    for (name, member) in members().filter(|(_, member)| exports(member, service)) {
        found.extend(export::hops(picture, name, member, service, is_healthy(name)));
    }
    if picture.settings.multicluster == Mode::Off {
        found.push(off_on_hub(&picture.hub));
    } else {
        found.extend(hub::hops(picture, service));
        for (name, member) in members().filter(|(_, member)| imports(member, service)) {
            let (more, crossing) = import::hops(picture, name, member, service, is_healthy(name));
            found.extend(more);
            arrived.extend(crossing);
        }
    }
    let is_over = found.iter().any(Hop::stops) || !arrived.is_empty();
    found.extend(unused(picture, service).filter(|_| !is_over));
    // Both paths can end for the same reason.
    found.retain(|hop| !hops.contains(hop));
    hops.extend(found);
    crossings.extend(arrived);
}

/// Whether any agent serves the API.
fn is_served(picture: &Picture) -> bool {
    picture.settings.multicluster != Mode::Off
        || picture.members.values().any(|it| it.settings.multicluster.is_watched())
}

fn has_export(member: &Member, service: &ObjectName) -> bool {
    member.snapshot.standard_exports.get(service).is_some()
}

/// Whether the agent of a member has written something for the Service.
fn has_objects(member: &Member, service: &ObjectName) -> bool {
    let snapshot = &member.snapshot;
    snapshot.exported_services.by(service).next().is_some()
        || snapshot.standard_imports.get(service).is_some_and(|import| import.hub().is_some())
}

fn is_in_fleet(member: &Member, service: &ObjectName) -> bool {
    member.snapshot.service_exports.get(service).is_some()
        || member.snapshot.multi_cluster_services.by(service).next().is_some()
}

fn exports(member: &Member, service: &ObjectName) -> bool {
    has_export(member, service) || member.snapshot.exported_services.by(service).next().is_some()
}

fn imports(member: &Member, service: &ObjectName) -> bool {
    member.snapshot.standard_imports.get(service).is_some() || may_import(member, service)
}

/// Whether the agent of a member imports what there is of a namespace, which the cluster has, as far as it could be read.
fn may_import(member: &Member, service: &ObjectName) -> bool {
    let namespace = ObjectName::cluster(service.namespace.as_ref());
    let is_there = member.snapshot.namespaces.get(&namespace).is_some();
    member.settings.multicluster.is_watched() && (member.blind.is_some() || is_there)
}

fn off_on_hub(hub: &HubSnapshot) -> Hop {
    let state = hub.exported_services.state();
    let is_defined = !matches!(state, SourceState::Missing { .. });
    let reason = if is_defined {
        "the hub agent has accepted no member for multicluster.x-k8s.io: it does not serve that API"
    } else {
        "the hub does not serve ExportedServices, which the API of multicluster.x-k8s.io needs"
    };
    Hop::stop("hub", "hub agent", Cause::StandardOff, reason, SERVE_ON_HUB)
}

/// Reports that no member exports the Service, or that none imports it. Nothing else explains why it ends.
fn unused(picture: &Picture, service: &ObjectName) -> impl Iterator<Item = Hop> {
    let is_exported = picture.members.values().any(|member| exports(member, service));
    let hop =
        if is_exported { not_imported(picture, service) } else { Some(not_exported(picture)) };
    hop.into_iter()
}

fn not_exported(picture: &Picture) -> Hop {
    Hop::stop(
        "fleet",
        kinds::MCS_SERVICE_EXPORT.label(),
        Cause::NotExported,
        format!("it is imported, but {}", no_member(picture, "has a ServiceExport for it")),
        "create a ServiceExport of multicluster.x-k8s.io in the exporting member",
    )
}

fn not_imported(picture: &Picture, service: &ObjectName) -> Option<Hop> {
    let is_unseen = |member: &Member| member.blind.is_some() && imports(member, service);
    if picture.members.values().any(is_unseen) {
        return None;
    }
    let namespace = &service.namespace;
    Some(Hop::stop(
        "fleet",
        kinds::MCS_SERVICE_IMPORT.label(),
        Cause::NotImported,
        format!(
            "it is exported, and {}{}{}",
            no_member(picture, "beside its exporter imports it"),
            lacking(picture, namespace),
            off_in(picture)
        ),
        format!(
            "create namespace {namespace} in each member that needs the Service, and serve the API there (--multicluster=on)"
        ),
    ))
}
