//! How long things take in an election.

use std::time::Duration;

/// Longest lease. Also how long a record is believed that claims more.
pub(super) const LONGEST: Duration = Duration::from_mins(10);
/// Candidates wait up to this much longer than the retry period, so that they do not all ask at once.
const SPREAD: f64 = 1.2;

/// The times of an election. All processes of one should have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// How long others leave a lease alone after they saw it renewed.
    pub duration: Duration,
    /// How long after the last renewal its holder still writes.
    pub renew_deadline: Duration,
    /// Time between two renewals, and at least between two looks of a candidate.
    pub retry_period: Duration,
    /// How long an answer to a write is waited for.
    pub write_timeout: Duration,
}

/// Times that would let two processes write at once, or none for long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TimingError(String);

impl Default for Timing {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(30),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            write_timeout: Duration::from_secs(10),
        }
    }
}

impl Timing {
    /// Checks that the last write of a holder is over before anybody else takes the lease.
    ///
    /// # Errors
    /// One line that names the flags.
    pub fn check(self) -> Result<Self, TimingError> {
        let Self { duration, renew_deadline, retry_period, write_timeout } = self;
        let refuse = |reason: String| Err(TimingError(reason));
        if retry_period.is_zero() || write_timeout.is_zero() {
            return refuse("--leader-election-retry-period and --write-timeout: not 0".to_owned());
        }
        if duration.subsec_nanos() != 0 || duration > LONGEST {
            return refuse(format!(
                "--leader-election-lease-duration: whole seconds, at most {}",
                LONGEST.as_secs()
            ));
        }
        if retry_period * 2 > renew_deadline {
            return refuse(format!(
                "--leader-election-renew-deadline ({renew_deadline:?}) has to be at least twice \
                 --leader-election-retry-period ({retry_period:?})"
            ));
        }
        if write_timeout + renew_deadline >= duration {
            return refuse(format!(
                "--leader-election-lease-duration ({duration:?}) has to be more than \
                 --leader-election-renew-deadline ({renew_deadline:?}) and --write-timeout \
                 ({write_timeout:?}) together"
            ));
        }
        Ok(self)
    }

    /// Limit of one request about the lease: a second one fits before the deadline.
    pub(super) fn request_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }

    /// How long a candidate waits, given a random number from 0 to 1.
    pub(super) fn pause(&self, random: f64) -> Duration {
        self.retry_period.mul_f64(1.0 + SPREAD * random.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(duration: u64, renew: u64, retry: u64, write: u64) -> Result<Timing, TimingError> {
        let of = Duration::from_secs;
        Timing {
            duration: of(duration),
            renew_deadline: of(renew),
            retry_period: of(retry),
            write_timeout: of(write),
        }
        .check()
    }

    #[test]
    fn the_defaults_are_accepted() {
        assert_eq!(Timing::default().check(), Ok(Timing::default()));
    }

    #[test]
    fn times_that_allow_two_writers_are_refused() {
        for (bad, named) in [
            (timing(20, 10, 2, 10), "--leader-election-lease-duration"),
            (timing(15, 10, 2, 10), "--write-timeout"),
            (timing(601, 10, 2, 10), "--leader-election-lease-duration"),
            (timing(30, 3, 2, 10), "--leader-election-renew-deadline"),
            (timing(30, 10, 0, 10), "--leader-election-retry-period"),
            (timing(30, 10, 2, 0), "--write-timeout"),
        ] {
            let error = bad.unwrap_err().to_string();
            assert!(error.contains(named) && !error.contains('\n'), "{error}");
        }
        assert!(timing(21, 10, 2, 10).is_ok());
        let half = Timing { duration: Duration::from_millis(30_500), ..Timing::default() };
        assert!(half.check().is_err());
    }

    #[test]
    fn candidates_do_not_ask_all_at_once() {
        let timing = Timing::default();
        assert_eq!(timing.pause(0.0), Duration::from_secs(2));
        assert_eq!(timing.pause(1.0), Duration::from_millis(4400));
    }
}
