//! One member's part in a Service: its endpoints, and how old they are.

use std::cmp::max;

use fleet_api::{ExportedObjectReference, ObjectName};
use fleet_model::objects::SliceIndex;
use jiff::Timestamp;
use serde::Serialize;

use super::finding::Finding;
use super::reach::Unreached;
use super::share::Share;
use crate::picture::{Member, Picture};

/// One member's part in a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// The member.
    pub member: String,
    /// For an exporter, its endpoints on the hub; for an importer, those of all exporters that have arrived in it.
    pub endpoints: Endpoints,
    /// When the newest change came that the hub has of these endpoints, by the exporters' clocks; none if the hub knows no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<Timestamp>,
    /// What stops the Service here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// Endpoints that are used if nothing is ready, since the member is drained or silent, or for the preference of an importer. They
    /// are among the ready ones of an exporter, and not among those of an importer.
    #[serde(skip_serializing_if = "is_zero")]
    pub last_resort: usize,
    /// For an importer, the part of each exporter in its new connections.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
    /// For an importer, which exporters it prefers, where a policy has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preference: Option<&'static str>,
    /// For an importer, what it does not reach of exporters, where its agent dials.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreached: Vec<Unreached>,
    /// For an importer, the time that changes took to arrive, in milliseconds: 99 percent took no longer. Only what watches for a
    /// while knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag_p99_millis: Option<u64>,
    /// The times themselves, the last ones, oldest first.
    #[serde(skip)]
    pub lags_millis: Vec<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Endpoints by the traffic that they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Endpoints {
    /// Ready.
    pub ready: usize,
    /// Terminating and still serving: they take traffic while no endpoint is ready.
    pub draining: usize,
}

impl Endpoints {
    fn plus(self, ready: usize, draining: usize) -> Self {
        Self { ready: self.ready + ready, draining: self.draining + draining }
    }

    /// The endpoints of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.plus(other.ready, other.draining)
    }
}

/// The endpoints of a member that are on the hub.
pub(super) fn exported(picture: &Picture, member: &str, service: &ObjectName) -> Endpoints {
    let Some(member) = picture.members.get(member) else { return Endpoints::default() };
    let slices = member.snapshot.slice_exports.by(service);
    slices.fold(Endpoints::default(), |sum, slice| {
        sum.plus(slice.spec.endpoints.len(), slice.spec.draining_endpoints.len())
    })
}

/// When the newest change of a member's endpoints came that is on the hub.
pub(super) fn exported_since(
    picture: &Picture,
    member: &str,
    service: &ObjectName,
) -> Option<Timestamp> {
    let slices = picture.members.get(member)?.snapshot.slice_exports.by(service);
    slices.filter_map(|slice| since(&slice.spec.endpoint_slice_reference)).max()
}

/// The endpoints that have arrived in a member; those that the hub has for it if its cluster cannot be read. By two APIs the same
/// endpoints arrive, so the larger number counts.
pub(super) fn imported(picture: &Picture, member: &str, service: &ObjectName) -> Endpoints {
    let Some(member) = picture.members.get(member) else { return Endpoints::default() };
    if member.blind.is_some() { copied(member, service) } else { arrived(member, service) }
}

fn copied(member: &Member, service: &ObjectName) -> Endpoints {
    let slices = member.snapshot.slice_imports.by(service);
    slices.fold(Endpoints::default(), |sum, slice| {
        sum.plus(slice.spec.endpoints.len(), slice.spec.draining_endpoints.len())
    })
}

fn arrived(member: &Member, service: &ObjectName) -> Endpoints {
    let of_api = |is_standard: bool| {
        let slices = member.snapshot.endpoint_slices.by(&SliceIndex::ImportedFor(service.clone()));
        let slices = slices.filter(|slice| slice.is_imported_by_standard() == is_standard);
        slices.fold(Endpoints::default(), |sum, slice| {
            sum.plus(slice.ready.len(), slice.draining.len())
        })
    };
    let (fleet, standard) = (of_api(false), of_api(true));
    Endpoints {
        ready: max(fleet.ready, standard.ready),
        draining: max(fleet.draining, standard.draining),
    }
}

/// When the newest change came that the hub has copied for a member.
pub(super) fn imported_since(
    picture: &Picture,
    member: &str,
    service: &ObjectName,
) -> Option<Timestamp> {
    let slices = picture.members.get(member)?.snapshot.slice_imports.by(service);
    slices.filter_map(|slice| since(&slice.spec.endpoint_slice_reference)).max()
}

fn since(reference: &ExportedObjectReference) -> Option<Timestamp> {
    reference.exported_since.as_ref().map(|since| since.0)
}
