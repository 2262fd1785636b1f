//! The winner of a conflict stops exporting, and the next member takes over without a gap in service.
//!
//! The slices of an export in conflict are not on the hub: its member exports them once it reads that the
//! conflict is over (docs/design/rules.md#conflicts). Until they are there, importers keep the endpoints
//! that they have, for a few seconds, so that they do not send traffic to a closed backend for ever if no
//! successor comes. The time is measured from timestamps that the hub stores, so a restart does not
//! extend it.

use std::collections::BTreeSet;
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::conditions;
use fleet_model::objects::EndpointSliceImport;
use fleet_plan::conditions::find;
use fleet_plan::deadline;
use jiff::Timestamp;

use super::origin;
use crate::service::claims::Importers;
use crate::service::resolution::PortResolution;
use crate::service::state::{Export, ServiceState};

/// How long importers wait for the slices of a member that was just accepted. A Go member exports them
/// with its next reconciliations.
pub(in crate::service) const PUBLISHING_TIMEOUT: Duration = Duration::from_secs(5);
/// How long after a winner's last slice its export may be deleted. Both are deleted side by side, and
/// their watches have no common order. Deletion timestamps have whole seconds.
pub(in crate::service) const UNEXPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// When a copy that is not desired is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemovalTiming {
    /// In this plan.
    Now,
    /// Once the importer has the copies of the successor's slices, and after this long in any case.
    AfterSuccessor(Duration),
    /// Not yet, for at most this long.
    Keep(Duration),
}

/// The handover from one exporter to the next, if there is one.
#[derive(Debug)]
pub(super) struct Handover<'a> {
    state: &'a ServiceState<'a>,
    importers: &'a Importers<'a>,
    now: Timestamp,
    /// Members whose ports are in force.
    accepted: BTreeSet<&'a str>,
    /// Members that export the Service with other ports.
    conflicting: BTreeSet<&'a str>,
    /// Time that the accepted members have left to export their slices.
    publishing: Option<Duration>,
    /// Whether an accepted member has exported a slice.
    published: bool,
}

impl<'a> Handover<'a> {
    pub(super) fn of(
        state: &'a ServiceState<'a>,
        resolution: &'a PortResolution<'a>,
        importers: &'a Importers<'a>,
        published: bool,
        now: Timestamp,
    ) -> Self {
        let left = |export| {
            deadline::remaining(accepted_since(export).unwrap_or(now), PUBLISHING_TIMEOUT, now)
        };
        let publishing = resolution.accepted.iter().filter_map(left).max();
        let members = |exports: &[Export<'a>]| exports.iter().map(|export| export.member).collect();
        let (accepted, conflicting) =
            (members(&resolution.accepted), members(&resolution.conflicting));
        Self { state, importers, now, accepted, conflicting, publishing, published }
    }

    /// When to delete a copy that is not desired.
    pub(super) fn removal_timing(&self, copy: &Object<EndpointSliceImport>) -> RemovalTiming {
        if !self.importers.contains_key(&*copy.name.namespace) {
            return RemovalTiming::Now;
        }
        match (self.accepted.contains(copy.origin()), self.published) {
            (false, true) => {
                self.publishing.map_or(RemovalTiming::Now, RemovalTiming::AfterSuccessor)
            }
            (false, false) => self.publishing.map_or(RemovalTiming::Now, RemovalTiming::Keep),
            (true, false) => self.unexporting(copy).map_or(RemovalTiming::Now, RemovalTiming::Keep),
            (true, true) => RemovalTiming::Now,
        }
    }

    /// Whether a member exports the Service with other ports than those in force.
    pub(super) fn conflicts(&self, member: &str) -> bool {
        self.conflicting.contains(member)
    }

    /// Time left for the winner to delete its export after its last slice, if another member waits to
    /// take over.
    fn unexporting(&self, copy: &Object<EndpointSliceImport>) -> Option<Duration> {
        if self.conflicting.is_empty() {
            return None;
        }
        let mut slices = self.state.slices_named(&copy.slice_name(&copy.name));
        let slice = slices.find(|slice| origin::is_from(copy, slice))?;
        deadline::remaining(slice.object.meta.deleted?, UNEXPORT_TIMEOUT, self.now)
    }
}

/// Since when an export is accepted, by its condition.
fn accepted_since(export: &Export<'_>) -> Option<Timestamp> {
    let conflict = find(&export.object.conditions, conditions::CONFLICT)?;
    (conflict.status == conditions::FALSE).then_some(conflict.last_transition_time.0)
}
