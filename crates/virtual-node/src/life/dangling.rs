//! What is left of Pods that do not exist any more: exports without a Pod in the origin, Pods without an import in the executor.
//!
//! It is looked for all the time, by uid, and stopped only on a view that has been complete for long enough. If much seems to be
//! left at once, more probably the view is wrong: a hub was restored from a backup, or a cluster from another one.

use std::time::Duration;

use super::observed::SETTLED;

/// When too much is left over to be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fuse {
    /// So many are stopped in any case.
    pub always: usize,
    /// Most of all that there are, in percent.
    pub percent: usize,
    /// Time after which more is stopped, if the view still shows the same after a second list.
    pub patience: Duration,
}

impl Default for Fuse {
    fn default() -> Self {
        Self { always: 5, percent: 30, patience: Duration::from_mins(10) }
    }
}

impl Fuse {
    /// Whether so much of `all` is left over that more probably the view is wrong.
    pub fn is_much(self, left: usize, all: usize) -> bool {
        left > self.always && left.saturating_mul(100) > all.saturating_mul(self.percent)
    }
}

/// What becomes of what is left over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// It is stopped.
    Stop,
    /// It is kept, and decided again after this time.
    Keep(Duration),
    /// What is wanted is not known at the moment.
    Unknown,
}

/// What becomes of one that is left over, with as many as `left` of `all`. `complete` is for how long the view of what is wanted has
/// been complete, `None` if it is not; `relisted` is whether a second list has confirmed it.
pub fn leftover(
    (left, all): (usize, usize),
    complete: Option<Duration>,
    relisted: bool,
    fuse: Fuse,
) -> Leftover {
    let Some(complete) = complete else { return Leftover::Unknown };
    if complete < SETTLED {
        return Leftover::Keep(SETTLED.saturating_sub(complete));
    }
    let patient = relisted && complete >= fuse.patience;
    if fuse.is_much(left, all) && !patient {
        return Leftover::Keep(fuse.patience.saturating_sub(complete).max(SETTLED));
    }
    Leftover::Stop
}
