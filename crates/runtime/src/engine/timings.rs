//! The way of a key from an event to the writes that it causes, and how long each part of it took.

use std::time::{Duration, Instant};

use crate::queue::Job;

/// When a key was where. What it is planned for may have been marked by a timer: then nothing was received.
#[derive(Clone, Copy, Debug)]
pub(super) struct StageTimings {
    received: Option<Instant>,
    ready: Instant,
    taken: Instant,
    planned: Instant,
}

impl StageTimings {
    pub(super) fn of<K>(job: &Job<K>, taken: Instant, planned: Instant) -> Self {
        let ready = taken.checked_sub(job.waited).unwrap_or(taken);
        Self { received: job.since, ready, taken, planned }
    }

    /// From the event to the acknowledgement of a write, and its parts, which add up to that.
    pub(super) fn until(
        &self,
        acknowledged: Instant,
    ) -> Option<(Duration, [(&'static str, Duration); 4])> {
        let received = self.received?;
        let between = |from: Instant, to: Instant| to.saturating_duration_since(from);
        let parts = [
            ("snapshot", between(received, self.ready)),
            ("queue", between(self.ready, self.taken)),
            ("plan", between(self.taken, self.planned)),
            ("write", between(self.planned, acknowledged)),
        ];
        Some((between(received, acknowledged), parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(since: Option<Instant>) -> Job<u8> {
        let (account, waited) = (fleet_plan::common_account(), Duration::from_millis(2));
        Job { key: 1, account, since, waited, failures: 0 }
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let received = Instant::now();
        let at = |millis| received + Duration::from_millis(millis);
        let timings = StageTimings::of(&job(Some(received)), at(5), at(6));
        let (whole, parts) = timings.until(at(10)).unwrap();
        let millis = parts.map(|(part, took)| (part, took.as_millis()));
        assert_eq!(millis, [("snapshot", 3), ("queue", 2), ("plan", 1), ("write", 4)]);
        assert_eq!(whole, parts.iter().map(|(_, took)| *took).sum::<Duration>());
    }

    #[test]
    fn what_a_timer_woke_has_no_beginning() {
        let now = Instant::now();
        assert_eq!(StageTimings::of(&job(None), now, now).until(now), None);
    }
}
