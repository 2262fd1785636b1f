//! How fast slices are rewritten in which no endpoint comes or goes.

use std::collections::BTreeMap;
use std::time::Duration;

/// Slices that are rewritten at once.
const BURST: u32 = 100;

/// What was written or has a turn, as the time at which the next write would come if all were evenly spread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    next: Duration,
    /// Turns that were given back: how many writes, by the second in which they would have come.
    ///
    /// `next` does not go back by them. Turns behind them keep their times, and new ones at the same times would come at twice the pace
    /// together, or at more if that happens again. So a new turn takes the place of what does not come, no more than that, and not
    /// before: up to a second later. In any time, no more is written than the pace allows for a second more.
    free: BTreeMap<u64, u32>,
}

/// Writes that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    writes: u32,
    /// When they come.
    at: Duration,
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
    Wait(Noted),
    /// They wait for the time that was noted for them.
    StillWait(Noted),
}

/// Time between two writes.
fn interval(per_second: u32) -> Duration {
    Duration::from_secs(1) / per_second.max(1)
}

impl Pace {
    /// The turn of a Service with so many writes, for which a time may have been noted.
    pub(crate) fn turn(
        &self,
        writes: u32,
        noted: Option<Noted>,
        per_second: u32,
        now: Duration,
    ) -> Turn {
        let at = self.next.saturating_sub(interval(per_second) * BURST);
        match noted {
            _ if writes == 0 => Turn::None,
            Some(noted) if noted.at <= now => Turn::AsNoted,
            Some(noted) => Turn::StillWait(noted),
            None if at <= now => Turn::Now(writes),
            None => {
                let at = self.freed(writes, now).map_or(at, |freed| freed.min(at));
                Turn::Wait(Noted { writes, at })
            }
        }
    }

    /// Takes note of a turn of a Service for which one may have been noted `before`.
    pub(crate) fn note(
        &mut self,
        turn: Turn,
        before: Option<Noted>,
        per_second: u32,
        now: Duration,
    ) {
        self.free.retain(|second, _| *second >= now.as_secs());
        match turn {
            Turn::None => self.give_back(before, now),
            Turn::AsNoted | Turn::StillWait(_) => {}
            Turn::Wait(noted) if self.freed(noted.writes, now).is_some_and(|at| at <= noted.at) => {
                self.take(noted.writes);
            }
            Turn::Now(writes) | Turn::Wait(Noted { writes, .. }) => {
                self.next = self.next.max(now) + interval(per_second) * writes;
            }
        }
    }

    /// Gives a turn back whose writes do not come any more. What had its turn may have been written.
    pub(crate) fn give_back(&mut self, noted: Option<Noted>, now: Duration) {
        if let Some(noted) = noted.filter(|noted| noted.at > now) {
            *self.free.entry(noted.at.as_secs()).or_default() += noted.writes;
        }
    }

    /// When so many writes can come in place of others: when the last of those would have come.
    fn freed(&self, writes: u32, now: Duration) -> Option<Duration> {
        let mut found = 0_u32;
        let mut places = self.free.range(now.as_secs()..);
        let last = places.find(|(_, free)| {
            found = found.saturating_add(**free);
            found >= writes
        });
        last.map(|(second, _)| Duration::from_secs(second + 1))
    }

    /// Takes the first places of others for so many writes.
    fn take(&mut self, mut writes: u32) {
        self.free.retain(|_, free| {
            let taken = writes.min(*free);
            writes -= taken;
            *free -= taken;
            *free > 0
        });
    }
}

impl Turn {
    /// What is to be noted of writes that do not come now.
    pub(crate) fn noted(self) -> Option<Noted> {
        match self {
            Self::Wait(noted) | Self::StillWait(noted) => Some(noted),
            Self::None | Self::Now(_) | Self::AsNoted => None,
        }
    }

