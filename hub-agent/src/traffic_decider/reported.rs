use std::collections::BTreeSet;

use fleet_model::incarnation::Incarnation;

use super::subject::Subject;
use crate::incarnation;
use crate::snapshot::HubSnapshot;

/// How much later than what is stored an epoch may be that members report: a backup has missed fewer restores. Without a bound a false
/// report would exceed what the API server stores, and no epoch could be written any more.
const MOST_MISSED: i64 = 1000;

/// The epoch that most members have seen before the API server went back in its history, unless what is stored is a later one. A
/// process that takes over learns so what happened before it began.
///
/// Members count that renew their Lease and report what they publish. A single one may report what it likes: it neither begins an
/// epoch nor chooses its number, unless it is the only one.
pub(super) fn reported(
    members: &[Subject<'_>],
    renew: &BTreeSet<&str>,
    stored_epoch: i64,
    snapshot: &HubSnapshot,
) -> Option<i64> {
    let hub = incarnation::cluster(snapshot)?.to_string();
    let renew = members.iter().filter(|subject| renew.contains(&**subject.name));
    let leases = renew.filter_map(Subject::lease).filter(|lease| lease.published.is_some());
    let leases: Vec<_> = leases.collect();
    let epochs = leases.iter().filter_map(|lease| {
        let epoch = Incarnation::parse(lease.went_back.as_deref()?)?.epoch_of(&hub)?;
        (stored_epoch..=stored_epoch.saturating_add(MOST_MISSED)).contains(&epoch).then_some(epoch)
    });
    let mut epochs: Vec<i64> = epochs.collect();
    epochs.sort_unstable();
    (epochs.len() * 2 > leases.len()).then(|| epochs[(epochs.len() - 1) / 2])
}
