//! What importers remember of drains and verdicts, and which verdicts they apply (docs/design/traffic.md#silence).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_accumulator::{Object, Uid, View};
use fleet_api::ObjectName;
use fleet_api::traffic::{
    ALL_SERVICES, DrainRequest, DrainStatus, FleetTrafficSpec, SilenceInstruction, SilenceState,
};
use fleet_model::objects::traffic::MemberTraffic;
use fleet_traffic::{SilentMember, applied_verdicts};
use serde::{Deserialize, Serialize};

use super::standing::{Drained, Silenced};
use super::verdicts::Verdicts;

/// What is remembered of the members that are drained or silent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MemberMemory {
    verdicts: Verdicts,
    drains: BTreeMap<String, Drains>,
    /// The object of this cluster on the hub that is followed. While it stays, objects of other members that are others were replaced
    /// there, and did not get lost with the hub.
    own: Option<Uid>,
    /// Exporters that have not come back to a hub that was built anew: they count as silent.
    missing: BTreeSet<String>,
}

/// The hub that is followed, where it is the one that answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Followed<'a> {
    /// Name of this cluster there.
    pub(crate) own: &'a str,
    /// Which hub it is.
    pub(crate) incarnation: &'a str,
}

/// What is known of the hub whose objects are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hub<'a> {
    /// It is not the one that is followed.
    Other,
    /// It is followed, in this incarnation.
    Followed(&'a str),
    /// It is followed, and has been since the last look.
    Same(&'a str),
}

impl<'a> Hub<'a> {
    fn incarnation(self) -> Option<&'a str> {
        match self {
            Self::Other => None,
            Self::Followed(incarnation) | Self::Same(incarnation) => Some(incarnation),
        }
    }
}

/// The drains of one member that are applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Drains {
    /// Of the object that they were read from.
    uid: String,
    serial: i64,
    entries: Vec<DrainStatus>,
    held: Vec<String>,
    /// The object of a hub that has gone back in time, or was rebuilt, and the drains that it asked for then. What was applied holds
    /// until an administrator asks for others.
    reverted: Option<(String, Vec<DrainRequest>)>,
    /// The incarnation of that hub, if it was followed when this was found. Earlier agents note none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reverted_in: Option<String>,
}

impl Drains {
    fn of(member: &Object<MemberTraffic>) -> Option<Self> {
        let status = &member.status;
        let some = Self {
            uid: member.uid.to_string(),
            serial: status.serial,
            entries: status.drains.clone(),
            held: status.held_services.clone(),
            reverted: None,
            reverted_in: None,
        };
        (!some.entries.is_empty()).then_some(some)
    }

    /// After a look at the object that the hub has now. A hub that goes back in time undrains nothing; on the same hub another object
    /// is that of a member that has left and joined again. What a hub holds back counts for good once it is followed.
    fn next(&self, member: Option<&Object<MemberTraffic>>, hub: Hub<'_>) -> Option<Self> {
        let Some(member) = member else { return Some(self.clone()) };
        let is_reached = hub != Hub::Other && self.is_reached_by(member);
        if is_reached || self.has_caught_up(member, hub) {
            return Self::of(member);
        }
        let (uid, asked) = (member.uid.to_string(), &member.spec.drains);
        let known = self.reverted.as_ref().map_or(&self.uid, |(known, _)| known);
        if matches!(hub, Hub::Same(_)) && *known != uid {
            return Self::of(member);
        }
        let asked_before = match &self.reverted {
            None if uid != self.uid || member.status.serial < self.serial => asked,
            Some((known, _)) if *known != uid => asked,
            Some((_, before)) if before == asked || self.is_ahead_of(member) => before,
            _ => return Self::of(member),
        };
        let reverted_in = match self.reverted {
            Some(_) => self.reverted_in.clone(),
            None => hub.incarnation().map(str::to_owned),
        };
        Some(Self { reverted_in, ..self.with(member, (uid, asked_before.clone())) })
    }

    /// Whether the hub had not gone back: a watch that hung has shown an earlier state of it, and shows now at least what is applied. A
    /// hub that was restored is not followed then, or in another incarnation since.
    fn has_caught_up(&self, member: &Object<MemberTraffic>, hub: Hub<'_>) -> bool {
        let is_followed =
            self.reverted_in.is_some() && self.reverted_in.as_deref() == hub.incarnation();
        is_followed && member.uid.is(&self.uid) && member.status.serial >= self.serial
    }

