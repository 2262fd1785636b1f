use std::time::Duration;

use crate::silence::settings::SilenceSettings;

/// Ejections after which the damping grows no more; with the longest damping there are no more in an hour.
const MOST_EJECTIONS: usize = 8;
/// How long an ejection counts.
const MEMORY: Duration = Duration::from_hours(1);
/// The longest damping.
const MOST_DAMPING: Duration = Duration::from_mins(10);
/// Steps of a return, the first at once.
const RETURN_STEPS: u8 = 4;

/// What is known of a member's renewals and verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberState {
    last_seen: Option<Duration>,
    /// Renewed without a gap since then.
    steady_since: Option<Duration>,
    standing: Standing,
    ejections: Vec<Duration>,
}

/// Where a member stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Standing {
    #[default]
    Normal,
    /// Silent by verdict, and whether only because its failure domain counts as one.
    Silent { by_domain: bool },
    /// Returning: steps taken, the last one when.
    Returning { steps: u8, stepped: Duration },
}

impl MemberState {
    /// Of a member that an earlier decider has found silent, as its `MemberTraffic` has it. `now` is when this one began: the
    /// renewals before are not known to it.
    pub fn restored(percent: u8, by_domain: bool, now: Duration) -> Self {
        let standing = match percent {
            0 => Standing::Normal,
            100.. => Standing::Silent { by_domain },
            _ => Standing::Returning { steps: (100 - percent) / 25, stepped: now },
        };
        Self { standing, ..Self::default() }
    }

    /// With so many ejections that an earlier decider remembered. They count from now: a change of the decider may lengthen a return,
    /// and never shortens it.
    #[must_use]
    pub fn ejected_before(self, count: usize, now: Duration) -> Self {
        Self { ejections: vec![now; count.min(MOST_EJECTIONS)], ..self }
    }

    /// How often it was ejected in the last hour.
    pub(crate) fn ejections(&self) -> u8 {
        u8::try_from(self.ejections.len()).unwrap_or(u8::MAX)
    }

    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.standing, Standing::Silent { .. })
    }

    pub(crate) fn is_by_domain(&self) -> bool {
        matches!(self.standing, Standing::Silent { by_domain: true })
    }

    /// Percentage of its endpoints that are last resort.
    pub(crate) fn percent(&self) -> u8 {
        match self.standing {
            Standing::Normal => 0,
            Standing::Silent { .. } => 100,
            Standing::Returning { steps, .. } => 100 - 25 * steps,
        }
    }

    /// Takes note of the last renewal.
    pub(crate) fn observe(&mut self, seen: Duration, settings: SilenceSettings) {
        if self.last_seen == Some(seen) {
            return;
        }
        let is_steady = self.last_seen.is_some_and(|last| seen < last + settings.gap());
        if !is_steady || self.steady_since.is_none() {
            self.steady_since = Some(seen);
        }
        self.last_seen = Some(seen);
    }

    pub(crate) fn eject(&mut self, by_domain: bool, now: Duration) {
        self.standing = Standing::Silent { by_domain };
        self.ejections.push(now);
        let excess = self.ejections.len().saturating_sub(MOST_EJECTIONS);
        self.ejections.drain(..excess);
    }

    /// A member that is never judged.
    pub(crate) fn acquit(&mut self) {
        self.standing = Standing::Normal;
    }

    /// Begins or goes on with the return of a member that renews. `marked` is when it last reported to this hub that all of its
    /// exports are there.
    pub(crate) fn come_back(
        &mut self,
        marked: Option<Duration>,
        settings: SilenceSettings,
        now: Duration,
    ) {
        self.ejections.retain(|at| now < *at + MEMORY);
        if let Some(due) = self.due(settings)
            && now >= due
            && (!self.is_silent() || self.is_marked(marked))
        {
            self.standing = match self.standing {
                Standing::Returning { steps, .. } if steps + 1 >= RETURN_STEPS => Standing::Normal,
                Standing::Returning { steps, .. } => {
                    Standing::Returning { steps: steps + 1, stepped: now }
                }
                _ => Standing::Returning { steps: 1, stepped: now },
            };
        }
    }

    fn is_marked(&self, marked: Option<Duration>) -> bool {
        marked.zip(self.steady_since).is_some_and(|(marked, since)| marked >= since)
    }

    /// When the next step of its return is due.
    pub(crate) fn due(&self, settings: SilenceSettings) -> Option<Duration> {
        match self.standing {
            Standing::Normal => None,
            Standing::Silent { .. } => {
                self.steady_since.map(|since| since + self.damping(settings))
            }
            Standing::Returning { stepped, .. } => {
                Some(stepped + settings.return_over / u32::from(RETURN_STEPS - 1))
            }
        }
    }

    /// Doubled for each ejection in the last hour but the one that it is for.
    fn damping(&self, settings: SilenceSettings) -> Duration {
        let earlier = self.ejections.len().saturating_sub(1);
        let doubled = settings.return_after * (1 << earlier.min(MOST_EJECTIONS));
        doubled.min(MOST_DAMPING.max(settings.return_after))
    }
}
