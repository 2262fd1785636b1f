use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::{Uid, View};
use fleet_api::names::member_of_namespace;
use fleet_model::objects::MemberLease;
use jiff::Timestamp;

/// When the Leases of members were seen to change.
#[derive(Clone, Debug, Default)]
pub(super) struct Renewals {
    members: BTreeMap<Arc<str>, Renewal>,
}

#[derive(Clone, Debug)]
struct Renewal {
    uid: Uid,
    renewed: Option<Timestamp>,
    seen: Duration,
}

impl Renewals {
    /// Takes note of the Leases. The first sight of one counts as a change. Costs the Leases.
    pub(super) fn observe(&mut self, leases: &View<MemberLease>, now: Duration) {
        let mut before = std::mem::take(&mut self.members);
        for lease in leases.iter() {
            let Some(member) = member_of_namespace(&lease.name.namespace) else { continue };
            let (name, known) = before
                .remove_entry(member)
                .map_or_else(|| (member.into(), None), |(name, it)| (name, Some(it)));
            let same =
                known.filter(|known| known.uid == lease.uid && known.renewed == lease.renewed);
            let fresh = || Renewal { uid: lease.uid.clone(), renewed: lease.renewed, seen: now };
            self.members.insert(name, same.unwrap_or_else(fresh));
        }
    }

    /// When the Lease of a member was seen to change last; `None` without one.
    pub(super) fn seen(&self, member: &str) -> Option<Duration> {
        self.members.get(member).map(|renewal| renewal.seen)
    }

    /// Members with a Lease.
    pub(super) fn members(&self) -> impl Iterator<Item = &Arc<str>> {
        self.members.keys()
    }

    /// Members whose Lease has changed within this time.
    pub(super) fn renewing(&self, within: Duration, now: Duration) -> impl Iterator<Item = &str> {
        let renews = move |renewal: &Renewal| now < renewal.seen + within;
        let members = self.members.iter().filter(move |(_, renewal)| renews(renewal));
        members.map(|(member, _)| &**member)
    }
}
