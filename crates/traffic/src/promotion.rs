use std::collections::BTreeSet;
use std::time::Duration;

use crate::tier::Tier;

/// How long nothing that kube-proxy takes by itself has been ready before a lower tier is promoted.
pub const PROMOTE_AFTER: Duration = Duration::from_secs(1);
/// How long a better tier has been ready before the promoted one goes back.
pub const DEMOTE_AFTER: Duration = Duration::from_secs(30);

/// Which tier is in use in place of better ones, and since when a change is pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promotion {
    promoted: Option<Tier>,
    pending: Option<(Cause, Duration)>,
}

/// Why the promoted tier is to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// Nothing in use is ready.
    Empty,
    /// A better tier is.
    Better,
}

impl Cause {
    fn patience(self) -> Duration {
        match self {
            Self::Empty => PROMOTE_AFTER,
            Self::Better => DEMOTE_AFTER,
        }
    }
}

impl Promotion {
    /// A tier that is promoted already.
    pub(crate) fn of(tier: Tier) -> Self {
        Self { promoted: Some(tier), pending: None }
    }

    /// The tier that is promoted.
    pub fn tier(self) -> Option<Tier> {
        self.promoted
    }

    /// The promotion at `now`, from the tiers that have a ready endpoint. `is_native` is whether kube-proxy takes a tier into
    /// use without a promotion. Nothing changes while nothing is ready.
    #[must_use]
    pub fn next(
        self,
        ready: &BTreeSet<Tier>,
        is_native: impl Fn(Tier) -> bool,
        now: Duration,
    ) -> Self {
        let Some(cause) = self.cause(ready, &is_native) else {
            return Self { pending: None, ..self };
        };
        let since = match self.pending {
            Some((pending, since)) if pending == cause => since,
            _ => now,
        };
        if now < since + cause.patience() {
            return Self { pending: Some((cause, since)), ..self };
        }
        let best = ready.first().copied();
        Self { promoted: best.filter(|best| !is_native(*best)), pending: None }
    }

    /// When a pending change is due.
    pub(crate) fn retry_at(self) -> Option<Duration> {
        self.pending.map(|(cause, since)| since + cause.patience())
    }

    fn cause(self, ready: &BTreeSet<Tier>, is_native: &impl Fn(Tier) -> bool) -> Option<Cause> {
        let best = *ready.first()?;
        let in_use = |tier: &Tier| is_native(*tier) || self.promoted == Some(*tier);
        if !ready.iter().any(in_use) {
            return Some(Cause::Empty);
        }
        self.promoted.filter(|promoted| best < *promoted).map(|_| Cause::Better)
    }
}
