use std::time::Duration;

/// Shortest time of a step.
const STEP: Duration = Duration::from_secs(30);
/// Drains shorter than this have one step.
const ONE_STEP_BELOW: Duration = Duration::from_mins(1);
const MOST_STEPS: u32 = 10;
/// Percentage of the importers that have to apply a step before the next.
const ENOUGH: usize = 95;

/// A requested drain, or the end of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// Percentage of the endpoints that are to be last resort; 0 undrains.
    pub target: u8,
    /// Time that a whole drain takes.
    pub over: Duration,
}

/// Importers that renew, and those of them that have applied the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// All.
    pub importers: usize,
    /// Those that have.
    pub applied: usize,
}

/// What the hub agent does with a drain now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainStep {
    /// The target is reached.
    Done,
    /// The next percentage.
    To(u8),
    /// Nothing before this time; earlier, if enough importers acknowledge, but not before `earliest`.
    Wait {
        /// When the step may come.
        earliest: Duration,
        /// When it comes all the same.
        latest: Duration,
    },
}

impl Drain {
    /// How many equal steps a whole drain has.
    pub fn steps(self) -> u32 {
        if self.over < ONE_STEP_BELOW {
            return 1;
        }
        let steps = self.over.as_secs() / STEP.as_secs();
        u32::try_from(steps).unwrap_or(MOST_STEPS).min(MOST_STEPS)
    }

    /// The next step from `percent`, which was reached at `reached`.
    ///
    /// Nothing else is remembered: a hub agent that starts anew goes on from the percentage that the `MemberTraffic` has, and
    /// takes its own start for `reached`. `None` for a drain that has not begun: its first step comes at once.
    pub fn next(
        self,
        percent: u8,
        reached: Option<Duration>,
        acknowledged: Acknowledged,
        now: Duration,
    ) -> DrainStep {
        let target = self.target.min(100);
        if percent == target {
            return DrainStep::Done;
        }
        let Some(reached) = reached.filter(|_| self.steps() > 1) else {
            return DrainStep::To(self.towards(target, percent));
        };
        let interval = self.over / self.steps();
        let (earliest, latest) = (reached + interval, reached + interval * 2);
        if now >= latest || (now >= earliest && acknowledged.is_enough()) {
            DrainStep::To(self.towards(target, percent))
        } else {
            DrainStep::Wait { earliest, latest }
        }
    }

    fn towards(self, target: u8, percent: u8) -> u8 {
        let span = u32::from(target.max(100 - target));
        let size = u8::try_from(span.div_ceil(self.steps())).unwrap_or(100);
        if percent < target {
            percent.saturating_add(size).min(target)
        } else {
            percent.saturating_sub(size).max(target)
        }
    }
}

impl Acknowledged {
    fn is_enough(self) -> bool {
        self.applied * 100 >= self.importers * ENOUGH
    }
}

/// Services that a drain would leave without ready endpoints above which all of it is refused.
pub const MOST_HELD_SERVICES: usize = 100;

/// An accepted exporter of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exporter {
    /// Its ready endpoints.
    pub ready: usize,
    /// A drain of it has begun and is not being undone.
    pub draining: bool,
    /// Silent by verdict.
    pub silent: bool,
}

impl Exporter {
    /// Whether it serves new connections in place of another one. Of two members whose drains run at once, neither does for the other.
    pub fn can_take_over(self) -> bool {
        self.ready > 0 && !self.draining && !self.silent
    }
}

/// Whether a drain may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrainPermission<'a> {
    /// For all Services but these.
    Except(Vec<&'a str>),
    /// Too many Services would be left without.
    Refused,
}

/// Decides about the next step of a drain from the Services that it concerns, each with whether all that clients use there is served by
/// others that [can take over](Exporter::can_take_over). The other ones are held.
pub fn permission<'a>(
    services: impl IntoIterator<Item = (&'a str, bool)>,
    force: bool,
) -> DrainPermission<'a> {
    let held = services.into_iter().filter(|(_, is_served)| !force && !is_served);
    let held: Vec<_> = held.map(|(name, _)| name).take(MOST_HELD_SERVICES + 1).collect();
    if held.len() > MOST_HELD_SERVICES {
        return DrainPermission::Refused;
    }
    DrainPermission::Except(held)
}
