//! Settings of an accumulator.

use std::time::Duration;

use crate::SourceSet;
use crate::reached::Reached;

/// How an accumulator lists, watches and publishes. The default is what the agents use.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Objects per page of a list.
    pub page_size: u32,
    /// Failures in a row for so long make a source stale.
    pub stale_after: Duration,
    /// A source whose API server went back in time is trusted again when it has been live for so long without a break.
    pub settle_after: Duration,
    /// Sources from which absence is to count only after a while.
    pub cautious: SourceSet,
    /// For how long those must have been live without a break since the last list that followed a start or a failure.
    pub cautious_for: Duration,
    /// When many deletions at once need a second opinion.
    pub mass_deletion: MassDeletionLimits,
    /// Longest pause between attempts to reach an API server that fails, or half more. It bounds how long a
    /// change waits once the server is back.
    pub max_backoff: Duration,
    /// How often to look for a required kind that is not served: from half of it to half more.
    pub recheck_required: Duration,
    /// The same for an optional kind that was never served.
    pub recheck_optional: Duration,
    /// An optional kind counts as absent when the API server does not serve it twice, so far apart: one that has just started
    /// may load definitions late. Zero: when it does not serve it once.
    pub absent_after: Duration,
    /// How often a source that is well is listed again, give or take a fifth: what heals an event
    /// that was lost on its way.
    pub relist_every: Duration,
    /// Changes that wait for the owner task at most; beyond that the watches are not read.
    pub inbox: usize,
    /// Changes that the owner task puts into one snapshot at most.
    pub batch: usize,
    /// How far the sources have come, to be shared with what hands it on to the next process.
    pub reached: Reached,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            page_size: 500,
            stale_after: Duration::from_secs(30),
            settle_after: Duration::from_mins(1),
            cautious: SourceSet::EMPTY,
            cautious_for: Duration::from_mins(1),
            mass_deletion: MassDeletionLimits::default(),
            max_backoff: Duration::from_secs(5),
            recheck_required: Duration::from_secs(5),
            recheck_optional: Duration::from_mins(1),
            absent_after: Duration::from_secs(2),
            relist_every: Duration::from_mins(30),
            inbox: 1024,
            batch: 256,
            reached: Reached::default(),
        }
    }
}

impl Config {
    /// Checks what would stop an accumulator from working, and names the reason.
    pub fn validate(&self) -> Result<(), String> {
        if self.page_size == 0 {
            return Err("the page size of lists must not be zero".to_owned());
        }
        if self.inbox == 0 || self.batch == 0 {
            return Err("inbox and batch must not be zero".to_owned());
        }
        if self.relist_every.is_zero() {
            return Err("there must be a pause between two lists".to_owned());
        }
        if !(0.0..=1.0).contains(&self.mass_deletion.fraction) {
            return Err(
                "the fraction of the mass deletion limits must be between 0 and 1".to_owned()
            );
        }
        Ok(())
    }
}

/// Limit of how much one source may lose at once without a second look: the larger of both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassDeletionLimits {
    /// Share of the source's objects, 0 to 1; 0 switches them off.
    pub fraction: f64,
    /// Number of objects that may always go.
    pub floor: usize,
    /// Over which time deletions by watch events are added up.
    pub window: Duration,
    /// Pause before the second list, so that it is an independent one.
    pub confirm_after: Duration,
    /// For how long one answer of discovery releases deletions by watch events.
    pub released_for: Duration,
}

impl Default for MassDeletionLimits {
    fn default() -> Self {
        Self {
            fraction: 0.3,
            floor: 20,
            // An API server under load removes few objects per second.
            window: Duration::from_mins(1),
            confirm_after: Duration::from_secs(1),
            released_for: Duration::from_secs(1),
        }
    }
}

impl MassDeletionLimits {
    /// For kinds that agents can do without, and whose definition may therefore go at any time: every
    /// deletion counts.
    #[must_use]
    pub(crate) fn none_allowed(self) -> Self {
        let fraction = if self.fraction > 0.0 { f64::MIN_POSITIVE } else { 0.0 };
        Self { fraction, floor: 0, ..self }
    }

    /// Whether `lost` of `total` objects are too many to believe at once.
    #[allow(
        clippy::cast_precision_loss,
        reason = "a limit; no API server has 2^52 objects of a kind"
    )]
    pub fn exceeded_by(&self, lost: usize, total: usize) -> bool {
        self.fraction > 0.0 && lost > self.floor && lost as f64 > self.fraction * total as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_of_both_limits_counts() {
        let limits = MassDeletionLimits::default();
        assert!(!limits.exceeded_by(20, 20));
        assert!(limits.exceeded_by(21, 21));
        assert!(!limits.exceeded_by(30, 100));
        assert!(limits.exceeded_by(31, 100));
        assert!(!MassDeletionLimits { fraction: 0.0, ..limits }.exceeded_by(100, 100));
    }

    #[test]
    fn settings_that_cannot_work_are_named() {
        assert_eq!(Config::default().validate(), Ok(()));
        assert!(Config { page_size: 0, ..Config::default() }.validate().is_err());
        assert!(Config { batch: 0, ..Config::default() }.validate().is_err());
        let relist_every = Duration::ZERO;
        assert!(Config { relist_every, ..Config::default() }.validate().is_err());
        let mass_deletion = MassDeletionLimits { fraction: 1.5, ..MassDeletionLimits::default() };
        assert!(Config { mass_deletion, ..Config::default() }.validate().is_err());
    }
}
