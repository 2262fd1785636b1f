use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fleet_api::ObjectName;
use fleet_api::traffic::{ALL_SERVICES, DrainReason, DrainRequest, DrainStatus};
use fleet_traffic::{Drain, DrainPermission, DrainStep, drain_permission};

use super::exporters::{is_concerned, is_served, services_of};
use super::progress::Progress;
use super::settings::{percent, seconds};
use super::subject::Subject;

/// How long the end of a drain takes whose request was taken out of the list.
const UNREQUESTED: Duration = Duration::from_mins(1);
/// How often Services are looked at again of a drain that has come to an end.
const RECHECK: Duration = Duration::from_mins(1);
/// The same for a drain that is refused.
const RECHECK_REFUSED: Duration = Duration::from_secs(10);

/// What this process knows of drains beside what is stored: when their steps were stored, and what was found then.
#[derive(Clone, Debug, Default)]
pub(super) struct Drains {
    known: BTreeMap<(Arc<str>, String), Known>,
}

#[derive(Clone, Debug)]
struct Known {
    percent: u8,
    /// When the percentage was seen to be stored; for a drain that another process has begun, when this one began.
    reached: Duration,
    /// The serial that importers have to apply for it.
    serial: i64,
    check: Option<Check>,
}

/// What was found about the Services of a drain.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Check {
    at: Duration,
    force: bool,
    held: Vec<String>,
    refused: bool,
}

/// What is decided about all drains of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) drains: Vec<DrainStatus>,
    pub(super) held: Vec<String>,
    pub(super) refused: Option<String>,
}

/// One drain of a member.
#[derive(Clone, Copy)]
struct One<'a> {
    subject: Subject<'a>,
    service: &'a str,
    request: Option<&'a DrainRequest>,
    stored: Option<&'a DrainStatus>,
    /// What holds for a Service without a drain of its own.
    otherwise: u8,
    now: Duration,
}

impl Drains {
    /// Forgets members that have left.
    pub(super) fn retain(&mut self, members: &BTreeSet<Arc<str>>) {
        self.known.retain(|(member, _), _| members.contains(member));
    }

    /// Decides about the drains of a member. `progress` is what the importers have applied.
    pub(super) fn decide(
        &mut self,
        subject: Subject<'_>,
        progress: &Progress,
        now: Duration,
    ) -> Decided {
        let requested = subject.spec.drains.iter().map(|drain| drain.service.as_str());
        let stored = subject.stored.drains.iter().map(|drain| drain.service.as_str());
        let services: BTreeSet<_> = requested.chain(stored).collect();
        let mut decided = Decided::default();
        let of_all = subject.drain(ALL_SERVICES).map_or(0, |drain| percent(drain.percent));
        for service in services {
            let all = service == ALL_SERVICES;
            let one = One {
                subject,
                service,
                request: subject.request(service),
                stored: subject.drain(service),
                otherwise: if all { 0 } else { of_all },
                now,
            };
            self.one(one, progress, &mut decided);
        }
        decided
    }

    fn one(&mut self, one: One<'_>, progress: &Progress, decided: &mut Decided) {
        let mut known = self.take(one);
        let reached = one.stored.map(|_| known.reached);
        let acknowledged = progress.up_to(known.serial);
        let status = match one.drain().next(one.percent(), reached, acknowledged, one.now) {
            DrainStep::Done if one.is_over() => None,
            DrainStep::Done => Some(one.done(&mut known, self, decided)),
            DrainStep::To(next) => one.step(next, &mut known, self, decided),
            DrainStep::Wait { .. } => Some(one.waits(&mut known, self, decided)),
        };
        // Until its end is stored, it is decided again.
        if status.is_some() || one.stored.is_some() {
            self.known.insert(one.key(), known);
        }
        decided.drains.extend(status);
    }

    /// Takes out what is known, brought up to date with what is stored.
    fn take(&mut self, one: One<'_>) -> Known {
        let percent = one.percent();
        let known = self.known.remove(&one.key());
        let fresh = |check| {
            let serial = one.subject.stored.serial;
            Known { percent, reached: one.now, serial, check }
        };
        match known {
            Some(known) if known.percent == percent => known,
            known => fresh(known.and_then(|known| known.check)),
        }
    }

    /// Whether a Service that is held back from the drain of a member stays so, by what was found last. Two drains that are looked at
    /// in the same moment would take each other for the one that is held back, and both go on.
    fn stays_held(&self, member: &str, service: &str) -> bool {
        let known = self.known.get(&(Arc::from(member), ALL_SERVICES.to_owned()));
        let check = known.and_then(|known| known.check.as_ref());
        check.is_none_or(|check| check.refused || check.held.iter().any(|held| held == service))
    }
}

