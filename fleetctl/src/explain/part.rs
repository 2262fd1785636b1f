//! Which part a member has in a Service.

use fleet_api::ObjectName;

use crate::picture::Member;

/// Whether a member exports the Service, or still has objects of an export on the hub.
pub(super) fn exports(member: &Member, service: &ObjectName) -> bool {
    let snapshot = &member.snapshot;
    snapshot.service_exports.get(service).is_some()
        || snapshot.internal_exports.by(service).next().is_some()
}

/// Whether a member imports the Service, or still has a request for it on the hub.
pub(super) fn imports(member: &Member, service: &ObjectName) -> bool {
    let snapshot = &member.snapshot;
    snapshot.multi_cluster_services.by(service).next().is_some()
        || snapshot.internal_imports.by(service).next().is_some()
}
