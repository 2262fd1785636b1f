use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fleet_api::traffic::{DrainReason, MemberTrafficStatus, SilenceState, SilenceStatus};

/// Gives a serial to each decision that importers act on. No two in the fleet have the same, so that an importer reports with one
/// number what it has applied.
#[derive(Clone, Debug, Default)]
pub(super) struct Serials {
    last: i64,
    /// Decisions that are not stored yet.
    waiting: BTreeMap<Arc<str>, MemberTrafficStatus>,
}

impl Serials {
    /// Takes note of a serial that is in use.
    pub(super) fn observe(&mut self, serial: i64) {
        self.last = self.last.max(serial);
    }

    /// Forgets members that have left.
    pub(super) fn retain(&mut self, members: &BTreeSet<Arc<str>>) {
        self.waiting.retain(|member, _| members.contains(member));
    }

    /// The decision about a member with its serial: that of what is stored if importers would do the same.
    pub(super) fn assign(
        &mut self,
        member: &Arc<str>,
        mut wanted: MemberTrafficStatus,
        stored: &MemberTrafficStatus,
    ) -> MemberTrafficStatus {
        wanted.serial = self.serial(member, &wanted, stored);
        if let Some(silence) = &mut wanted.silence {
            silence.serial = serial_of_silence(silence, stored, wanted.serial);
        }
        wanted
    }

    fn serial(
        &mut self,
        member: &Arc<str>,
        wanted: &MemberTrafficStatus,
        stored: &MemberTrafficStatus,
    ) -> i64 {
        let effect = effect(wanted);
        if effect == self::effect(stored) {
            self.waiting.remove(member);
            return stored.serial;
        }
        let waiting = self.waiting.get(member);
        let same = waiting.filter(|one| self::effect(one) == effect && one.serial > stored.serial);
        if let Some(same) = same {
            return same.serial;
        }
        self.last += 1;
        let waiting = MemberTrafficStatus { serial: self.last, ..wanted.clone() };
        self.waiting.insert(Arc::clone(member), waiting);
        self.last
    }
}

/// The serial of the verdict: it stays until all endpoints have returned.
fn serial_of_silence(
    silence: &SilenceStatus,
    stored: &MemberTrafficStatus,
    serial: i64,
) -> Option<i64> {
    let before = stored.silence.as_ref().and_then(|silence| silence.serial);
    (silence.percent > 0).then(|| before.unwrap_or(serial))
}

/// What importers act on.
fn effect(status: &MemberTrafficStatus) -> MemberTrafficStatus {
    let mut effect = MemberTrafficStatus { serial: 0, conditions: Vec::new(), ..status.clone() };
    for drain in &mut effect.drains {
        drain.reason = DrainReason::default();
    }
    let silence = status.silence.clone().unwrap_or_default();
    let is_silent = silence.state == SilenceState::Silent;
    effect.silence = Some(SilenceStatus {
        state: if is_silent { SilenceState::Silent } else { SilenceState::Heard },
        serial: None,
        ejections: 0,
        lapsed: false,
        ..silence
    });
    effect
}
