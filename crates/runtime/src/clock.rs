//! The only place that reads wall time.
//!
//! Plans get the time as a value, so that they stay pure; durations inside the process are
//! measured with [`std::time::Instant`], which no administrator can move.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::Mutex;

/// Wall time, or a time that a test moves by hand.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Fixed(Arc<Mutex<Timestamp>>),
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands still at `time` until it is moved. Clones move together.
    pub fn fixed(time: Timestamp) -> Self {
        Self(Source::Fixed(Arc::new(Mutex::new(time))))
    }

    /// What time it is.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => Timestamp::now(),
            Source::Fixed(time) => *time.lock(),
        }
    }

    /// Moves a fixed clock. The machine's clock stays as it is.
    pub fn advance(&self, by: Duration) {
        if let Source::Fixed(time) = &self.0 {
            let mut time = time.lock();
            *time = time.saturating_add(by).unwrap_or(Timestamp::MAX);
        }
    }
}

/// The monotonic time that the timers of the async runtime follow; tests can pause it.
pub(crate) fn monotonic() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_moves_only_by_hand() {
        let clock = Clock::fixed(Timestamp::UNIX_EPOCH);
        let clone = clock.clone();
        assert_eq!(clock.now(), Timestamp::UNIX_EPOCH);
        clone.advance(Duration::from_secs(2));
        assert_eq!(clock.now().as_second(), 2);
    }

    #[test]
    fn the_machine_clock_runs() {
        let clock = Clock::system();
        clock.advance(Duration::from_hours(1000));
        let first = clock.now();
        assert!(clock.now() >= first);
        assert!(first.as_second() > 1_700_000_000);
    }
}
