//! The only place that reads wall time, and the clock of the lease.
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

/// Time since the machine was started, the time that it or this process stood still included, and
/// free of what administrators do to the date. For deadlines that others rely on.
#[derive(Clone, Debug)]
pub struct BootClock(BootSource);

#[derive(Clone, Debug)]
enum BootSource {
    System,
    Timers(Instant),
    Hand(Arc<Mutex<Duration>>),
}

impl BootClock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(BootSource::System)
    }

    /// A clock that starts at zero now and follows the timers of the runtime, paused or not.
    pub fn of_timers() -> Self {
        Self(BootSource::Timers(monotonic()))
    }

    /// A clock that stands still at zero until it is moved. Clones move together.
    pub fn by_hand() -> Self {
        Self(BootSource::Hand(Arc::default()))
    }

    /// The time since the start.
    pub fn now(&self) -> Duration {
        match &self.0 {
            BootSource::System => {
                let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
                let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
                Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
            }
            BootSource::Timers(start) => monotonic().duration_since(*start),
            BootSource::Hand(time) => *time.lock(),
        }
    }

    /// Moves a clock that is moved by hand.
    pub fn advance(&self, by: Duration) {
        if let BootSource::Hand(time) = &self.0 {
            *time.lock() += by;
        }
    }
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
    fn the_clock_since_boot_runs() {
        let clock = BootClock::system();
        clock.advance(Duration::from_hours(1000));
        let first = clock.now();
        assert!(first > Duration::ZERO && clock.now() >= first);
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
