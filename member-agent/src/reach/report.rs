//! The object on the hub, and when it is written.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_api::multicluster::{
    MAX_REACHED, MAX_TROUBLES, ReachReportSpec, ReachTrouble, ReachedExporter,
};
use fleet_plan::text::truncate;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::cell::Cell;
use super::verdict::Verdict;

/// Time between two writes.
const EVERY: Duration = Duration::from_mins(1);
/// Time after which a report is written that the hub should have: a user, or the loss of the hub, may have removed it.
const REPEATED: Duration = Duration::from_hours(1);
/// The most bytes of a detail.
const DETAIL: usize = 256;

/// A clock of the process, by that of the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calendar {
    /// The time of the world when the clock of the process showed `at`.
    pub(crate) now: Timestamp,
    /// The clock of the process.
    pub(crate) at: Duration,
}

impl Calendar {
    fn time(self, then: Duration) -> Time {
        let ago = self.at.saturating_sub(then).as_secs();
        let ago = jiff::SignedDuration::from_secs(i64::try_from(ago).unwrap_or(i64::MAX));
        let time = self.now.checked_sub(ago).unwrap_or(self.now);
        Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
    }
}

/// What a report has of these verdicts, without the time at which it is written.
pub(crate) fn report(
    verdicts: &BTreeMap<&Cell, Verdict>,
    names: bool,
    calendar: Calendar,
) -> ReachReportSpec {
    let mut exporters = BTreeMap::<&str, ReachedExporter>::new();
    let mut spec = ReachReportSpec { names, ..ReachReportSpec::default() };
    let mut troubles = Vec::new();
    for (cell, verdict) in verdicts {
        let exporter = exporters.entry(&cell.exporter).or_default();
        let (all, own) = match verdict {
            Verdict::Reached => (&mut spec.reachable, &mut exporter.reachable),
            Verdict::Stops(_) => (&mut spec.unreachable, &mut exporter.unreachable),
            Verdict::Unknown => (&mut spec.unknown, &mut exporter.unknown),
            Verdict::NotDialled => (&mut spec.not_dialled, &mut exporter.not_dialled),
        };
        for count in [all, own] {
            *count = count.saturating_add(1);
        }
        if let Verdict::Stops(stop) = verdict {
            let service = &cell.imported.service;
            troubles.push(ReachTrouble {
                exporter: cell.exporter.to_string(),
                namespace: service.namespace.to_string(),
                service: service.name.to_string(),
                api: cell.imported.api,
                hop: stop.hop,
                since: calendar.time(stop.since),
                detail: truncate(&stop.detail, DETAIL).to_string(),
            });
        }
    }
    let first = exporters.into_iter().take(MAX_REACHED);
    spec.exporters = first
        .map(|(cluster, counts)| ReachedExporter { cluster: cluster.to_owned(), ..counts })
        .collect();
    // The worst and the oldest first: those that are left out are counted.
    troubles
        .sort_by(|one, other| (&one.since, &one.exporter).cmp(&(&other.since, &other.exporter)));
    troubles.truncate(MAX_TROUBLES);
    spec.troubles = troubles;
    spec
}

/// What was written last, and when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Publisher {
    /// When there was something to write for the first time.
    begun: Option<Duration>,
    written: Option<ReachReportSpec>,
    tried: Option<Duration>,
}

impl Publisher {
    /// Whether a report is to be written now. An attempt counts as a write.
    pub(crate) fn is_due(&mut self, report: &ReachReportSpec, now: Duration) -> bool {
        let begun = *self.begun.get_or_insert(now);
        // What a new process does not know yet, its predecessor may have reported.
        let is_incomplete = report.unknown > 0 && now.saturating_sub(begun) < EVERY;
        let since = self.tried.map(|last| now.saturating_sub(last));
        let is_early = since.is_some_and(|since| since < EVERY);
        let is_old = since.is_some_and(|since| since >= REPEATED);
        let is_new = self.written.as_ref().is_none_or(|written| !is_same(written, report));
        if is_early || is_incomplete || !(is_new || is_old) {
            return false;
        }
        self.tried = Some(now);
        true
    }

    /// Remembers what the hub has.
    pub(crate) fn written(&mut self, report: ReachReportSpec) {
        self.written = Some(report);
    }

    /// For a process that begins again: of what was, the last attempt alone counts, so that a leader that comes and goes writes no more
    /// than another one.
    pub(crate) fn rested(&self) -> Self {
        Self { tried: self.tried, ..Self::default() }
    }

    /// Forgets what the hub has: another process may have led since.
    pub(crate) fn forget(&mut self) {
        self.written = None;
    }
}

/// Whether two reports are the same: a time that moves by a second, and what the last dial has met, are no news.
fn is_same(one: &ReachReportSpec, other: &ReachReportSpec) -> bool {
    let plain = |spec: &ReachReportSpec| {
        let mut spec = spec.clone();
        spec.observed = None;
        for trouble in &mut spec.troubles {
            trouble.since = Time(Timestamp::UNIX_EPOCH);
            trouble.detail.clear();
        }
        spec.troubles.sort_by(|one, other| {
            (&one.exporter, &one.namespace, &one.service, one.api).cmp(&(
                &other.exporter,
                &other.namespace,
                &other.service,
                other.api,
            ))
        });
        spec
    };
    plain(one) == plain(other)
}
