use std::time::Duration;

/// What the owner of a Service asks for when an exporter is silent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SilenceAction {
    /// Nothing.
    Keep,
    /// Its endpoints are last resort.
    #[default]
    LastResort,
    /// They are, and later leave the slices.
    Remove,
}

/// The policy of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SilencePolicy {
    /// What happens.
    pub action: SilenceAction,
    /// Patience of the Service after the verdict.
    pub hold: Duration,
    /// How long after that endpoints leave, with [`SilenceAction::Remove`].
    pub remove_after: Duration,
}

impl Default for SilencePolicy {
    fn default() -> Self {
        let remove_after = Duration::from_mins(15);
        Self { action: SilenceAction::default(), hold: Duration::ZERO, remove_after }
    }
}

/// What bounds the policy of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SilenceLimits {
    /// The Service is headless: DNS has all endpoints, so that only an explicit removal means anything.
    pub headless: bool,
    /// The fleet allows removal, and the verdict does.
    pub allow_remove: bool,
}

/// What becomes of the endpoints of a silent exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// They stay.
    None,
    /// They are last resort, at the percentage of the verdict.
    LastResort,
    /// They are out of use.
    Removed,
}

impl SilencePolicy {
    /// The effect `since` the importer first read the verdict, on its own clock.
    pub fn effect(self, limits: SilenceLimits, since: Duration) -> Effect {
        let held = self.action == SilenceAction::Keep || since < self.hold;
        let removes = self.action == SilenceAction::Remove && limits.allow_remove;
        let is_late = since >= self.hold.saturating_add(self.remove_after);
        if held {
            Effect::None
        } else if removes && is_late {
            Effect::Removed
        } else if limits.headless {
            Effect::None
        } else {
            Effect::LastResort
        }
    }
}
