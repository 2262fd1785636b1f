//! The kinds that a record has.

use fleet_api::ResourceKind;
use fleet_api::kinds::{self, kinds_written};

use super::requests::Request;

/// ServiceExports of the standard API, under a name that those of the fleet do not have.
pub(super) const STANDARD_EXPORT: ResourceKind =
    ResourceKind { kind: "ServiceExport (multicluster.x-k8s.io)", ..kinds::MCS_SERVICE_EXPORT };
/// ServiceImports of the standard API.
pub(super) const STANDARD_IMPORT: ResourceKind =
    ResourceKind { kind: "ServiceImport (multicluster.x-k8s.io)", ..kinds::MCS_SERVICE_IMPORT };

/// Kinds of a hub that serves the standard API.
pub(super) const OF_STANDARD_HUB: [ResourceKind; 2] =
    [kinds::EXPORTED_SERVICE, kinds::RESOLVED_SERVICE];
/// Kinds of members that take part in it.
pub(super) const OF_STANDARD_MEMBER: [ResourceKind; 3] =
    [STANDARD_EXPORT, STANDARD_IMPORT, kinds::CLUSTER_PROPERTY];

/// The plural of a recorded kind, or nothing.
pub(super) fn plural(kind: &str) -> &'static str {
    recorded().find(|known| known.kind == kind).map_or("", |known| known.plural)
}

/// The recorded kind that a request is about. The standard API has kinds of the same plurals.
pub(super) fn kind(request: &Request) -> Option<ResourceKind> {
    recorded().find(|known| (known.group, known.plural) == (&*request.group, &*request.resource))
}

/// What records call a kind; two of the standard API have the names of others.
pub(super) fn recorded_as(kind: ResourceKind) -> Option<&'static str> {
    let same = |known: &ResourceKind| (known.group, known.plural) == (kind.group, kind.plural);
    recorded().find(same).map(|known| known.kind)
}

fn recorded() -> impl Iterator<Item = ResourceKind> {
    let others = [
        kinds::NAMESPACE,
        kinds::INTERNAL_MEMBER_CLUSTER,
        kinds::MEMBER_CLUSTER,
        kinds::EXTERNAL_WORKLOAD,
    ];
    kinds_written().chain(others).chain(OF_STANDARD_HUB).chain(OF_STANDARD_MEMBER)
}
