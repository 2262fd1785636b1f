//! The kinds that a record has.

use fleet_api::ResourceKind;
use fleet_api::kinds::{self, kinds_written};

/// The plural of a recorded kind, or nothing.
pub(super) fn plural(kind: &str) -> &'static str {
    recorded().find(|known| known.kind == kind).map_or("", |known| known.plural)
}

/// The recorded kind of a plural.
pub(super) fn kind(plural: &str) -> Option<ResourceKind> {
    recorded().find(|known| known.plural == plural)
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