    /// Whether all that is applied is asked for and in force there.
    fn is_reached_by(&self, member: &Object<MemberTraffic>) -> bool {
        self.entries.iter().all(|applied| {
            let mut asked = member.spec.drains.iter();
            let mut there = member.status.drains.iter();
            let (name, percent) = (&applied.service, applied.percent);
            asked.any(|it| it.service == *name && it.percent >= percent)
                && there.any(|it| it.service == *name && it.percent >= percent)
        })
    }

    /// Whether a drain that is asked for anew has not got as far yet as what is applied.
    fn is_ahead_of(&self, member: &Object<MemberTraffic>) -> bool {
        let percent = |drain: Option<&DrainStatus>| drain.map_or(0, |drain| drain.percent);
        let mut asked = member.spec.drains.iter().filter(|asked| asked.percent > 0);
        asked.any(|asked| {
            let there = member.status.drains.iter().find(|it| it.service == asked.service);
            percent(there) < percent(self.concern(&asked.service)).min(asked.percent)
        })
    }

    /// What is applied, and what an earlier hub has beside.
    fn with(&self, member: &Object<MemberTraffic>, reverted: (String, Vec<DrainRequest>)) -> Self {
        let mut all = self.clone();
        all.reverted = Some(reverted);
        for entry in &member.status.drains {
            match all.entries.iter_mut().find(|it| it.service == entry.service) {
                Some(known) => {
                    known.percent = known.percent.max(entry.percent);
                    known.removed |= entry.removed;
                }
                None => all.entries.push(entry.clone()),
            }
        }
        let new = member.status.held_services.iter().filter(|held| !self.held.contains(held));
        all.held.extend(new.cloned());
        all
    }

    fn concern(&self, service: &str) -> Option<&DrainStatus> {
        let named = |name: &str| self.entries.iter().find(|drain| drain.service == name);
        let is_held = self.held.iter().any(|held| held == service);
        named(service).or_else(|| named(ALL_SERVICES)).filter(|_| !is_held)
    }
}

impl MemberMemory {
    /// The same, with these exporters missing.
    #[must_use]
    pub(crate) fn lacking(self, missing: BTreeSet<String>) -> Self {
        Self { missing, ..self }
    }

