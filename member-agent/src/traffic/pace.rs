//! How fast slices are rewritten in which no endpoint comes or goes.

use std::time::Duration;

/// Slices that are rewritten at once.
const BURST: u32 = 100;

/// What was written, as the time at which the next write would come if all were evenly spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    next: Duration,
}

/// What a plan does with writes that are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// There are none.
    None,
    /// It sends them now.
    Now(u32),
    /// They come at the time that was noted for them.
    AsNoted,
    /// They wait until this time.
    Wait(u32, Duration),
    /// They wait for the time that was noted for them.
    StillWait(Duration),
}

/// Time between two writes.
fn interval(per_second: u32) -> Duration {
    Duration::from_secs(1) / per_second.max(1)
}

impl Pace {
    /// The turn of a Service with so many writes, for which a time may have been noted.
    pub(crate) fn turn(
        self,
        writes: u32,
        noted: Option<Duration>,
        per_second: u32,
        now: Duration,
    ) -> Turn {
        let at = self.next.saturating_sub(interval(per_second) * BURST);
        match noted {
            _ if writes == 0 => Turn::None,
            Some(noted) if noted <= now => Turn::AsNoted,
            Some(noted) => Turn::StillWait(noted),
            None if at <= now => Turn::Now(writes),
            None => Turn::Wait(writes, at),
        }
    }

    /// The pace after a turn.
    #[must_use]
    pub(crate) fn after(self, turn: Turn, per_second: u32, now: Duration) -> Self {
        match turn {
            Turn::Now(writes) | Turn::Wait(writes, _) => {
                Self { next: self.next.max(now) + interval(per_second) * writes }
            }
            Turn::None | Turn::AsNoted | Turn::StillWait(_) => self,
        }
    }
}

impl Turn {
    /// When the writes come, if not now.
    pub(crate) fn waits_until(self) -> Option<Duration> {
        match self {
            Self::Wait(_, at) | Self::StillWait(at) => Some(at),
            Self::None | Self::Now(_) | Self::AsNoted => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1000);

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_burst_goes_at_once_and_the_rest_evenly() {
        let mut pace = Pace::default();
        let mut waits = Vec::new();
        for _ in 0..140 {
            let turn = pace.turn(1, None, 20, NOW);
            pace = pace.after(turn, 20, NOW);
            waits.extend(turn.waits_until());
        }
        assert_eq!(waits.len(), 39, "the one that exceeds the burst may go, too");
        assert_eq!(waits[0], NOW + ms(50));
        assert!(waits.windows(2).all(|pair| pair[1] == pair[0] + ms(50)), "{waits:?}");
    }

    #[test]
    fn a_noted_turn_comes_whatever_others_have_written() {
        let pace = Pace { next: NOW + ms(3_600_000) };
        assert_eq!(pace.turn(3, Some(NOW), 20, NOW), Turn::AsNoted);
        assert_eq!(pace.turn(3, Some(NOW + ms(1)), 20, NOW), Turn::StillWait(NOW + ms(1)));
        assert_eq!(pace.after(Turn::AsNoted, 20, NOW), pace, "it was counted when it was noted");
    }

    #[test]
    fn an_idle_agent_saves_no_more_than_a_burst() {
        let turn = Pace::default().turn(1, None, 20, NOW * 1000);
        assert_eq!(turn, Turn::Now(1));
        let pace = Pace::default().after(Turn::Now(1), 20, NOW);
        assert_eq!(pace, Pace { next: NOW + ms(50) });
        assert_eq!(pace.turn(0, None, 20, NOW), Turn::None);
    }

    #[test]
    fn a_thousand_slices_take_their_time() {
        let mut pace = Pace::default();
        let mut last = NOW;
        for _ in 0..1000 {
            let turn = pace.turn(1, None, 20, NOW);
            pace = pace.after(turn, 20, NOW);
            last = turn.waits_until().unwrap_or(last);
        }
        assert!(last >= NOW + ms(44_900), "{last:?}");
    }

    /// What one API server answers, in microseconds.
    const ANSWER: u64 = 10_000;
    /// Writes that an agent has under way at most.
    const SLOTS: usize = 16;

    /// How long writes take that are asked for at these times: each takes the slot that is free first.
    fn latencies(mut writes: Vec<(u64, bool)>) -> Vec<u64> {
        writes.sort_unstable();
        let mut free = [0_u64; SLOTS];
        let mut latencies = Vec::new();
        for (asked, is_endpoint) in writes {
            let slot = free.iter_mut().min().unwrap();
            *slot = asked.max(*slot) + ANSWER;
            latencies.extend(is_endpoint.then_some(*slot - asked));
        }
        latencies.sort_unstable();
        latencies
    }

    /// A thousand slices of a member that is drained, while endpoints of others change a hundred times a second. No lane lets these
    /// overtake here: in the agent, accounts of exporters are served in turn besides.
    #[test]
    fn a_drain_does_not_slow_down_endpoints_of_others() {
        let micros = |at: Duration| u64::try_from(at.as_micros()).unwrap();
        let mut pace = Pace::default();
        let drain: Vec<_> = (0..1000)
            .map(|_| {
                let turn = pace.turn(1, None, 20, NOW);
                pace = pace.after(turn, 20, NOW);
                (micros(turn.waits_until().unwrap_or(NOW)), false)
            })
            .collect();
        let end = drain.last().unwrap().0;
        // Not in step with the drain.
        let changes = (micros(NOW)..end).step_by(9_973).map(|at| (at, true));
        let changes: Vec<_> = changes.collect();
        let p99 = |latencies: &[u64]| latencies[latencies.len() * 99 / 100];
        let before = p99(&latencies(changes.clone()));
        let during = p99(&latencies(drain.into_iter().chain(changes).collect()));
        assert!(during * 10 <= before * 12, "{during} against {before} microseconds");
        // Without a pace it would be another matter.
        let at_once = (0..1000).map(|_| (micros(NOW), false));
        let soon = (micros(NOW)..micros(NOW) + 500_000).step_by(9_973).map(|at| (at, true));
        let unpaced = latencies(at_once.chain(soon).collect());
        assert!(p99(&unpaced) > before * 12 / 10, "{unpaced:?}");
    }
}
