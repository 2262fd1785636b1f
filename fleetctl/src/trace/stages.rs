//! The stages that a change of a Service passes. Pure.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use fleet_api::ObjectName;
use hub_agent::service::ServiceState;

use super::journey::{Stage, Wanted};
use crate::left_out::in_force;
use crate::picture::Picture;

/// Every stage that a change of the Service passes, by the API or the APIs that its exporter exports it by.
///
/// # Errors
/// If nothing of it crosses.
pub(super) fn wanted(picture: &Picture, service: &ObjectName) -> Result<Wanted> {
    let mut wanted = Wanted::new();
    for (exporters, importers) in [by_fleet(picture, service), by_standard(picture, service)] {
        if importers.is_empty() {
            continue;
        }
        for exporter in exporters {
            // An exporter that cannot be read shows a change first on the hub.
            let origin = is_seen(picture, &exporter).then_some(Stage::Origin);
            let stages = wanted.entry(exporter).or_insert_with(|| [Stage::Published].into());
            stages.extend(origin);
            stages.extend(importers.iter().cloned());
        }
    }
    if wanted.is_empty() {
        bail!(
            "{service} is not both exported and imported: run fleetctl explain service {service}"
        );
    }
    Ok(wanted)
}

/// Exporters, and the stages at their importers, of networking.fleet.azure.com.
fn by_fleet(picture: &Picture, service: &ObjectName) -> (Vec<String>, BTreeSet<Stage>) {
    let state = ServiceState::of(&picture.settings, service, &picture.hub);
    let exporters = state.live_exports().map(|export| export.member.to_owned());
    let granted = state.live_requests().filter(|request| request.object.status.is_resolved());
    let mut stages = BTreeSet::new();
    for importer in granted.map(|request| request.member.to_owned()) {
        let arrives = is_seen(picture, &importer).then(|| Stage::Arrived(importer.clone()));
        stages.extend([Stage::Copied(importer)]);
        stages.extend(arrives);
    }
    (exporters.collect(), stages)
}

/// The same of multicluster.x-k8s.io, by which importers read the hub's slices.
fn by_standard(picture: &Picture, service: &ObjectName) -> (Vec<String>, BTreeSet<Stage>) {
    let resolved = in_force(picture, service);
    let exporters = resolved.into_iter().flat_map(|resolved| &resolved.exporters);
    let importers = picture.members.iter().filter(|(name, member)| {
        let import = member.snapshot.standard_imports.get(service);
        is_seen(picture, name) && import.is_some_and(|import| import.hub().is_some())
    });
    let stages = importers.map(|(name, _)| Stage::Imported(name.clone()));
    (exporters.map(|exporter| exporter.cluster.clone()).collect(), stages.collect())
}

fn is_seen(picture: &Picture, member: &str) -> bool {
    picture.members.get(member).is_some_and(|it| it.blind.is_none())
}
