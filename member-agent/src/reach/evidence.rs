//! The results of one target, and when they are enough.
//!
//! One lost packet, one Pod that ends a moment before its slice shows it, is no evidence. Two dials without an answer, at least a second
//! apart and to two endpoints where there are two, are. A host that answers that nothing listens is reached, so that is a matter of an
//! endpoint that may just be starting again: it takes longer.

use std::collections::BTreeMap;
use std::time::Duration;

use super::cell::Destination;
use super::outcome::Outcome;

/// Time between the first failure and the last one of a target that is not reached.
const APART: Duration = Duration::from_secs(1);
/// The same where a host answers that nothing listens.
const REFUSED_FOR: Duration = Duration::from_secs(5);
/// Failures of one endpoint, while others answer, after which that endpoint is reported.
const OF_ENDPOINT: u8 = 3;
/// Answers after which a target that was not reached is.
const AGAIN: u8 = 2;
/// Failures that are kept.
const KEPT: usize = 8;

/// A failed dial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// When its result came.
    pub(crate) at: Duration,
    pub(crate) to: Destination,
    pub(crate) outcome: Outcome,
}

/// The results of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// Failures since the last answer, the oldest first.
    failures: Vec<Failure>,
    /// Answers since the last failure of an endpoint that is not reported by itself.
    answers: u8,
    /// When it has answered last.
    answered: Option<Duration>,
    /// Whether it has ever answered or failed.
    is_known: bool,
    /// Since when it is not reached.
    unreached: Option<Duration>,
    /// Endpoints that fail, while others may answer.
    single: BTreeMap<Destination, Single>,
}

/// One endpoint of several that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Single {
    /// How often in a row.
    count: u8,
    since: Duration,
    last: Duration,
    outcome: Outcome,
}

impl Single {
    fn is_told(&self) -> bool {
        let apart = if self.outcome == Outcome::Refused { REFUSED_FOR } else { APART };
        self.count >= OF_ENDPOINT && self.last.saturating_sub(self.since) >= apart
    }
}

impl Evidence {
    /// Takes a result. `destinations` is how many a dial of this target may have gone to.
    pub(crate) fn take(&mut self, failure: Failure, destinations: usize) {
        let Failure { at, to, outcome } = &failure;
        if !outcome.counts() {
            return;
        }
        self.is_known = true;
        if *outcome == Outcome::Ok {
            self.failures.clear();
            self.single.remove(to);
            self.answers = self.answers.saturating_add(1);
            self.answered = Some(*at);
            if self.answers >= AGAIN {
                self.unreached = None;
            }
            return;
        }
        if destinations > 1 && (self.single.len() < KEPT || self.single.contains_key(to)) {
            let new = Single { count: 0, since: *at, last: *at, outcome: *outcome };
            let single = self.single.entry(to.clone()).or_insert(new);
            single.count = single.count.saturating_add(1);
            (single.last, single.outcome) = (*at, *outcome);
        }
        // An endpoint that is reported by itself stands in the way of no other: the target is reached without it.
        if !self.single.get(to).is_some_and(Single::is_told) {
            self.answers = 0;
        }
        if self.failures.len() == KEPT {
            // The first one shows since when.
            self.failures.remove(1);
        }
        self.failures.push(failure);
        // If it has answered meanwhile, it is another time that it is not reached.
        let has_answered = |since| self.answered.is_some_and(|answered| answered > since);
        if self.unreached.is_none_or(has_answered) && self.is_enough(destinations) {
            self.unreached = self.failures.first().map(|first| first.at);
        }
    }

    fn is_enough(&self, destinations: usize) -> bool {
        let (Some(first), Some(last)) = (self.failures.first(), self.failures.last()) else {
            return false;
        };
        let refused = self.failures.iter().any(|it| it.outcome == Outcome::Refused);
        let apart = if refused { REFUSED_FOR } else { APART };
        let others = self.failures.iter().any(|it| it.to != first.to);
        last.at.saturating_sub(first.at) >= apart && (others || destinations < 2)
    }

    /// Forgets the results of destinations that are gone.
    pub(crate) fn keep(&mut self, is_there: impl Fn(&Destination) -> bool) {
        self.failures.retain(|failure| is_there(&failure.to));
        self.single.retain(|to, _| is_there(to));
        if self.failures.is_empty() && self.answers == 0 {
            // All that failed is gone: what is there now has not been asked.
            *self = Self::default();
        }
    }

    /// Whether there is any result.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Since when it is not reached.
    pub(crate) fn unreached(&self) -> Option<Duration> {
        self.unreached
    }

    /// When it has answered last.
    pub(crate) fn answered(&self) -> Option<Duration> {
        self.answered
    }

    /// What a verdict depends on, to know whether it is another one.
    pub(crate) fn summary(&self) -> impl PartialEq + use<> {
        let single = self.single().map(|(to, ..)| to.clone());
        (self.is_known, self.unreached, single, self.is_refused(), self.failures.is_empty())
    }

    /// The last failure since the last answer.
    pub(crate) fn last(&self) -> Option<&Failure> {
        self.failures.last()
    }

    /// Whether a host has answered that nothing listens, since the last answer.
    pub(crate) fn is_refused(&self) -> bool {
        self.failures.iter().any(|failure| failure.outcome == Outcome::Refused)
    }

    /// An endpoint that has failed often enough, since when, and what was met, while the target as a whole is reached.
    pub(crate) fn single(&self) -> Option<(&Destination, Duration, Outcome)> {
        let (to, single) = self.single.iter().find(|(_, single)| single.is_told())?;
        Some((to, single.since, single.outcome))
    }

    /// The destination to dial again soon: one that has failed, and not yet often enough to be reported. A target whose last dial failed
    /// wants any of its destinations dialled.
    pub(crate) fn suspect(&self) -> Option<Suspect<'_>> {
        if self.unreached.is_none() && !self.failures.is_empty() {
            return Some(Suspect::Any);
        }
        let (to, _) = self.single.iter().find(|(_, single)| !single.is_told())?;
        Some(Suspect::This(to))
    }
}

/// What is to be dialled again soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suspect<'a> {
    /// Any destination of the target.
    Any,
    /// This one.
    This(&'a Destination),
}
