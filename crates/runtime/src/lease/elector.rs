//! What to do about the lease next. No clock, no client: time comes in as a value.

use std::time::Duration;

use jiff::Timestamp;

use super::timing::{LONGEST, Timing};

/// Content of a Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Object {
    /// Who has it; empty if it is free.
    pub(super) holder: String,
    /// For how long they ask to be left alone after each change.
    pub(super) duration: Duration,
    /// When they got it, by their own clock. For people.
    pub(super) acquired: Option<Timestamp>,
    /// When they last renewed it, by their own clock. That it changes counts, not its value.
    pub(super) renewed: Option<Timestamp>,
    /// How often it went from one to another.
    pub(super) transitions: i32,
}

/// A Lease as the server has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Found {
    pub(super) version: String,
    pub(super) record: Object,
}

/// What the server has, as far as its last answer shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Current {
    /// It may have changed since.
    Unknown,
    None,
    Lease(Found),
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum NextAction {
    /// Ask the server.
    Read,
    /// Put this in the place of that version, or create it.
    Write { at: Option<String>, record: Object },
    /// Another process has it: look again later.
    Wait,
}

/// One process that wants to lead.
///
/// Safe because the holder counts from *before* it sent its last renewal, everybody else from
/// *after* they saw it, each on a clock of their own, and no write replaces anything but the version
/// that was read. Clocks of different machines are never compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Elector {
    me: String,
    timing: Timing,
    /// What the lease last contained. Stays when the lease is gone: that it was deleted does not mean
    /// that its holder has noticed.
    remembered: Object,
    /// Whether it is gone.
    gone: bool,
    /// When that, or that it is gone, was first seen.
    seen_at: Duration,
    /// What the server has.
    current: Current,
    /// Until when we may write.
    until: Duration,
}

impl Elector {
    /// A process that knows nothing yet. `me` must be like no other's.
    pub(super) fn new(me: String, timing: Timing) -> Self {
        Self {
            me,
            timing,
            remembered: Object::default(),
            gone: false,
            seen_at: Duration::ZERO,
            current: Current::Unknown,
            until: Duration::ZERO,
        }
    }

    /// What to do at `now`; `wall` is only written down.
    pub(super) fn decide(&self, now: Duration, wall: Timestamp) -> NextAction {
        let at = match &self.current {
            Current::Unknown => return NextAction::Read,
            _ if self.is_taken(now) => return NextAction::Wait,
            Current::None => None,
            Current::Lease(found) => Some(found.version.clone()),
        };
        NextAction::Write { at, record: self.claim(wall) }
    }

    /// Until when this process may write: a time of the clock that `now` comes from.
    pub(super) fn leads_until(&self) -> Duration {
        self.until
    }

    /// Who has the lease, as far as known; empty if it is free.
    pub(super) fn holder(&self) -> &str {
        &self.remembered.holder
    }

    /// The server was asked and has this.
    pub(super) fn read(&mut self, now: Duration, found: Option<Found>) {
        if let Some(found) = &found {
            self.remember(now, &found.record);
            if self.is_others(&found.record) {
                self.until = Duration::ZERO;
            }
        } else if !std::mem::replace(&mut self.gone, true) {
            // Its holder may have renewed it, unseen by us, until it was deleted.
            self.seen_at = now;
        }
        self.current = found.map_or(Current::None, Current::Lease);
    }

    /// The server has acknowledged our claim, which was sent at `sent`.
    pub(super) fn wrote(&mut self, sent: Duration, found: Found) {
        self.remember(sent, &found.record);
        self.until = sent + self.timing.renew_deadline;
        self.current = Current::Lease(found);
    }

    /// What the server has may be something else by now.
    pub(super) fn forget(&mut self) {
        self.current = Current::Unknown;
    }

    /// What to write to give the lease back, once the last write was answered. `None` if it is
    /// not ours.
    pub(super) fn release(&mut self, now: Duration, wall: Timestamp) -> Option<NextAction> {
        let ours = now < std::mem::take(&mut self.until);
        let before = std::mem::replace(&mut self.current, Current::Unknown);
        let Current::Lease(found) = before else { return None };
        let record = Object {
            holder: String::new(),
            // For those who believe in nothing but time, as the Go library writes it.
            duration: Duration::from_secs(1),
            renewed: Some(wall),
            ..found.record
        };
        ours.then_some(NextAction::Write { at: Some(found.version), record })
    }

    fn remember(&mut self, now: Duration, record: &Object) {
        if std::mem::take(&mut self.gone) || self.remembered != *record {
            self.remembered = record.clone();
            self.seen_at = now;
        }
    }

    fn is_others(&self, record: &Object) -> bool {
        !record.holder.is_empty() && record.holder != self.me
    }

    /// Whether another process may still be writing.
    fn is_taken(&self, now: Duration) -> bool {
        let asked = self.remembered.duration.max(self.timing.duration).min(LONGEST);
        // What is gone may have been another's after it was ours, unless it still is.
        let lost = self.gone && self.remembered.holder == self.me && self.until <= now;
        (lost || self.is_others(&self.remembered)) && now < self.seen_at + asked
    }

    fn claim(&self, wall: Timestamp) -> Object {
        let before = &self.remembered;
        let ours = before.holder == self.me;
        let first = *before == Object::default();
        Object {
            holder: self.me.clone(),
            duration: self.timing.duration,
            acquired: before.acquired.filter(|_| ours).or(Some(wall)),
            renewed: Some(wall),
            transitions: before.transitions.saturating_add(i32::from(!ours && !first)),
        }
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
