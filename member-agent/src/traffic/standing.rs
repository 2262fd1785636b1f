//! What drains and verdicts mean to the endpoints of one exporter.

use std::time::Duration;

use fleet_traffic::{Effect, SilenceLimits, SilencePolicy};

/// How far an exporter is drained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drained {
    /// Percentage of its endpoints that are last resort.
    pub(crate) percent: u8,
    /// Whether they are out of use instead.
    pub(crate) removed: bool,
}

/// A verdict that this cluster applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silenced {
    /// Percentage of its endpoints that are last resort for it.
    pub(crate) percent: u8,
    /// For how long this cluster has known the verdict.
    pub(crate) known_for: Duration,
    /// Whether endpoints may be removed for it.
    pub(crate) may_remove: bool,
}

/// What is in force for the endpoints of one exporter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Percentage that is last resort.
    pub(crate) last_resort_percent: u8,
    /// Whether all are out of use.
    pub(crate) removed: bool,
    /// When the verdict means more, counted from now.
    pub(crate) again_in: Option<Duration>,
}

/// The standing of an exporter. Endpoints of headless Services are names in DNS, which a drain must not take away.
pub(crate) fn standing(
    drained: Drained,
    silenced: Option<Silenced>,
    policy: SilencePolicy,
    headless: bool,
) -> Standing {
    let drained = if headless { Drained::default() } else { drained };
    let drain =
        Standing { last_resort_percent: drained.percent, removed: drained.removed, again_in: None };
    let Some(Silenced { percent, known_for, may_remove }) = silenced else { return drain };
    let limits = SilenceLimits { headless, allow_remove: may_remove };
    // One that returns is not removed any more.
    let effect = match policy.effect(limits, known_for) {
        Effect::Removed if percent < 100 && headless => Effect::None,
        Effect::Removed if percent < 100 => Effect::LastResort,
        effect => effect,
    };
    let last_resort = if effect == Effect::LastResort { percent } else { 0 };
    Standing {
        last_resort_percent: drain.last_resort_percent.max(last_resort),
        removed: drain.removed || effect == Effect::Removed,
        again_in: changes_in(policy, limits, known_for),
    }
}

/// When the effect of a verdict changes by itself.
fn changes_in(
    policy: SilencePolicy,
    limits: SilenceLimits,
    known_for: Duration,
) -> Option<Duration> {
    let now = policy.effect(limits, known_for);
    let ends = [policy.hold, policy.hold.saturating_add(policy.remove_after)];
    let later = ends.into_iter().filter(|end| *end > known_for);
    let mut changes = later.filter(|end| policy.effect(limits, *end) != now);
    changes.next().map(|end| end.saturating_sub(known_for))
}
