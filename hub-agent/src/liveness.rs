//! Which members renew their Leases. Pure: it is handed what a watch showed, and the time of a clock that runs evenly.
//!
//! A member is silent when its Lease was not seen to change for long enough, in time in which changes would have been seen.
//! Times in Leases are those of other machines' clocks, and are not looked at. Time counts while the watch is live and this
//! process runs, so that neither an API server that is away nor a process that stood still makes a member silent. If no member
//! renews at all, the reason is on the hub rather than in each of them: then time does not count either.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::{Change, View, diff};
use fleet_api::names::member_of_namespace;
use fleet_model::objects::MemberLease;

/// Longest time between two looks of a process that runs. After a longer one it stood still.
const LONGEST_GAP: Duration = Duration::from_secs(5);

/// What is known of the Leases of all members.
#[derive(Clone, Debug)]
pub struct Liveness {
    silent_after: Duration,
    /// Time of the last look.
    looked: Option<Duration>,
    /// Whether the watch was live then.
    live: bool,
    /// Time that counted until then.
    followed: Duration,
    /// What `followed` was when any member renewed last.
    any: Duration,
    members: BTreeMap<Arc<str>, Renewals>,
}

/// What is known of one Lease.
#[derive(Clone, Debug)]
struct Renewals {
    /// When it was seen to be renewed last; `None` if it never was.
    last: Option<Duration>,
    /// The time that had counted then, or when it was seen first.
    followed: Duration,
    silent: bool,
}

/// Whether a member works, as far as its Lease shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has a Lease, which was not followed for long enough.
    Unknown,
    /// It renews its Lease.
    Renewing,
    /// It has not renewed it for too long.
    Silent,
}

/// A member whose standing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Name of the member.
    pub member: Arc<str>,
    /// Whether it is silent now. If not, it renews again, or for the first time.
    pub silent: bool,
}

impl Liveness {
    /// Nothing is known yet. A member is silent after `silent_after` without a renewal.
    pub fn new(silent_after: Duration) -> Self {
        Self {
            silent_after,
            looked: None,
            live: false,
            followed: Duration::ZERO,
            any: Duration::ZERO,
            members: BTreeMap::new(),
        }
    }

    /// The members with a Lease: their standing, and the time since their last renewal, if one was seen.
    pub fn members(
        &self,
        now: Duration,
    ) -> impl Iterator<Item = (&str, Standing, Option<Duration>)> {
        self.members.iter().map(move |(member, renewals)| {
            let age = renewals.last.map(|last| now.saturating_sub(last));
            (&**member, renewals.standing(), age)
        })
    }

    /// The standing of a member; `None` without a Lease, as of a member that does not renew one.
    pub fn standing(&self, member: &str) -> Option<Standing> {
        self.members.get(member).map(Renewals::standing)
    }

    /// Lets time pass until `now`, at least every [`LONGEST_GAP`]. Returns members that have become silent.
    pub fn look(&mut self, now: Duration) -> Vec<Turn> {
        self.pass(now);
        if !self.live {
            return Vec::new();
        }
        let (followed, limit) = (self.followed, self.silent_after);
        let late = |renewals: &Renewals| {
            !renewals.silent && followed.saturating_sub(renewals.followed) >= limit
        };
        let late = self.members.iter_mut().filter(|(_, renewals)| late(renewals));
        late.map(|(member, renewals)| renewals.falls_silent(member)).collect()
    }

    /// Takes what changed from one view of the Leases to the next, at `now`. Returns members that renew again, or
    /// for the first time. Costs what changed, however many members there are.
    pub fn follow(
        &mut self,
        old: &View<MemberLease>,
        new: &View<MemberLease>,
        now: Duration,
    ) -> Vec<Turn> {
        self.pass(now);
        self.live = new.state().is_live();
        let mut turns = Vec::new();
        for change in diff(old, new) {
            match change {
                // The first list shows that a Lease is there, not that it is renewed.
                Change::Added(lease) if !old.bootstrapped() => self.find(&lease.name.namespace),
                Change::Removed(lease) => self.forget(&lease.name.namespace),
                // What it carries besides has changed.
                Change::Updated { old, new } if old.renewed == new.renewed => {}
                Change::Added(lease)
                | Change::Updated { new: lease, .. }
                | Change::Replaced { new: lease, .. } => {
                    turns.extend(self.renewed(&lease.name.namespace, now));
                }
            }
        }
        turns
    }

    /// Counts the time since the last look, if changes would have been seen in it.
    fn pass(&mut self, now: Duration) {
        let gap = now.saturating_sub(self.looked.replace(now).unwrap_or(now));
        if self.live && gap <= LONGEST_GAP && self.is_anything_renewed() {
            self.followed += gap;
        }
    }

    fn find(&mut self, namespace: &str) {
        let Some(member) = member_of_namespace(namespace) else { return };
        let (followed, last, silent) = (self.followed, None, false);
        self.members.insert(member.into(), Renewals { last, followed, silent });
    }

    fn forget(&mut self, namespace: &str) {
        if let Some(member) = member_of_namespace(namespace) {
            self.members.remove(member);
        }
    }

    fn renewed(&mut self, namespace: &str, now: Duration) -> Option<Turn> {
        let member: Arc<str> = member_of_namespace(namespace)?.into();
        let (followed, last) = (self.followed, Some(now));
        self.any = followed;
        let renewals = Renewals { last, followed, silent: false };
        let before = self.members.insert(Arc::clone(&member), renewals);
        let renewed_before = before.is_some_and(|before| before.standing() == Standing::Renewing);
        (!renewed_before).then_some(Turn { member, silent: false })
    }

    /// Whether some member has renewed its Lease lately. One that is alone cannot be compared with others.
    fn is_anything_renewed(&self) -> bool {
        self.members.len() <= 1 || self.followed.saturating_sub(self.any) < self.silent_after / 2
    }
}

impl Renewals {
    fn standing(&self) -> Standing {
        match (self.silent, self.last) {
            (true, _) => Standing::Silent,
            (false, Some(_)) => Standing::Renewing,
            (false, None) => Standing::Unknown,
        }
    }

    fn falls_silent(&mut self, member: &Arc<str>) -> Turn {
        self.silent = true;
        Turn { member: Arc::clone(member), silent: true }
    }
}

#[cfg(test)]
mod tests;
