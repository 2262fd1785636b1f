//! Which endpoints importers use, before and after.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::ObjectName;

use super::answer::ImporterTraffic;
use crate::picture::Picture;
use crate::view::{Share, shares};

/// The shares of each Service in each importer, where they differ, or where endpoints are lost.
pub(super) fn traffic(
    before: &Picture,
    after: &Picture,
    lost: &BTreeSet<String>,
) -> Vec<ImporterTraffic> {
    let (old, new) = (all(before), all(after));
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let mut traffic = Vec::new();
    for key in keys {
        let (service, importer) = key;
        // No client is left there.
        if lost.contains(importer) {
            continue;
        }
        let of = |all: &BTreeMap<_, Vec<Share>>| all.get(key).cloned().unwrap_or_default();
        let (before, after) = (of(&old), of(&new));
        let is_lost = |share: &&Share| lost.contains(&share.member);
        let lost_endpoints =
            after.iter().filter(is_lost).map(|share| share.ready + share.last_resort).sum();
        if before == after && lost_endpoints == 0 {
            continue;
        }
        let living = |shares: &[Share]| -> usize {
            let living = shares.iter().filter(|share| !is_lost(share));
            living.map(|share| share.ready + share.last_resort).sum()
        };
        let had: usize = before.iter().map(|share| share.ready + share.last_resort).sum();
        let without = had > 0 && living(&after) == 0;
        traffic.push(ImporterTraffic {
            service: service.to_string(),
            importer: importer.clone(),
            before,
            after,
            lost_endpoints,
            without,
        });
    }
    traffic
}

/// Services with their importers, and the shares there.
fn all(picture: &Picture) -> BTreeMap<(ObjectName, String), Vec<Share>> {
    let mut all = BTreeMap::new();
    for (name, member) in &picture.members {
        let slices = member.snapshot.endpoint_slices.iter();
        let services: BTreeSet<_> = slices.filter_map(|slice| slice.imported_for()).collect();
        for service in services {
            let shares = shares(member, &service);
            all.insert((service, name.clone()), shares);
        }
    }
    all
}
