//! Counting deletions that arrive as watch events.
//!
//! A kind that is removed from the API server sends true deletions of all its objects first. That
//! is nearly always an accident, so above a limit the source asks discovery before it believes
//! them.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use crate::Uid;
use crate::config::MassDeletionLimits;

/// Deletions of one source within the window.
#[derive(Debug)]
pub(crate) struct MassDeletionGuard {
    limits: MassDeletionLimits,
    times: VecDeque<(Instant, Uid)>,
    /// Objects in `times`, and whether they are gone rather than only marked for deletion. One that
    /// is marked and then goes counts once.
    counted: HashMap<Uid, bool>,
    /// Those of them that are gone.
    gone: usize,
    released_until: Option<Instant>,
}

impl MassDeletionGuard {
    pub(crate) fn new(limits: MassDeletionLimits) -> Self {
        let (times, counted) = (VecDeque::new(), HashMap::new());
        Self { limits, times, counted, gone: 0, released_until: None }
    }

    /// Counts an object of which the deletion is about to be applied to a view of `present`
    /// objects; true if it must not be believed before discovery was asked.
    pub(crate) fn count(&mut self, uid: &Uid, gone: bool, present: usize, now: Instant) -> bool {
        while let Some((time, uid)) = self.times.front() {
            if now.saturating_duration_since(*time) < self.limits.window {
                break;
            }
            self.gone -= usize::from(self.counted.remove(uid) == Some(true));
            self.times.pop_front();
        }
        let total = present + self.gone;
        match self.counted.insert(uid.clone(), gone) {
            None => self.times.push_back((now, uid.clone())),
            Some(was_gone) => self.gone -= usize::from(was_gone),
        }
        self.gone += usize::from(gone);
        let released = self.released_until.is_some_and(|until| now < until);
        !released && self.limits.exceeded_by(self.counted.len(), total)
    }

    /// Discovery confirmed that the kind is there: deletions are believed for a while.
    pub(crate) fn release(&mut self, now: Instant) {
        self.released_until = Some(now + self.limits.released_for);
    }

    /// Forgets everything: a new list starts.
    pub(crate) fn reset(&mut self) {
        self.times.clear();
        self.counted.clear();
        self.gone = 0;
        self.released_until = None;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn uid(number: usize) -> Uid {
        Uid::from(format!("{number}"))
    }

    #[test]
    fn deletions_within_the_window_add_up() {
        let now = Instant::now();
        let mut guard = MassDeletionGuard::new(MassDeletionLimits::default());
        for number in 0..20 {
            assert!(!guard.count(&uid(number), false, 40, now));
        }
        assert!(!guard.count(&uid(7), true, 40, now), "counted once");
        assert!(guard.count(&uid(20), true, 39, now));
        guard.release(now);
        assert!(!guard.count(&uid(21), true, 38, now));
        let later = now + Duration::from_secs(1);
        assert!(guard.count(&uid(22), true, 37, later), "released for a moment only");
        let much_later = now + Duration::from_mins(1);
        assert!(!guard.count(&uid(23), true, 36, much_later), "the window has passed");
    }

    #[test]
    fn the_share_is_that_of_the_objects_before_the_window() {
        let now = Instant::now();
        let mut guard = MassDeletionGuard::new(MassDeletionLimits::default());
        let stopped = (0..200).find(|number| guard.count(&uid(*number), true, 200 - number, now));
        assert_eq!(stopped, Some(60), "the 61st of 200");
    }
}