impl One<'_> {
    fn key(&self) -> (Arc<str>, String) {
        (Arc::clone(self.subject.name), self.service.to_owned())
    }

    fn is_all(&self) -> bool {
        self.service == ALL_SERVICES
    }

    /// The percentage that importers apply now.
    fn percent(&self) -> u8 {
        self.stored.map_or(self.otherwise, |drain| percent(drain.percent))
    }

    fn drain(&self) -> Drain {
        match self.request {
            Some(request) => {
                Drain { target: percent(request.percent), over: seconds(request.over_seconds) }
            }
            None => Drain { target: self.otherwise, over: UNREQUESTED },
        }
    }

    /// Whether nothing differs without it.
    fn is_over(&self) -> bool {
        let (target, none) = (self.drain().target, self.otherwise == 0);
        target == self.otherwise && (self.request.is_none() || none)
    }

    fn done(&self, known: &mut Known, others: &Drains, decided: &mut Decided) -> DrainStatus {
        let percent = self.percent();
        if percent > 0 {
            self.check(known, others, RECHECK);
        }
        let is_refused = self.report(known, decided);
        let removed = self.removes() && !is_refused;
        self.status(
            percent,
            removed,
            if is_refused { DrainReason::Refused } else { DrainReason::Drained },
        )
    }

    fn step(
        &self,
        next: u8,
        known: &mut Known,
        others: &Drains,
        decided: &mut Decided,
    ) -> Option<DrainStatus> {
        let percent = self.percent();
        if next < percent {
            let ends = next == 0 && self.otherwise == 0 && self.drain().target == 0;
            return (!ends).then(|| self.status(next, false, DrainReason::Returning));
        }
        let was_refused = known.check.as_ref().is_some_and(|check| check.refused);
        self.check(known, others, if was_refused { RECHECK_REFUSED } else { Duration::ZERO });
        if self.report(known, decided) {
            return Some(self.status(percent, false, DrainReason::Refused));
        }
        let reached = next == self.drain().target;
        let reason = if reached { DrainReason::Drained } else { DrainReason::Draining };
        Some(self.status(next, reached && self.removes(), reason))
    }

    fn waits(&self, known: &mut Known, others: &Drains, decided: &mut Decided) -> DrainStatus {
        let percent = self.percent();
        let target = self.drain().target;
        if target < percent {
            return self.status(percent, false, DrainReason::Returning);
        }
        let was_refused = self.stored.is_some_and(|drain| drain.reason == DrainReason::Refused);
        if known.check.is_none() && was_refused {
            self.check(known, others, Duration::ZERO);
        }
        // What the last step found, or the process that took it.
        let is_refused = if known.check.is_some() {
            self.report(known, decided)
        } else {
            let held = self.subject.stored.held_services.iter().filter(|_| self.is_all());
            decided.held.extend(held.cloned());
            false
        };
        let reason = if is_refused { DrainReason::Refused } else { DrainReason::Draining };
        self.status(percent, false, reason)
    }

    fn status(&self, percent: u8, removed: bool, reason: DrainReason) -> DrainStatus {
        let service = self.service.to_owned();
        DrainStatus { service, percent: percent.into(), removed, reason }
    }

    fn removes(&self) -> bool {
        self.request.is_some_and(|request| request.remove && request.percent > 0)
    }

    fn force(&self) -> bool {
        self.request.is_some_and(|request| request.force)
    }

    /// Looks at the Services that are concerned, unless that was done within this time.
    fn check(&self, known: &mut Known, drains: &Drains, within: Duration) {
        let force = self.force();
        let is_recent = |check: &Check| check.force == force && self.now < check.at + within;
        if known.check.as_ref().is_some_and(is_recent) {
            return;
        }
        let services: Vec<_> = self.services();
        let Subject { name: member, snapshot, .. } = self.subject;
        let found = services.iter().map(|service| {
            let name = text(service);
            let stays_held = |other: &str| drains.stays_held(other, &name);
            let is_served = is_served(member, service, snapshot, stays_held);
            (name, is_served)
        });
        let found: Vec<_> = found.collect();
        let found = found.iter().map(|(name, is_served)| (name.as_str(), *is_served));
        let (held, refused) = match drain_permission(found, force) {
            DrainPermission::Except(held) => {
                let refused = !self.is_all() && !held.is_empty();
                (held.into_iter().map(str::to_owned).collect(), refused)
            }
            DrainPermission::Refused => (Vec::new(), true),
        };
        known.check = Some(Check { at: self.now, force, held, refused });
    }

    /// The Services that are concerned.
    fn services(&self) -> Vec<ObjectName> {
        let Subject { name: member, snapshot, .. } = self.subject;
        if !self.is_all() {
            // Without a walk through all that the fleet exports: there may be many such drains.
            let service = ObjectName::parse(self.service);
            let service = service.filter(|service| is_concerned(member, service, snapshot));
            return service.into_iter().collect();
        }
        let is_of_its_own = |service: &ObjectName| {
            let name = text(service);
            self.subject.request(&name).is_some() || self.subject.drain(&name).is_some()
        };
        let all = services_of(member, snapshot).into_iter();
        all.filter(|service| !is_of_its_own(service)).collect()
    }

    /// Adds what was found. Returns whether the drain is refused.
    fn report(&self, known: &Known, decided: &mut Decided) -> bool {
        let Some(check) = &known.check else { return false };
        if !check.refused {
            decided.held.extend(check.held.iter().cloned());
        } else if self.is_all() {
            // What was held back before the drain was refused has no other exporter now, either.
            decided.held.extend(self.subject.stored.held_services.iter().cloned());
            decided.refused = Some(
                "the drain of all Services is refused: more than 100 of them would have no ready endpoint".to_owned(),
            );
        } else if decided.refused.is_none() {
            decided.refused = Some(format!(
                "the drain of {} is refused: the Service would have no ready endpoint",
                self.service
            ));
        }
        check.refused
    }
}

fn text(service: &ObjectName) -> String {
    format!("{}/{}", service.namespace, service.name)
}
