use std::time::Duration;

/// Pause after a change before more endpoints are lent.
const RISE_AFTER: Duration = Duration::from_secs(5);
/// How long fewer have been enough before there are.
const FALL_AFTER: Duration = Duration::from_secs(30);
/// Percentage points above the threshold at which the last tenth ends.
const MARGIN: u128 = 5;

/// When own endpoints are too few to serve alone, although some are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpillPolicy {
    /// Percentage of the full size below which connections go to the next rank, 1 to 100.
    pub below_percent: u8,
    /// Declared full size; 0 for what the own slices have.
    pub size: usize,
}

/// How many of the own endpoints are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Own endpoints in use.
    pub ready: usize,
    /// Own endpoints that are not terminating, ready or not.
    pub present: usize,
}

/// Share of new connections that the next rank is to get, in tenths, and when it changed last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spill {
    tenths: u8,
    changed: Option<Duration>,
    /// Since when fewer would be enough.
    falling: Option<Duration>,
}

impl SpillPolicy {
    /// The full size. It has no memory: one would take every scale-down for a loss.
    fn full(self, fill: Fill) -> u128 {
        self.size.max(fill.present).max(fill.ready) as u128
    }

    /// Tenths of new connections that are to go elsewhere, rounded up; 10 without a ready own endpoint.
    pub fn wanted(self, fill: Fill) -> u8 {
        let threshold = u128::from(self.below_percent) * self.full(fill);
        let missing = threshold.saturating_sub(fill.ready as u128 * 100);
        let tenths = u8::try_from((missing * 10).div_ceil(threshold.max(1))).unwrap_or(10);
        if fill.ready > 0 { tenths.min(9) } else { 10 }
    }

    fn has_recovered(self, fill: Fill) -> bool {
        let target = (u128::from(self.below_percent) + MARGIN).min(100);
        fill.ready as u128 * 100 >= target * self.full(fill)
    }
}

impl Spill {
    /// The fewest tenths at which so many endpoints are lent, which were lent by `now`.
    pub(crate) fn of(lent: usize, own: usize, next_ready: usize, now: Duration) -> Self {
        if lent == 0 {
            return Self::default();
        }
        let with = |tenths| Self { tenths, changed: Some(now), falling: None };
        let enough = |spill: &Self| spill.lent(own, next_ready) >= lent;
        (1..=9).map(with).find(enough).unwrap_or_else(|| with(9))
    }

    /// Tenths in force.
    pub fn tenths(self) -> u8 {
        self.tenths
    }

    /// Rises at once to what is wanted, falls by a tenth when that has been enough for half a minute, and ends only with a
    /// margin, so that an endpoint that becomes ready and unready in turns changes little.
    #[must_use]
    pub fn next(self, policy: SpillPolicy, fill: Fill, now: Duration) -> Self {
        let target = self.target(policy, fill);
        let falling = (target < self.tenths).then(|| self.falling.unwrap_or(now));
        let waiting = Self { falling, ..self };
        if target == self.tenths || waiting.due(target).is_some_and(|due| now < due) {
            return waiting;
        }
        Self { tenths: target, changed: Some(now), falling: falling.map(|_| now) }
    }

    /// When the next change is due, if one is pending.
    pub(crate) fn retry_at(self, policy: SpillPolicy, fill: Fill) -> Option<Duration> {
        let target = self.target(policy, fill);
        if target == self.tenths { None } else { self.due(target) }
    }

    fn target(self, policy: SpillPolicy, fill: Fill) -> u8 {
        let wanted = policy.wanted(fill);
        if wanted >= self.tenths {
            return wanted;
        }
        let lower = self.tenths - 1;
        if lower == 0 && !policy.has_recovered(fill) { self.tenths } else { lower }
    }

    fn due(self, target: u8) -> Option<Duration> {
        if target > self.tenths {
            self.changed.map(|changed| changed + RISE_AFTER)
        } else {
            self.falling.map(|since| since + FALL_AFTER)
        }
    }

    /// How many ready endpoints of the next rank join `own` ones in use, so that they get the share. None where no own one is
    /// ready: then kube-proxy uses the whole next rank.
    pub fn lent(self, own: usize, next_ready: usize) -> usize {
        if self.tenths == 0 || own == 0 || next_ready == 0 {
            return 0;
        }
        let tenths = usize::from(self.tenths.min(9));
        let kept = 10 - tenths;
        let nearest = (2 * tenths * own + kept) / (2 * kept);
        nearest.clamp(1, next_ready)
    }
}
