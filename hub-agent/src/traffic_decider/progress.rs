use std::time::Duration;

use fleet_accumulator::Snapshot as _;
use fleet_api::ObjectName;
use fleet_api::names::{MEMBER_LEASE, member_namespace};
use fleet_traffic::Acknowledged;

use super::renewals::Renewals;
use crate::snapshot::HubSnapshot;

/// Whether what drains depend on is seen as it is. `standard` is whether `ResolvedService`s are watched: before they are known, what
/// members export by the standard API alone would count for nothing. Where they cannot be had, slices show what counts.
pub(super) fn shows_exporters(snapshot: &HubSnapshot, standard: bool) -> bool {
    let fleet = [HubSnapshot::slice_exports(), HubSnapshot::service_imports()];
    let resolved = &snapshot.resolved_services;
    let is_asked = standard && !resolved.state().cannot_be_had();
    let standard = is_asked.then_some(HubSnapshot::resolved_services());
    let sources: Vec<_> = fleet.into_iter().chain(standard).collect();
    sources.iter().all(|source| snapshot.state(*source).is_live())
        && !snapshot.is_settling(sources.into_iter().collect())
}

/// What importers that renew their Lease have applied: one look at the Leases serves all drains of the fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The serial of each importer, in order.
    applied: Vec<i64>,
}

impl Progress {
    /// What the importers report that have renewed their Lease within a time. Costs the Leases.
    pub(super) fn of(
        renewals: &Renewals,
        within: Duration,
        snapshot: &HubSnapshot,
        now: Duration,
    ) -> Self {
        let applied = renewals.renewing(within, now).filter_map(|member| {
            let name = ObjectName::new(member_namespace(member), MEMBER_LEASE);
            snapshot.member_leases.get(&name)?.applied
        });
        Self::new(applied.collect())
    }

    fn new(mut applied: Vec<i64>) -> Self {
        applied.sort_unstable();
        Self { applied }
    }

    /// All of these importers, and those that have applied everything up to a serial.
    pub(super) fn up_to(&self, serial: i64) -> Acknowledged {
        let importers = self.applied.len();
        let late = self.applied.partition_point(|applied| *applied < serial);
        Acknowledged { importers, applied: importers - late }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn importers_that_have_applied_a_serial_are_counted() {
        let progress = Progress::new(vec![7, 3, 9, 7]);
        let applied = |serial| progress.up_to(serial).applied;
        assert_eq!([0, 3, 4, 7, 8, 9, 10].map(applied), [4, 4, 3, 3, 1, 1, 0]);
        assert_eq!(progress.up_to(8).importers, 4);
        assert_eq!(Progress::default().up_to(1), Acknowledged { importers: 0, applied: 0 });
    }
}
