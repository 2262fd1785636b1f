//! Verdicts that this cluster applies, and for how long it has. Each is known by its serial, so that the next process can distinguish one that
//! still stands from one that has been passed since, and goes on counting where the last one was.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_accumulator::{Object, View};
use fleet_api::ObjectName;
use fleet_model::objects::traffic::MemberTraffic;
use serde::{Deserialize, Serialize};

/// The verdicts that are applied, by the member's name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Verdicts {
    applied: BTreeMap<String, Applied>,
    /// Those of an earlier term that this one has not looked at yet, or not found to be within the bound.
    earlier: BTreeMap<String, Earlier>,
}

#[derive(Clone, Debug, PartialEq)]
struct Applied {
    /// Since when in this term.
    since: Duration,
    /// For how long before.
    before: Duration,
    /// Exporters that have not come back to a hub are silent without one.
    verdict: Option<Verdict>,
}

impl Applied {
    fn known_for(&self, now: Duration) -> Duration {
        self.before.saturating_add(now.saturating_sub(self.since))
    }
}

/// A verdict: an object of the hub, and the serial with which its member was found silent. A later silence has a higher one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Verdict {
    uid: String,
    serial: i64,
}

impl Verdict {
    fn of(member: &Object<MemberTraffic>) -> Option<Self> {
        let silence = member.status.silence.as_ref().filter(|silence| silence.percent > 0)?;
        Some(Self { uid: member.uid.to_string(), serial: silence.serial? })
    }

    /// Whether it does not stand any more. A list that is missing, or older than the verdict, is no sign of that.
    fn is_over(&self, name: &str, members: &View<MemberTraffic>) -> bool {
        let Some(member) = members.get(&ObjectName::cluster(name)) else {
            return members.has_answered();
        };
        let is_later = !member.uid.is(&self.uid) || member.status.serial >= self.serial;
        is_later && Self::of(member).as_ref() != Some(self)
    }
}

/// A verdict, and for how long it was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Earlier {
    #[serde(flatten)]
    verdict: Verdict,
    seconds: u64,
}

impl Verdicts {
    /// The members whose present verdict was applied before, and exporters that were missing.
    pub(super) fn before(&self, members: &View<MemberTraffic>) -> BTreeSet<String> {
        let applied = self.applied.keys();
        let earlier = self.earlier.iter().filter(|(name, earlier)| {
            verdict(members, name).is_some_and(|verdict| verdict == earlier.verdict)
        });
        applied.chain(earlier.map(|(name, _)| name)).cloned().collect()
    }

    /// After a look at which members are silent here.
    #[must_use]
    pub(super) fn next(
        &self,
        silent: BTreeSet<String>,
        members: &View<MemberTraffic>,
        now: Duration,
    ) -> Self {
        let applied = silent.into_iter().map(|name| {
            let verdict = verdict(members, &name);
            let (since, before) = match self.applied.get(&name) {
                Some(known) => (known.since, known.before),
                None => (now, self.earlier(&name, verdict.as_ref())),
            };
            (name, Applied { since, before, verdict })
        });
        let applied: BTreeMap<_, _> = applied.collect();
        let mut earlier = self.earlier.clone();
        earlier
            .retain(|name, it| !applied.contains_key(name) && !it.verdict.is_over(name, members));
        Self { applied, earlier }
    }

    /// For how long an earlier term has applied this verdict.
    fn earlier(&self, name: &str, verdict: Option<&Verdict>) -> Duration {
        let earlier = self.earlier.get(name).filter(|it| Some(&it.verdict) == verdict);
        earlier.map_or(Duration::ZERO, |it| Duration::from_secs(it.seconds))
    }

    /// For how long a member was silent to this cluster; `None` if it is not.
    pub(super) fn known_for(&self, name: &str, now: Duration) -> Option<Duration> {
        Some(self.applied.get(name)?.known_for(now))
    }

    /// A term begins. What the process that led last has noted is newer than what this one has applied before.
    #[must_use]
    pub(super) fn of_new_term(&self, now: Duration) -> Self {
        let mut earlier: BTreeMap<_, _> = self.applied(now).collect();
        earlier.extend(self.earlier.clone());
        Self { applied: BTreeMap::new(), earlier }
    }

    /// The verdicts that are applied, for the next process.
    pub(super) fn hand_on(&self, now: Duration) -> Option<String> {
        let mut all = self.earlier.clone();
        all.extend(self.applied(now));
        serde_json::to_string(&all).ok().filter(|_| !all.is_empty())
    }

    /// What is to be known of those that are applied in this term once it has ended.
    fn applied(&self, now: Duration) -> impl Iterator<Item = (String, Earlier)> {
        self.applied.iter().filter_map(move |(name, applied)| {
            let (verdict, seconds) = (applied.verdict.clone()?, applied.known_for(now).as_secs());
            Some((name.clone(), Earlier { verdict, seconds }))
        })
    }

    /// With what the last process has handed on. What is applied here already is known better.
    ///
    /// # Errors
    /// If the text is not one of [`Self::hand_on`].
    pub(super) fn taking_over(&self, text: &str) -> serde_json::Result<Self> {
        let mut noted: BTreeMap<String, Earlier> = serde_json::from_str(text)?;
        noted.retain(|name, it| {
            let applied = self.applied.get(name).and_then(|applied| applied.verdict.as_ref());
            applied != Some(&it.verdict)
        });
        let mut earlier = self.earlier.clone();
        earlier.extend(noted);
        Ok(Self { applied: self.applied.clone(), earlier })
    }
}

/// The present verdict about a member.
fn verdict(members: &View<MemberTraffic>, name: &str) -> Option<Verdict> {
    Verdict::of(members.get(&ObjectName::cluster(name))?)
}
