use fleet_traffic::Slot;

/// Where an endpoint goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// The best of the slots that its ports have.
    pub(crate) slot: Slot,
    /// Whether it names zones.
    pub(crate) has_hints: bool,
}

impl Placed {
    /// As endpoints are where no traffic policy acts.
    pub(crate) const PLAIN: Self = Self { slot: Slot::Pool, has_hints: false };

    /// The place of an endpoint that serves two ports.
    ///
    /// One ready endpoint without hints makes kube-proxy ignore the hints of all others, so one that is in the pool of one port
    /// and names zones for the other is second for both.
    pub(crate) fn merged(self, other: Self) -> Self {
        let (slot, has_hints) = (self.slot.min(other.slot), self.has_hints || other.has_hints);
        let slot = if has_hints && slot == Slot::Pool { Slot::Second } else { slot };
        Self { slot, has_hints }
    }
}