    /// When the writes come, if not now.
    pub(crate) fn waits_until(self) -> Option<Duration> {
        self.noted().map(|noted| noted.at)
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
            pace.note(turn, None, 20, NOW);
            waits.extend(turn.waits_until());
        }
        assert_eq!(waits.len(), 39, "the one that exceeds the burst may go, too");
        assert_eq!(waits[0], NOW + ms(50));
        assert!(waits.windows(2).all(|pair| pair[1] == pair[0] + ms(50)), "{waits:?}");
    }

    #[test]
    fn a_noted_turn_comes_whatever_others_have_written() {
        let mut pace = Pace { next: NOW + ms(3_600_000), ..Pace::default() };
        let noted = |at: Duration| Noted { writes: 3, at };
        assert_eq!(pace.turn(3, Some(noted(NOW)), 20, NOW), Turn::AsNoted);
        let later = noted(NOW + ms(1));
        assert_eq!(pace.turn(3, Some(later), 20, NOW), Turn::StillWait(later));
        let before = pace.clone();
        pace.note(Turn::AsNoted, Some(noted(NOW)), 20, NOW);
        assert_eq!(pace, before, "it was counted when it was noted");
    }

    /// So many Services with a write each, one after the other. Returns those that wait.
    fn reserve(pace: &mut Pace, count: usize, now: Duration) -> Vec<Noted> {
        let mut waiting = Vec::new();
        for _ in 0..count {
            let turn = pace.turn(1, None, 20, now);
            pace.note(turn, None, 20, now);
            waiting.extend(turn.noted());
        }
        waiting
    }

    /// A drain with four minutes of writes ends after ten seconds, and a member is found silent then.
    #[test]
    fn turns_that_are_given_back_delay_nothing() {
        let mut pace = Pace::default();
        let waiting = reserve(&mut pace, 5000, NOW);
        let now = NOW + Duration::from_secs(10);
        for noted in waiting {
            pace.note(Turn::None, Some(noted), 20, now);
        }
        let waits = reserve(&mut pace, 100, now);
        assert!(waits[0].at <= now + Duration::from_secs(2), "{:?}", waits[0]);
        assert!(waits[99].at <= now + Duration::from_secs(7), "{:?}", waits[99]);
    }

    /// Every other Service of those that wait gives its turn back, again and again. All writes together come no sooner than evenly spread.
    #[test]
    fn turns_that_are_given_back_are_taken_once() {
        let mut pace = Pace::default();
        let mut waiting = reserve(&mut pace, 1000, NOW);
        for _ in 0..5 {
            let given_back: Vec<_> = waiting.iter().copied().step_by(2).collect();
            waiting = waiting.into_iter().skip(1).step_by(2).collect();
            for noted in given_back {
                pace.give_back(Some(noted), NOW);
            }
            waiting.extend(reserve(&mut pace, 600, NOW));
            let mut times: Vec<_> = waiting.iter().map(|noted| noted.at).collect();
            times.sort_unstable();
            for (at, time) in times.iter().enumerate() {
                let evenly = NOW + ms(50) * u32::try_from(at + 1).unwrap();
                assert!(*time >= evenly, "write {at} at {time:?}");
            }
        }
    }

    /// Services with many slices are written at once: theirs come when as many others would have come.
    #[test]
    fn many_writes_wait_for_as_many_places() {
        let mut pace = Pace::default();
        for noted in reserve(&mut pace, 1000, NOW).into_iter().take(100) {
            pace.give_back(Some(noted), NOW);
        }
        let turn = pace.turn(50, None, 20, NOW);
        assert_eq!(turn.waits_until(), Some(NOW + ms(3000)));
        pace.note(turn, None, 20, NOW);
        assert!(pace.turn(90, None, 20, NOW).waits_until() > Some(NOW + ms(30_000)));
        let late = pace.turn(1, None, 20, NOW + ms(60_000));
        assert_eq!(late, Turn::Now(1), "what was free then is over");
    }

    #[test]
    fn what_had_its_turn_is_not_given_back() {
        let mut pace = Pace { next: NOW + ms(60_000), ..Pace::default() };
        let before = pace.clone();
        for noted in [Some(Noted { writes: 3, at: NOW }), None] {
            pace.give_back(noted, NOW);
            assert_eq!(pace, before);
        }
    }

    #[test]
    fn an_idle_agent_saves_no_more_than_a_burst() {
        let turn = Pace::default().turn(1, None, 20, NOW * 1000);
        assert_eq!(turn, Turn::Now(1));
        let mut pace = Pace::default();
        pace.note(Turn::Now(1), None, 20, NOW);
        assert_eq!(pace, Pace { next: NOW + ms(50), ..Pace::default() });
        assert_eq!(pace.turn(0, None, 20, NOW), Turn::None);
    }

    #[test]
    fn a_thousand_slices_take_their_time() {
        let mut pace = Pace::default();
        let mut last = NOW;
        for _ in 0..1000 {
            let turn = pace.turn(1, None, 20, NOW);
            pace.note(turn, None, 20, NOW);
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
                pace.note(turn, None, 20, NOW);
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
