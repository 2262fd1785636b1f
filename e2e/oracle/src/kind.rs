//! The kinds that a record has.

use fleet_api::ResourceKind;
use fleet_api::kinds::{self, kinds_written};

use super::requests::Request;

/// The plural of a recorded kind, or nothing.
pub(super) fn plural(kind: &str) -> &'static str {
    recorded().find(|known| known.kind == kind).map_or("", |known| known.plural)
}

/// The recorded kind that a request is about. The standard API has kinds of the same plurals, which are not recorded.
pub(super) fn kind(request: &Request) -> Option<ResourceKind> {
    recorded().find(|known| (known.group, known.plural) == (&*request.group, &*request.resource))
}

fn recorded() -> impl Iterator<Item = ResourceKind> {
    let others = [
        kinds::NAMESPACE,
        kinds::INTERNAL_MEMBER_CLUSTER,
        kinds::MEMBER_CLUSTER,
        kinds::EXTERNAL_WORKLOAD,
    ];
    kinds_written().chain(others)
}
