//! What is decided about the traffic of a Service, and what of it is in force in importers.

use fleet_api::ObjectName;

use super::part::exports;
use super::standard;
use crate::picture::{Member, Picture};
use crate::story::Hop;
use crate::traffic::shown;

/// Exporters that are drained or silent, and what importers with a policy of their own report.
pub(super) fn hops(picture: &Picture, service: &ObjectName) -> Vec<Hop> {
    let members = || picture.members.iter();
    let exporting = members().filter(|(_, member)| {
        exports(member, service) || standard::concerns(picture, member, service)
    });
    let decided = exporting.filter_map(|(name, _)| {
        let says = shown::of_exporter(&picture.hub, name, service)?;
        Some(Hop::ok("hub", format!("MemberTraffic {name}"), says))
    });
    let in_force = members().filter_map(|(name, member)| of_importer(name, member, service));
    decided.chain(in_force).collect()
}

fn of_importer(name: &str, member: &Member, service: &ObjectName) -> Option<Hop> {
    let policy = member.snapshot.service_traffics.get(service)?;
    let says = shown::of_importer(&policy.status)?;
    Some(Hop::ok(name, format!("ServiceTraffic {service}"), says))
}
