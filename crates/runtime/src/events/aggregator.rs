//! What was reported already.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fleet_accumulator::Uid;
use fleet_plan::Event;
use jiff::Timestamp;

/// Events that are remembered. Beyond it old ones are forgotten first, then all.
const REMEMBERED: usize = 4096;

/// How often an event occurred, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Occurrences {
    /// The first time; names the Event.
    pub(super) first: Timestamp,
    /// The last time.
    pub(super) last: Timestamp,
    /// How often.
    pub(super) count: i32,
}

/// The memory of what was reported.
#[derive(Debug)]
pub(super) struct EventAggregator {
    quiet: Duration,
    known: HashMap<(Uid, &'static str, String), (Instant, Occurrences)>,
    /// Names an Event, so no two are the same.
    newest: Timestamp,
}

impl EventAggregator {
    pub(super) fn new(quiet: Duration) -> Self {
        Self { quiet, known: HashMap::new(), newest: Timestamp::MIN }
    }

    /// Counts an event; what to report of it, unless that was done recently.
    pub(super) fn observe(
        &mut self,
        event: &Event,
        now: Instant,
        time: Timestamp,
    ) -> Option<Occurrences> {
        let quiet = self.quiet;
        let recent = |at: &Instant| now.saturating_duration_since(*at) < quiet;
        let key = (event.uid.clone(), event.reason, event.note.clone());
        if let Some((told, occurrences)) = self.known.get_mut(&key) {
            occurrences.count = occurrences.count.saturating_add(1);
            occurrences.last = time;
            if recent(told) {
                return None;
            }
            *told = now;
            return Some(occurrences.clone());
        }
        if self.known.len() >= REMEMBERED {
            self.known.retain(|_, (told, _)| recent(told));
        }
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        let first = time.max(self.newest + Duration::from_nanos(1));
        self.newest = first;
        let occurrences = Occurrences { first, last: first, count: 1 };
        self.known.insert(key, (now, occurrences.clone()));
        Some(occurrences)
    }
}

#[cfg(test)]
mod tests {
    use super::super::QUIET;
    use super::super::tests::event;
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[test]
    fn the_same_is_told_once_in_ten_minutes_and_counted_meanwhile() {
        let mut said = EventAggregator::new(QUIET);
        let now = Instant::now();
        let first = said.observe(&event("a"), now, at(0)).unwrap();
        assert_eq!(first, Occurrences { first: at(0), last: at(0), count: 1 });
        assert_eq!(said.observe(&event("a"), now + Duration::from_secs(599), at(599)), None);
        let again = said.observe(&event("a"), now + QUIET, at(600)).unwrap();
        assert_eq!(again, Occurrences { first: at(0), last: at(600), count: 3 });
        assert_eq!(said.observe(&event("a"), now + QUIET, at(600)), None);
    }

    #[test]
    fn what_differs_is_told_apart() {
        let mut said = EventAggregator::new(QUIET);
        let now = Instant::now();
        let other = Event { uid: "uid-2".into(), ..event("a") };
        let told = [event("a"), event("b"), other].map(|event| said.observe(&event, now, at(0)));
        let firsts: std::collections::BTreeSet<_> =
            told.into_iter().flatten().map(|occurrences| occurrences.first).collect();
        assert_eq!(firsts.len(), 3, "each has a time, and so a name, of its own");
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut said = EventAggregator::new(QUIET);
        let now = Instant::now();
        for count in 0..2 * REMEMBERED {
            assert!(said.observe(&event(&count.to_string()), now, at(0)).is_some());
        }
        assert!(said.known.len() <= REMEMBERED);
    }
}
