//! The winner of a conflict goes, and the next one takes over without a gap in service.
//!
//! A loser's slices are not on the hub (docs/design/rules.md#conflicts): it publishes them once it reads that it is
//! accepted. Until they are there, importers keep the endpoints they have, for a short time: a
//! successor that never comes must not keep a black hole alive. The time is counted from what the
//! hub stores, so a restart does not start it anew.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::conditions;
use fleet_model::objects::EndpointSliceImport;
use fleet_plan::conditions::find;
use fleet_plan::deadline;
use jiff::Timestamp;

use super::claims::Importers;
use super::origin;
use super::resolution::{Export, PortResolution};
use super::state::ServiceState;

/// How long a member that was accepted just now may take to publish its slices. A Go member does it
/// within its next passes.
pub(super) const PUBLISHING: Duration = Duration::from_secs(5);
/// How long after a winner's slice its export may follow: the two are deleted side by side, and
/// their watches have no common order. Deletion times have whole seconds.
pub(super) const LEAVING: Duration = Duration::from_secs(2);

/// What becomes of a copy that nothing is offered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemovalTiming {
    /// It goes.
    Now,
    /// It goes once this importer has the successor's.
    AfterSuccessor,
    /// It stays, for this long at most.
    Keep(Duration),
}

/// A handover between exporters, if there is one.
#[derive(Debug)]
pub(super) struct Handover<'a> {
    state: &'a ServiceState<'a>,
    resolution: &'a PortResolution<'a>,
    importers: &'a Importers<'a>,
    now: Timestamp,
    /// How much time the accepted members have left to publish their slices.
    publishing: Option<Duration>,
    /// Whether one of them has published one.
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
        let left =
            |export| deadline::remaining(accepted_since(export).unwrap_or(now), PUBLISHING, now);
        let publishing = resolution.accepted.iter().filter_map(left).max();
        Self { state, resolution, importers, now, publishing, published }
    }

    /// Decides about a copy.
    pub(super) fn removal_timing(&self, copy: &Object<EndpointSliceImport>) -> RemovalTiming {
        if !self.importers.contains_key(&*copy.name.namespace) {
            return RemovalTiming::Now;
        }
        let mut accepted = self.resolution.accepted.iter();
        let accepted = accepted.any(|export| export.member == copy.origin());
        match (accepted, self.published) {
            (false, true) if self.publishing.is_some() => RemovalTiming::AfterSuccessor,
            (false, false) => self.publishing.map_or(RemovalTiming::Now, RemovalTiming::Keep),
            (true, false) => self.leaving(copy).map_or(RemovalTiming::Now, RemovalTiming::Keep),
            (_, true) => RemovalTiming::Now,
        }
    }

    /// Whether a member exports the Service with other ports than those in force.
    pub(super) fn refuses(&self, member: &str) -> bool {
        self.resolution.conflicting.iter().any(|export| export.member == member)
    }

    /// The winner withdraws its last slice: where somebody waits to succeed it, its export may
    /// follow.
    fn leaving(&self, copy: &Object<EndpointSliceImport>) -> Option<Duration> {
        if self.resolution.conflicting.is_empty() {
            return None;
        }
        let slice = self.state.slice_exports.iter().find(|slice| origin::is_from(copy, slice))?;
        deadline::remaining(slice.object.meta.deleted?, LEAVING, self.now)
    }
}

/// Since when the hub accepts an export; `None` while it does not say so.
fn accepted_since(export: &Export<'_>) -> Option<Timestamp> {
    let conflict = find(&export.object.conditions, conditions::CONFLICT)?;
    (conflict.status == conditions::FALSE).then_some(conflict.last_transition_time.0)
}
