//! A source from which absence is to count only after it has been live for a while.
//!
//! A list shows one moment. Where the objects of several writers only show together what is over, one that has just started, or
//! an API server whose store was restored, may lack what its writers are about to write again. A watch that goes on without a
//! new list was never interrupted, and costs no time.

use std::time::{Duration, Instant};

/// How long a source has been live without a break since the last list that followed a start or a failure.
#[derive(Debug)]
pub(super) struct Calm {
    /// How long it has to be; `None` where it does not matter.
    after: Option<Duration>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is not live, or has not been since such a list.
    Broken,
    /// It has been live since then.
    Since(Instant),
    /// It was for long enough.
    Settled,
}

impl Calm {
    /// Nothing was listed yet.
    pub(super) fn new(after: Option<Duration>) -> Self {
        Self { after, state: if after.is_some() { State::Broken } else { State::Settled } }
    }

    /// A list follows a failure.
    pub(super) fn broken(&mut self) {
        if self.after.is_some() {
            self.state = State::Broken;
        }
    }

    /// Follows whether the source is live.
    pub(super) fn follow(&mut self, is_live: bool, now: Instant) {
        self.state = match self.state {
            State::Broken if is_live => State::Since(now),
            State::Since(_) if !is_live => State::Broken,
            same => same,
        };
    }

    /// When it will have been live for long enough.
    pub(super) fn settled_at(&self) -> Option<Instant> {
        match self.state {
            State::Since(since) => Some(since + self.after?),
            State::Broken | State::Settled => None,
        }
    }

    /// It was live for long enough.
    pub(super) fn settled(&mut self) {
        self.state = State::Settled;
    }

    pub(super) fn is_settled(&self) -> bool {
        self.state == State::Settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn without_a_wish_everything_counts_at_once() {
        let mut calm = Calm::new(None);
        calm.broken();
        calm.follow(true, Instant::now());
        assert!(calm.is_settled() && calm.settled_at().is_none());
    }

    #[test]
    fn a_break_starts_the_wait_again_until_it_is_over() {
        let (mut calm, begin) = (Calm::new(Some(SECOND)), Instant::now());
        assert!(!calm.is_settled());
        assert_eq!(calm.settled_at(), None, "it is not live");
        calm.follow(true, begin);
        calm.follow(true, begin + SECOND / 2);
        assert_eq!(calm.settled_at(), Some(begin + SECOND));
        calm.follow(false, begin + SECOND / 2);
        assert_eq!(calm.settled_at(), None);
        calm.follow(true, begin + 2 * SECOND);
        assert_eq!(calm.settled_at(), Some(begin + 3 * SECOND));
        calm.settled();
        calm.follow(false, begin + 4 * SECOND);
        assert!(calm.is_settled(), "a list of a source that works is no failure");
        calm.broken();
        assert!(!calm.is_settled());
        calm.follow(true, begin + 5 * SECOND);
        assert_eq!(calm.settled_at(), Some(begin + 6 * SECOND));
    }
}
