//! How long an agent has watched the hub. One that has just started believes less of it.

use fleet_accumulator::{SourceState, View};
use hub_agent::snapshot::HubSnapshot;
use member_agent::snapshot::MemberSnapshot;

/// How long an agent has watched the hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Watched {
    /// The agent does not run.
    Off,
    /// The hub has not answered in the life of the process.
    Never,
    /// Everything was listed, but not followed for as long as absence takes to count.
    Briefly,
    /// Absence counts.
    #[default]
    Long,
}

impl Watched {
    /// What such an agent of the hub sees.
    pub(crate) fn on_hub(self, seen: HubSnapshot) -> HubSnapshot {
        match self {
            Self::Briefly => {
                HubSnapshot { exported_services: seen.exported_services.unsettled(), ..seen }
            }
            _ => seen,
        }
    }

    /// What such an agent of a member sees.
    pub(crate) fn in_member(self, seen: MemberSnapshot) -> MemberSnapshot {
        match self {
            Self::Off | Self::Never => MemberSnapshot {
                resolved_services: View::default().in_state(SourceState::Pending),
                fleet_slices: View::default().in_state(SourceState::Pending),
                fleet_reports: View::default().in_state(SourceState::Pending),
                exported_services: View::default().in_state(SourceState::Pending),
                cluster_reports: View::default().in_state(SourceState::Pending),
                memberships: View::default().in_state(SourceState::Pending),
                ..seen
            },
            Self::Briefly => MemberSnapshot {
                resolved_services: seen.resolved_services.unsettled(),
                fleet_slices: seen.fleet_slices.unsettled(),
                fleet_reports: seen.fleet_reports.unsettled(),
                ..seen
            },
            Self::Long => seen,
        }
    }
}
