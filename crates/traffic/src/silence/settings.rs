use std::time::Duration;

/// Fleet-wide settings of silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SilenceSettings {
    /// How often a member renews its Lease.
    pub heartbeat: Duration,
    /// A member whose Lease has not changed for this long is silent.
    pub silent_after: Duration,
    /// Percentage of the members that may be silent by verdict at once.
    pub max_silent_percent: u8,
    /// How long a member renews without a gap before its endpoints return.
    pub return_after: Duration,
    /// How long their return in steps takes.
    pub return_over: Duration,
}

impl Default for SilenceSettings {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(10),
            silent_after: Duration::from_mins(1),
            max_silent_percent: 20,
            return_after: Duration::from_secs(30),
            return_over: Duration::from_mins(1),
        }
    }
}

impl SilenceSettings {
    /// Time without a renewal that is a gap. One renewal may be lost.
    pub(crate) fn gap(self) -> Duration {
        self.heartbeat * 5 / 2
    }

    /// Time without a renewal after which a member is suspected. When the first of several that fail at once is silent, all
    /// others are suspected: their renewals were a heartbeat apart at most.
    pub(crate) fn suspicion(self) -> Duration {
        self.gap().min(self.silent_after.saturating_sub(self.heartbeat))
    }
}
