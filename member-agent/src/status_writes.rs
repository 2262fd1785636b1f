//! When the status of each Pod was written last, by the clock of this process: what can wait is written once a second, and of all Pods
//! together so often (docs/design/virtual-node.md).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use fleet_runtime::clock::BootClock;
use parking_lot::Mutex;

/// What was written longer ago makes no difference.
const KEPT: Duration = Duration::from_secs(2);
/// How many are kept before old ones are looked for.
const MANY: usize = 1024;
/// How many are written in the time between two of one Pod. What cannot wait is not counted out.
const OF_ALL: usize = 50;

/// When the status of each Pod was written last.
#[derive(Debug)]
pub(crate) struct StatusWrites {
    clock: BootClock,
    written: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    by_pod: BTreeMap<String, Duration>,
    /// The last ones of all, the oldest first.
    of_all: VecDeque<Duration>,
}

impl StatusWrites {
    /// None was written.
    pub(crate) fn new(clock: BootClock) -> Self {
        Self { clock, written: Mutex::default() }
    }

    /// The status of the Pod of this uid is written now.
    pub(crate) fn write(&self, uid: &str) {
        let now = self.clock.now();
        let mut written = self.written.lock();
        if written.by_pod.len() >= MANY {
            written.by_pod.retain(|_, at| now.saturating_sub(*at) < KEPT);
        }
        written.by_pod.insert(uid.to_owned(), now);
        if written.of_all.len() >= OF_ALL {
            written.of_all.pop_front();
        }
        written.of_all.push_back(now);
    }

    /// How long ago it was written, or so many of any Pods; `None` if that is too long ago to matter.
    pub(crate) fn since(&self, uid: &str) -> Option<Duration> {
        let written = self.written.lock();
        let of_all = written.of_all.front().filter(|_| written.of_all.len() >= OF_ALL);
        let at = written.by_pod.get(uid).max(of_all).copied()?;
        Some(self.clock.now().saturating_sub(at)).filter(|since| *since < KEPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_long_ago_is_forgotten() {
        let clock = BootClock::by_hand();
        let writes = StatusWrites::new(clock.clone());
        assert_eq!(writes.since("a"), None);
        writes.write("a");
        clock.advance(Duration::from_millis(300));
        assert_eq!(writes.since("a"), Some(Duration::from_millis(300)));
        clock.advance(KEPT);
        assert_eq!(writes.since("a"), None);
        for at in 0..MANY {
            writes.write(&format!("b{at}"));
        }
        assert!(!writes.written.lock().by_pod.contains_key("a"));
    }

    #[test]
    fn after_many_writes_another_pod_waits_too() {
        let clock = BootClock::by_hand();
        let writes = StatusWrites::new(clock.clone());
        let step = Duration::from_millis(10);
        for at in 0..OF_ALL {
            assert_eq!(writes.since("another"), None, "{at}");
            writes.write(&format!("b{at}"));
            clock.advance(step);
        }
        let since = step * u32::try_from(OF_ALL).unwrap();
        assert_eq!(writes.since("another"), Some(since));
        writes.write("another");
        // The next may be written when the second one is a pause ago.
        assert_eq!(writes.since("b"), since.checked_sub(step));
        assert_eq!(writes.since("another"), Some(Duration::ZERO));
        clock.advance(KEPT);
        assert_eq!(writes.since("b"), None);
    }
}