    /// Those of them that count, with verdicts in force aside. An administrator can declare that a member never counts as silent.
    fn missing<'a>(
        &'a self,
        members: &'a View<MemberTraffic>,
        silent: &'a [SilentMember],
    ) -> impl Iterator<Item = SilentMember> + use<'a> {
        let by_verdict = |name: &String| silent.iter().any(|one| one.name == *name);
        let names = self.missing.iter().filter(move |name| !by_verdict(name));
        let instruction =
            |name: &str| members.get(&ObjectName::cluster(name)).map(|member| member.spec.silence);
        let names = names.filter(move |name| instruction(name) != Some(SilenceInstruction::Never));
        names.map(move |name| SilentMember {
            name: name.clone(),
            // Verdicts of the hub agent come first.
            serial: u64::MAX,
            confirmed: instruction(name) == Some(SilenceInstruction::Confirmed),
            domain: None,
        })
    }

    /// The memory after a look at what the hub has.
    #[must_use]
    pub(crate) fn next(
        &self,
        members: &View<MemberTraffic>,
        fleet: &FleetTrafficSpec,
        followed: Option<Followed<'_>>,
        now: Duration,
    ) -> Self {
        let own = followed.and_then(|it| members.get(&ObjectName::cluster(it.own)));
        let own = own.map(|own| own.uid.clone());
        let hub = match followed.filter(|_| own.is_some()) {
            None => Hub::Other,
            Some(it) if own == self.own => Hub::Same(it.incarnation),
            Some(it) => Hub::Followed(it.incarnation),
        };
        Self {
            verdicts: self.verdicts.next(self.silent(members, fleet), members, now),
            drains: self.drains(members, hub),
            own: own.or_else(|| self.own.clone()),
            missing: self.missing.clone(),
        }
    }

    /// The members that count as silent here.
    fn silent(&self, members: &View<MemberTraffic>, fleet: &FleetTrafficSpec) -> BTreeSet<String> {
        let before = self.verdicts.before(members);
        let (mut returning, mut silent) = (BTreeSet::new(), Vec::new());
        for member in members.iter() {
            let Some(silence) = member.status.silence.as_ref().filter(|it| it.percent > 0) else {
                continue;
            };
            let name = member.name.name.to_string();
            if silence.state != SilenceState::Silent && before.contains(&name) {
                returning.insert(name);
                continue;
            }
            let domain = fleet.domain_property.as_ref();
            let domain = domain.and_then(|property| member.status.properties.get(property));
            let serial = silence.serial.unwrap_or(member.status.serial);
            silent.push(SilentMember {
                name,
                serial: u64::try_from(serial).unwrap_or_default(),
                // The hub agent alone cannot lift the bound.
                confirmed: silence.confirmed
                    && member.spec.silence == SilenceInstruction::Confirmed,
                domain: domain.cloned(),
            });
        }
        let missing: Vec<_> = self.missing(members, &silent).collect();
        silent.extend(missing);
        let unknown = self.missing.iter();
        let unknown =
            unknown.filter(|name| members.get(&ObjectName::cluster(name.as_str())).is_none());
        let count = members.len() + unknown.count();
        let most = u8::try_from(fleet.max_silent_percent).unwrap_or(0);
        let applied = applied_verdicts(&silent, &before, count, most);
        applied.into_iter().map(str::to_owned).chain(returning).collect()
    }

    fn drains(&self, members: &View<MemberTraffic>, hub: Hub<'_>) -> BTreeMap<String, Drains> {
        let found = |name: &str| members.get(&ObjectName::cluster(name));
        let known = self.drains.iter();
        let known =
            known.filter_map(|(name, before)| Some((name.clone(), before.next(found(name), hub)?)));
        let mut drains: BTreeMap<_, _> = known.collect();
        for member in members.iter().filter(|member| !self.drains.contains_key(&*member.name.name))
        {
            if let Some(of_hub) = Drains::of(member) {
                drains.insert(member.name.name.to_string(), of_hub);
            }
        }
        drains
    }

    /// The same for a process that leads again: drains are what an administrator has asked for, and stay.
    #[must_use]
    pub(crate) fn of_new_term(self, now: Duration) -> Self {
        Self { verdicts: self.verdicts.of_new_term(now), ..self }
    }

    /// The verdicts that are applied, and for how long they are, for the next process, in so many bytes.
    pub(crate) fn hand_on_verdicts(&self, most: usize, now: Duration) -> Option<String> {
        self.verdicts.hand_on(most, now)
    }

    /// Goes on with those of the last process.
    ///
    /// # Errors
    /// If the text is not one of [`Self::hand_on_verdicts`].
    pub(crate) fn taking_over_verdicts(&self, verdicts: &str) -> serde_json::Result<Self> {
        Ok(Self { verdicts: self.verdicts.taking_over(verdicts)?, ..self.clone() })
    }

    /// The drains that are applied, for the next process.
    pub(crate) fn hand_on(&self) -> Option<String> {
        serde_json::to_string(&self.drains).ok().filter(|_| !self.drains.is_empty())
    }

    /// The drains of members as a whole, without those of single Services.
    #[must_use]
    pub(crate) fn of_whole_members(&self) -> Self {
        let mut whole = self.clone();
        for drains in whole.drains.values_mut() {
            drains.entries.retain(|drain| drain.service == ALL_SERVICES);
        }
        whole.drains.retain(|_, drains| !drains.entries.is_empty());
        whole
    }

    /// Those that the last process applied.
    ///
    /// # Errors
    /// If the text is not one of [`Self::hand_on`].
    pub(crate) fn taking_over(&self, drains: &str) -> serde_json::Result<Self> {
        Ok(Self { drains: serde_json::from_str(drains)?, ..self.clone() })
    }

    /// Members of which the hub has an earlier state than is applied.
    pub(crate) fn reverted(&self) -> usize {
        self.drains.values().filter(|drains| drains.reverted.is_some()).count()
    }

    /// How far a member is drained of a Service, `namespace/name`.
    pub(crate) fn drained(&self, member: &str, service: &str) -> Drained {
        let drain = self.drains.get(member).and_then(|drains| drains.concern(service));
        drain.map(drained).unwrap_or_default()
    }

    /// The verdict about a member, if this cluster applies it.
    pub(crate) fn silenced(
        &self,
        name: &str,
        member: Option<&MemberTraffic>,
        allow_remove: bool,
        now: Duration,
    ) -> Option<Silenced> {
        let known_for = self.verdicts.known_for(name, now)?;
        if self.missing.contains(name) {
            // What is kept does not end by itself.
            return Some(Silenced { percent: 100, known_for, may_remove: false });
        }
        let silence = member?.status.silence.as_ref()?;
        Some(Silenced {
            percent: percent(silence.percent),
            known_for,
            may_remove: allow_remove && !silence.by_domain,
        })
    }
}

fn drained(drain: &DrainStatus) -> Drained {
    Drained { percent: percent(drain.percent), removed: drain.removed }
}

fn percent(value: i64) -> u8 {
    u8::try_from(value.clamp(0, 100)).unwrap_or(100)
}
