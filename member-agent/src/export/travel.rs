//! Which slices of a Service are on the hub, decided once for both APIs that may export it.

use fleet_api::labels;
use fleet_model::objects::EndpointSliceExport;

use super::internal::HubDecision;
use crate::intent::StandardDecision;

/// What happens to the slices of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slices {
    /// They are exported and kept up to date.
    Exported,
    /// Those that are exported are kept up to date, no new one is.
    Held,
    /// The same for those that the standard API has exported, which its label shows; others are withdrawn.
    HeldForStandard,
    /// None is on the hub.
    Withdrawn,
}

/// Whether exported slices carry the label and the details of the standard API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Details {
    /// They do.
    Present,
    /// Those that do still do; new ones do not.
    Unchanged,
    /// They do not.
    Absent,
}

/// The joined decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Travel {
    /// What happens to the slices.
    pub(super) slices: Slices,
    /// Whether new ones get the fleet's finalizer, since the hub agent copies them.
    pub(super) guarded: bool,
    /// Whether they carry what the standard API adds.
    pub(super) details: Details,
}

impl Travel {
    /// Joins the decision of the fleet, `None` where it does not export the Service, with that of the standard API.
    pub(super) fn of(fleet: Option<HubDecision>, standard: StandardDecision) -> Self {
        let accepted = fleet == Some(HubDecision::Accepted);
        let undecided = fleet == Some(HubDecision::Undecided);
        let slices = match standard {
            _ if accepted => Slices::Exported,
            StandardDecision::Accepted => Slices::Exported,
            _ if undecided => Slices::Held,
            StandardDecision::Undecided => Slices::HeldForStandard,
            StandardDecision::NotExported => Slices::Withdrawn,
        };
        let details = match standard {
            StandardDecision::Accepted => Details::Present,
            StandardDecision::Undecided => Details::Unchanged,
            StandardDecision::NotExported => Details::Absent,
        };
        Self { slices, guarded: accepted, details }
    }

    /// Whether a copy of a slice that is still there stays on the hub.
    pub(super) fn keeps(self, copy: &EndpointSliceExport) -> bool {
        match self.slices {
            Slices::Exported | Slices::Held => true,
            Slices::HeldForStandard => copy.meta.label(labels::MULTICLUSTER_NAMESPACE).is_some(),
            Slices::Withdrawn => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pairs.
    #[test]
    fn slices_travel_while_either_api_exports_the_service() {
        use Details::{Absent, Present, Unchanged};
        use HubDecision as Fleet;
        use Slices::{Exported, Held, HeldForStandard, Withdrawn};
        use StandardDecision as Standard;
        let table = [
            (None, Standard::NotExported, Withdrawn, false, Absent),
            (None, Standard::Undecided, HeldForStandard, false, Unchanged),
            (None, Standard::Accepted, Exported, false, Present),
            (Some(Fleet::Refused), Standard::NotExported, Withdrawn, false, Absent),
            (Some(Fleet::Refused), Standard::Undecided, HeldForStandard, false, Unchanged),
            (Some(Fleet::Refused), Standard::Accepted, Exported, false, Present),
            (Some(Fleet::Undecided), Standard::NotExported, Held, false, Absent),
            (Some(Fleet::Undecided), Standard::Undecided, Held, false, Unchanged),
            (Some(Fleet::Undecided), Standard::Accepted, Exported, false, Present),
            (Some(Fleet::Accepted), Standard::NotExported, Exported, true, Absent),
            (Some(Fleet::Accepted), Standard::Undecided, Exported, true, Unchanged),
            (Some(Fleet::Accepted), Standard::Accepted, Exported, true, Present),
        ];
        for (fleet, standard, slices, guarded, details) in table {
            let expected = Travel { slices, guarded, details };
            assert_eq!(Travel::of(fleet, standard), expected, "{fleet:?} {standard:?}");
        }
    }
}
