//! A fleet whose Leases change as a test wants.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::tests::given::secs;
use crate::{
    Instruction, Judgement, MemberVerdict, ObservedMember, Observer, SilenceSettings, Verdict,
    judge,
};

pub(super) struct Fleet {
    pub(super) settings: SilenceSettings,
    pub(super) observer: Observer,
    pub(super) members: BTreeMap<String, ObservedMember>,
    /// Whether renewals report that the hub has all exports.
    pub(super) marks: bool,
    pub(super) last: Judgement,
    pub(super) now: Duration,
}

impl Fleet {
    /// `count` members that renew, watched by a hub agent since an hour.
    pub(super) fn new(count: usize) -> Self {
        let now = secs(3600);
        let member = |at: usize| {
            let member = ObservedMember {
                last_seen: Some(now),
                marked: Some(now),
                instruction: Instruction::Auto,
                domain: None,
            };
            (name(at), member)
        };
        let observer = Observer {
            leads_since: secs(0),
            watches_since: Some(secs(0)),
            renews_since: Some(secs(0)),
        };
        let members = (0..count).map(member).collect();
        let (settings, last) = (SilenceSettings::default(), Judgement::default());
        let mut fleet = Self { settings, observer, members, marks: true, last, now };
        fleet.judge();
        fleet
    }

    pub(super) fn member(&mut self, at: usize) -> &mut ObservedMember {
        self.members.get_mut(&name(at)).unwrap()
    }

    /// Lets `seconds` pass, in which all members but `silent` renew. The hub agent's own Lease is renewed.
    pub(super) fn pass(&mut self, seconds: u64, silent: impl Fn(usize) -> bool) {
        for _ in 0..seconds {
            self.tick(&silent, true);
        }
    }

    /// One second.
    pub(super) fn tick(&mut self, silent: impl Fn(usize) -> bool, hub_renews: bool) {
        self.now += secs(1);
        let renews_since = self.observer.renews_since.unwrap_or(self.now);
        self.observer.renews_since = hub_renews.then_some(renews_since);
        let now = self.now;
        for (at, member) in self.members.values_mut().enumerate() {
            // Each renews at its own second of ten.
            let renews = !silent(at) && now.as_secs() % 10 == at as u64 % 10;
            if renews && member.last_seen.is_some() {
                member.last_seen = Some(now);
                member.marked = if self.marks { Some(now) } else { member.marked };
            }
        }
        self.judge();
    }

    pub(super) fn judge(&mut self) {
        self.last = judge(self.settings, self.observer, &self.members, &self.last, self.now);
    }

    pub(super) fn of(&self, at: usize) -> MemberVerdict {
        self.last.verdicts[&name(at)]
    }

    pub(super) fn verdict(&self, at: usize) -> Verdict {
        self.of(at).verdict
    }

    /// Members with endpoints that are last resort.
    pub(super) fn moved(&self) -> usize {
        self.last.verdicts.values().filter(|one| one.percent > 0).count()
    }
}

/// In the order of their numbers.
pub(super) fn name(at: usize) -> String {
    format!("m{at:03}")
}
