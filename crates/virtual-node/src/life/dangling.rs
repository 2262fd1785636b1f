//! What is left of Pods that do not exist any more: exports without a Pod in the origin, Pods without an import in the executor.
//!
//! It is looked for all the time, by uid, and stopped only on a view that has been complete for long enough. If much seems to be
//! left at once, more probably the view is wrong: a hub was restored from a backup, or a cluster from another one.

use std::collections::BTreeSet;
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

/// What is left over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// What is stopped, by uid.
    pub stop: BTreeSet<String>,
    /// How much is not, although nothing wants it.
    pub withheld: usize,
    /// Time after which that is decided again.
    pub again_after: Option<Duration>,
}

/// What of `present` is not `wanted` and is to be stopped. `complete` is for how long the view of what is wanted has been complete,
/// `None` if it is not; `relisted` is whether a second list has confirmed it.
pub fn leftovers(
    present: &BTreeSet<String>,
    wanted: &BTreeSet<String>,
    complete: Option<Duration>,
    relisted: bool,
    fuse: Fuse,
) -> Leftovers {
    let stop: BTreeSet<_> = present.difference(wanted).cloned().collect();
    let Some(complete) = complete.filter(|_| !stop.is_empty()) else {
        return withheld(stop.len(), None);
    };
    if complete < SETTLED {
        return withheld(stop.len(), Some(SETTLED.saturating_sub(complete)));
    }
    let many = stop.len() > fuse.always && stop.len() * 100 > present.len() * fuse.percent;
    let patient = relisted && complete >= fuse.patience;
    if many && !patient {
        let rest = fuse.patience.saturating_sub(complete).max(SETTLED);
        return withheld(stop.len(), Some(rest));
    }
    Leftovers { stop, withheld: 0, again_after: None }
}

fn withheld(withheld: usize, again_after: Option<Duration>) -> Leftovers {
    Leftovers { stop: BTreeSet::new(), withheld, again_after }
}
