use std::time::Duration;

/// A moment, by this machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// This one.
    pub fn now() -> Self {
        Self(fleet_load::report::now())
    }

    /// One in milliseconds since 1970.
    pub fn of(milliseconds: u64) -> Self {
        Self(milliseconds)
    }

    /// Milliseconds since 1970.
    pub fn milliseconds(self) -> u64 {
        self.0
    }

    /// A later one.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0 + u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }
}
