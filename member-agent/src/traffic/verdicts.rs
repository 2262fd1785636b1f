//! Verdicts that this cluster applies, and for how long it has. Each is known by its serial, so that the next process can distinguish
//! one that still stands from one that has been passed since, and goes on counting where the last one was.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_accumulator::{Object, View};
use fleet_api::ObjectName;
use fleet_model::objects::traffic::MemberTraffic;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The verdicts that are applied, by the member's name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Verdicts {
    applied: BTreeMap<String, Applied>,
    /// Those of an earlier term that this one has not looked at yet, or not found to be within the bound.
    earlier: BTreeMap<String, Earlier>,
    /// Whether this term has looked at which members are silent.
    has_looked: bool,
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

/// A verdict: an object of the hub, and the serial with which its member was found silent. A later silence has a higher one, and a lower
/// one is shown by an old view, or by a hub that was restored.
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

    /// Whether it is this one, or one from before it, that is found.
    fn goes_on_as(&self, found: &Self) -> bool {
        self.uid == found.uid && found.serial <= self.serial
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
        // What a first look leaves out is beyond the bound, and was in use since.
        let earlier = self.earlier.iter().filter(|_| !self.has_looked);
        let earlier = earlier.filter(|(name, earlier)| {
            verdict(members, name).is_some_and(|found| earlier.verdict.goes_on_as(&found))
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
            let applied = self.go_on(&name, verdict(members, &name), now);
            (name, applied)
        });
        let applied: BTreeMap<_, _> = applied.collect();
        let mut earlier = self.earlier.clone();
        earlier
            .retain(|name, it| !applied.contains_key(name) && !it.verdict.is_over(name, members));
        Self { applied, earlier, has_looked: self.has_looked || members.has_answered() }
    }

    /// What is applied to a member that is silent now: from when on it was before, or from now on.
    fn go_on(&self, name: &str, found: Option<Verdict>, now: Duration) -> Applied {
        let is_same = |known: &Verdict| found.as_ref().is_some_and(|found| known.goes_on_as(found));
        match self.applied.get(name) {
            Some(known) if known.verdict.as_ref().is_some_and(is_same) => return known.clone(),
            // Without a verdict before or now it is one silence: that of an exporter which does not come back to a hub.
            Some(known) if known.verdict.is_none() || found.is_none() => {
                return Applied { verdict: found, ..known.clone() };
            }
            _ => {}
        }
        let earlier = self.earlier.get(name).filter(|earlier| is_same(&earlier.verdict));
        let before = earlier.map_or(Duration::ZERO, |it| Duration::from_secs(it.seconds));
        let verdict = earlier.map(|earlier| earlier.verdict.clone()).or(found);
        Applied { since: now, before, verdict }
    }

    /// For how long a member was silent to this cluster; `None` if it is not.
    pub(super) fn known_for(&self, name: &str, now: Duration) -> Option<Duration> {
        Some(self.applied.get(name)?.known_for(now))
    }

    /// A term begins. What was noted since by another process, about a later silence, comes before what this one has applied before.
    #[must_use]
    pub(super) fn of_new_term(&self, now: Duration) -> Self {
        let mut earlier = self.earlier.clone();
        for (name, applied) in self.to_note(now) {
            let noted = earlier.get(&name).map(|noted| &noted.verdict);
            if noted.is_none_or(|noted| applied.verdict.goes_on_as(noted)) {
                earlier.insert(name, applied);
            }
        }
        Self { earlier, ..Self::default() }
    }

    /// The verdicts that are applied, for the next process: those that have been for longest, if not all fit into so many bytes.
    pub(super) fn hand_on(&self, most: usize, now: Duration) -> Option<String> {
        let mut all = self.earlier.clone();
        all.extend(self.to_note(now));
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_by_key(|(_, earlier)| Reverse(earlier.seconds));
        while !all.is_empty() {
            let text =
                serde_json::to_string(&all.iter().cloned().collect::<BTreeMap<_, _>>()).ok()?;
            if text.len() <= most {
                return Some(text);
            }
            all.truncate(all.len() / 2);
        }
        None
    }

    fn to_note(&self, now: Duration) -> impl Iterator<Item = (String, Earlier)> {
        self.applied.iter().filter_map(move |(name, applied)| {
            let (verdict, seconds) = (applied.verdict.clone()?, applied.known_for(now).as_secs());
            Some((name.clone(), Earlier { verdict, seconds }))
        })
    }

    /// With what the last process has handed on, where it can be read. What is applied here already is known better.
    ///
    /// # Errors
    /// If the text is not one of [`Self::hand_on`].
    pub(super) fn taking_over(&self, text: &str) -> serde_json::Result<Self> {
        let noted: BTreeMap<String, Value> = serde_json::from_str(text)?;
        let noted = noted.into_iter().filter_map(|(name, noted)| {
            let noted: Earlier = serde_json::from_value(noted).ok()?;
            let applied = self.applied.get(&name).and_then(|applied| applied.verdict.as_ref());
            (applied != Some(&noted.verdict)).then_some((name, noted))
        });
        let earlier = noted.collect();
        Ok(Self { applied: self.applied.clone(), earlier, has_looked: self.has_looked })
    }
}

/// The present verdict about a member.
fn verdict(members: &View<MemberTraffic>, name: &str) -> Option<Verdict> {
    Verdict::of(members.get(&ObjectName::cluster(name))?)
}
