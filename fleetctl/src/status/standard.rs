//! What members export and import by the API of multicluster.x-k8s.io.

use std::collections::BTreeSet;

use fleet_accumulator::Object;
use fleet_api::conditions::{CONFLICT, READY, TRUE};
use fleet_api::{ObjectName, kinds, labels};
use fleet_model::objects::multicluster::ResolvedService;
use fleet_model::objects::multicluster::standard::ServiceImport;
use fleet_plan::Step;
use fleet_plan::conditions::is;
use member_agent::membership;
use serde::Serialize;

use super::lag::Lag;
use crate::left_out::in_force;
use crate::pending::Pending;
use crate::picture::{Member, Picture};

/// The controller that imports.
pub(super) const IMPORT: &str = "multicluster_import";

/// The part of one member whose agent serves the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StandardStatus {
    /// Whether the hub agent has accepted the member.
    pub accepted: bool,
    /// Whether the member has reported that all that it exports is on the hub: until then importers of a hub that was rebuilt keep
    /// what they had.
    pub published: bool,
    /// Services with a ServiceExport.
    pub exports: usize,
    /// Of those, the ones that are exported.
    pub exported: usize,
    /// Exports that differ from another member's.
    pub conflicts: usize,
    /// `ServiceImports` of the agent.
    pub imports: usize,
    /// Of those, the ones that clients can use.
    pub ready: usize,
    /// `ServiceImports` of another implementation.
    pub foreign: usize,
    /// Slices that the member has yet to write.
    pub lag: Lag,
}

/// One Service that is exported or imported by the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StandardServiceStatus {
    /// `namespace/name`.
    pub name: String,
    /// `ClusterSetIP` or `Headless`; none while nothing is in force.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// Members whose export is in force.
    pub exporters: Vec<String>,
    /// Members with an export that is not.
    pub refused: Vec<String>,
    /// The reasons of conflicts among them.
    pub conflicts: Vec<&'static str>,
    /// Members whose clients can use it.
    pub importers: Vec<String>,
    /// Members whose import is not ready.
    pub waiting: Vec<String>,
    /// Ready endpoints on the hub.
    pub endpoints: usize,
}

/// The part of one member; `None` if its agent does not serve the API.
pub(super) fn of_member(picture: &Picture, member: &Member, lag: Lag) -> Option<StandardStatus> {
    let (settings, snapshot) = (&member.settings, &member.snapshot);
    if !settings.multicluster.is_watched() {
        return None;
    }
    let (accepted, published) = membership::standing(&settings.identity, snapshot);
    let exported = snapshot.exported_services.iter().filter_map(|it| it.service.as_ref());
    let exported: BTreeSet<_> = exported.collect();
    let cluster = settings.identity.cluster.as_str();
    let counts = |service: &&&ObjectName| {
        in_force(picture, service).is_some_and(|it| it.exporter(cluster).is_some())
    };
    let asked = snapshot.standard_exports.iter().map(|export| &export.name);
    let asked: BTreeSet<_> = asked.chain(exported.iter().copied()).collect();
    let conflicting = snapshot.standard_exports.iter();
    let conflicting = conflicting.filter(|export| is(&export.conditions, CONFLICT, TRUE));
    let (ours, foreign): (Vec<_>, Vec<_>) =
        snapshot.standard_imports.iter().partition(|import| import.hub().is_some());
    Some(StandardStatus {
        accepted,
        published,
        exports: asked.len(),
        exported: exported.iter().filter(counts).count(),
        conflicts: conflicting.count(),
        imports: ours.len(),
        ready: ours.iter().filter(|import| is_ready(import)).count(),
        foreign: foreign.len(),
        lag,
    })
}

fn is_ready(import: &ServiceImport) -> bool {
    is(&import.status.conditions, READY, TRUE)
}

/// Whether a step is a slice of the API: of an importer, or of an exporter that exports the Service by it.
pub(super) fn concerns(picture: &Picture, pending: &Pending, step: &Step) -> bool {
    match step.kind {
        kinds::ENDPOINT_SLICE => pending.controller == IMPORT,
        kinds::ENDPOINT_SLICE_EXPORT => {
            let member = picture.members.get(&pending.agent);
            let service = ObjectName::parse(&pending.key);
            member.zip(service).is_some_and(|(member, service)| {
                member.settings.multicluster.is_watched()
                    && member.snapshot.standard_exports.get(&service).is_some()
            })
        }
        _ => false,
    }
}

/// Every Service of the API.
pub(super) fn services(picture: &Picture) -> Vec<StandardServiceStatus> {
    let hub = &picture.hub;
    let mut services = BTreeSet::new();
    services.extend(hub.exported_services.iter().filter_map(|it| it.service.clone()));
    let in_force = hub.resolved_services.iter().filter(|it| !it.is_withdrawn());
    services.extend(in_force.map(|resolved| resolved.service.clone()));
    for member in members(picture) {
        services.extend(member.snapshot.standard_exports.iter().map(|it| it.name.clone()));
        let imports = member.snapshot.standard_imports.iter().filter(|it| it.hub().is_some());
        services.extend(imports.map(|import| import.name.clone()));
    }
    services.iter().map(|service| of_service(picture, service)).collect()
}

/// The members whose agents serve the API.
fn members(picture: &Picture) -> impl Iterator<Item = &Member> {
    picture.members.values().filter(|member| member.settings.multicluster.is_watched())
}

fn of_service(picture: &Picture, service: &ObjectName) -> StandardServiceStatus {
    let resolved = in_force(picture, service);
    let is_exporter = |member: &&Member| {
        resolved.is_some_and(|it| it.exporter(&member.settings.identity.cluster).is_some())
    };
    let has_export = |member: &&Member| {
        member.snapshot.standard_exports.get(service).is_some()
            || member.snapshot.exported_services.by(service).next().is_some()
    };
    let import = |member: &Member| {
        let import = member.snapshot.standard_imports.get(service)?;
        import.hub().map(|_| is_ready(import))
    };
    let of = |is_wanted: &dyn Fn(&&Member) -> bool| -> Vec<String> {
        let wanted = members(picture).filter(|member| is_wanted(member));
        wanted.map(|member| member.settings.identity.cluster.clone()).collect()
    };
    let exporters = |resolved: &Object<ResolvedService>| -> Vec<String> {
        resolved.exporters.iter().map(|it| it.cluster.clone()).collect()
    };
    let conflicts = resolved.into_iter().flat_map(|resolved| &resolved.conflicts);
    StandardServiceStatus {
        name: service.to_string(),
        kind: resolved.map(|resolved| resolved.properties.type_.as_str()),
        exporters: resolved.map(exporters).unwrap_or_default(),
        refused: of(&|member| has_export(member) && !is_exporter(member)),
        conflicts: conflicts.map(|conflict| conflict.reason.as_str()).collect(),
        importers: of(&|member| import(member) == Some(true)),
        waiting: of(&|member| import(member) == Some(false)),
        endpoints: endpoints(picture, service, resolved),
    }
}

fn endpoints(
    picture: &Picture,
    service: &ObjectName,
    resolved: Option<&Object<ResolvedService>>,
) -> usize {
    let slices = picture.hub.slice_exports.by(service);
    let counted = slices.filter(|slice| {
        let reference = &slice.spec.endpoint_slice_reference;
        slice.meta.label(labels::MULTICLUSTER_NAMESPACE).is_some()
            && resolved.is_some_and(|it| it.exporter(&reference.cluster_id).is_some())
    });
    counted.map(|slice| slice.spec.endpoints.len()).sum()
}
