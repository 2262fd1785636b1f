//! What this process remembers of its decisions on traffic, by its own clock: since when an endpoint lacks a successor, since when a
//! verdict is known, how much was written.
//!
//! Plans read it and change nothing here. What they have decided is recorded when they are carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_accumulator::View;
use fleet_api::traffic::{DRAINS, FOLLOWED, VERDICTS};
use fleet_model::incarnation::Incarnation;
use fleet_model::objects::traffic::MemberTraffic;
use fleet_plan::Event;
use fleet_runtime::clock::BootClock;
use fleet_runtime::engine::Recorder;
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::measurement::Measurement;
use crate::metrics::TrafficCounts;
use crate::missing_exporters::{Seen, Wait};
use crate::traffic::{
    Decided, Limit, MemberMemory, Noted, Pace, Recalled, Report, SERVED_BY, States, Subject,
};

/// Longest text that is noted in a Lease, whose annotations have 256 KiB at most.
const MOST_NOTED: usize = 100_000;

/// What this process remembers. Clones share it.
#[derive(Clone, Debug)]
pub struct TrafficMemory {
    clock: BootClock,
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    /// The term in which this process leads.
    term: Option<Instant>,
    imports: BTreeMap<Subject, Import>,
    members: MemberMemory,
    pace: Pace,
    hub: HubMemory,
    /// Whether there are more drains than can be noted.
    is_short: bool,
    /// Whether the Lease has verdicts that cannot be read.
    is_strange: bool,
}

/// What is known of the hub.
#[derive(Debug, Default)]
struct HubMemory {
    /// The incarnation that is followed.
    followed: Option<String>,
    /// Whether the hub is another one than that.
    is_other: bool,
    /// Whether its address leads to more than one.
    is_inconsistent: bool,
    /// Another one that has all that was imported, and since when.
    next: Option<(String, Duration)>,
    /// What the Lease of this cluster's agents has, once it was read, or should have after the next renewal.
    noted: Option<BTreeMap<String, String>>,
    /// What was noted before that, since the Lease was read.
    noted_before: Option<BTreeMap<String, String>>,
    /// What the Lease had when it was read last.
    read: Option<BTreeMap<String, String>>,
    /// What has all that is exported.
    complete: Option<Published>,
    /// Which incarnation it was before its API server went back in its history.
    trusted: Option<String>,
    /// Exporters that have not come back to it.
    wait: Wait,
}

/// That an incarnation of the hub has all that this cluster exports.
#[derive(Debug)]
struct Published {
    hub: String,
    since: Duration,
    /// It has had it for long enough, which counts for good.
    is_settled: bool,
}

impl Known {
    /// The drains that fit into a Lease: all, or those of members as a whole.
    fn drains_to_note(&mut self) -> Option<String> {
        let fits = |drains: &String| drains.len() <= MOST_NOTED;
        let all = self.members.hand_on();
        let is_short = all.as_ref().is_some_and(|all| !fits(all));
        if !std::mem::replace(&mut self.is_short, is_short) && is_short {
            tracing::warn!(
                "Too many drains to hand on to the next process: drains of single Services are left out"
            );
        }
        if !is_short {
            return all;
        }
        self.members.of_whole_members().hand_on().filter(fits)
    }

    /// A process that stands by reads the Lease again and again: one warning is enough.
    fn go_on_with(&mut self, verdicts: &str) {
        let found = self.members.taking_over_verdicts(verdicts);
        let was_strange = std::mem::replace(&mut self.is_strange, found.is_err());
        match found {
            Ok(members) => self.members = members,
            Err(error) if !was_strange => {
                tracing::warn!(%error, "Cannot read which verdicts the last process applied");
            }
            Err(_) => {}
        }
    }
}

impl HubMemory {
    /// Takes note of what the Lease has. Whether that was read before, or noted by this process.
    fn has_known(&mut self, found: &BTreeMap<String, String>) -> bool {
        let before = self.noted_before.take();
        let read = self.read.replace(found.clone());
        [&self.noted, &before, &read].iter().any(|known| known.as_ref() == Some(found))
    }

    fn note(&mut self, noted: BTreeMap<String, String>) {
        if self.noted.as_ref() != Some(&noted) {
            self.noted_before = self.noted.replace(noted);
        }
    }
}

/// What is known of one import.
#[derive(Debug, Default)]
struct Import {
    states: States,
    /// What was applied of what the hub has decided about its exporters.
    applied: BTreeMap<String, i64>,
    /// Its writes that wait.
    noted: Option<Noted>,
    report: Option<Report>,
}

impl Default for TrafficMemory {
    fn default() -> Self {
        Self::new(BootClock::system())
    }
}

impl TrafficMemory {
    /// Nothing is remembered.
    pub fn new(clock: BootClock) -> Self {
        Self { clock, known: Arc::default() }
    }

    /// What a plan for an import reads.
    pub(crate) fn recall(&self, subject: &Subject) -> Recalled {
        let known = self.known.lock();
        let import = known.imports.get(subject);
        let missing = known.hub.wait.missing().cloned();
        Recalled {
            now: self.clock.now(),
            states: import.map(|import| import.states.clone()).unwrap_or_default(),
            members: known.members.clone().lacking(missing.clone().unwrap_or_default()),
            followed: known.hub.followed.clone(),
            hub_is_inconsistent: known.hub.is_inconsistent,
            missing,
            pace: known.pace.clone(),
            noted: import.and_then(|import| import.noted),
        }
    }

    /// A term begins in which this process leads since then. Another one may have led since its last: what lasted then begins anew, as
    /// for a process that starts. Verdicts alone are gone on with, where they are still the same.
    pub(crate) fn begin(&self, since: Instant) {
        let now = self.clock.now();
        let mut known = self.known.lock();
        if known.term.is_none_or(|term| term < since) {
            known.term = Some(since);
            for import in std::mem::take(&mut known.imports).into_values() {
                known.pace.give_back(import.noted, now);
            }
            known.members = std::mem::take(&mut known.members).of_new_term(now);
        }
    }

    /// Takes over what the last process noted in the Lease of this cluster's agents. What this one noted is not new to it, nor
    /// what it read before: the renewal that should have replaced it has failed.
    pub(crate) fn take_over(&self, mut noted: BTreeMap<String, String>) {
        let mut known = self.known.lock();
        // Apart from the rest, since each renewal has other times. What this process noted itself changes nothing when it is read again.
        known.go_on_with(noted.remove(VERDICTS).as_deref().unwrap_or("{}"));
        noted.retain(|name, _| [FOLLOWED, DRAINS].contains(&name.as_str()));
        if known.hub.has_known(&noted) {
            return;
        }
        if let Some(followed) = noted.get(FOLLOWED) {
            // An incarnation has a slash. Without, an administrator has replaced it: the present hub is followed as if none was before.
            known.hub.followed = Some(followed.clone()).filter(|followed| followed.contains('/'));
        }
        if let Some(drains) = noted.get(DRAINS) {
            match known.members.taking_over(drains) {
                Ok(members) => known.members = members,
                Err(error) => {
                    tracing::warn!(%error, "Cannot read which drains the last process applied");
                }
            }
        }
        known.hub.noted = Some(noted);
    }

    /// What is noted for the next process. A Lease that is too large could not be renewed.
    pub(crate) fn hand_on(&self) -> BTreeMap<String, String> {
        let mut known = self.known.lock();
        let followed = known.hub.followed.clone().map(|hub| (FOLLOWED.to_owned(), hub));
        let drains = known.drains_to_note().map(|drains| (DRAINS.to_owned(), drains));
        let noted: BTreeMap<_, _> = followed.into_iter().chain(drains).collect();
        known.hub.note(noted.clone());
        let verdicts = known.members.hand_on_verdicts(MOST_NOTED, self.clock.now());
        noted.into_iter().chain(verdicts.map(|verdicts| (VERDICTS.to_owned(), verdicts))).collect()
    }

    /// Looks which hub is to be followed: `next` decides from the one that is. Not before it is known what the last process followed,
    /// and another one only if that holds for a while without a break: what is published there has yet to be distributed.
    pub(crate) fn follow(
        &self,
        settle: Duration,
        next: impl FnOnce(Option<&str>) -> Option<String>,
    ) {
        let now = self.clock.now();
        let hub = &mut self.known.lock().hub;
        if hub.noted.is_none() {
            return;
        }
        if hub.is_inconsistent {
            hub.next = None;
            return;
        }
        let wanted =
            next(hub.followed.as_deref()).filter(|next| hub.followed.as_ref() != Some(next));
        let Some(wanted) = wanted else {
            hub.next = None;
            return;
        };
        let known = hub.next.take().filter(|(next, _)| *next == wanted);
        let since = known.map_or(now, |(_, since)| since);
        if hub.followed.is_none() || now >= since + settle {
            tracing::info!(incarnation = wanted, "Follows the hub");
            hub.followed = Some(wanted);
        } else {
            hub.next = Some((wanted, since));
        }
    }

    /// Looks which exporters have not come back to the hub. Not before it is known what the last process followed.
    pub(crate) fn wait_for_exporters(
        &self,
        patience: Duration,
        look: impl FnOnce(Option<&str>) -> Option<Seen>,
    ) {
        let now = self.clock.now();
        let hub = &mut self.known.lock().hub;
        let may_look = hub.noted.is_some() && !hub.is_inconsistent;
        let seen = if may_look { look(hub.followed.as_deref()) } else { None };
        hub.wait.note(seen, patience, now);
    }

    /// Takes note of whether the hub is another one than that which is followed.
    pub(crate) fn compare(&self, is_other: impl FnOnce(Option<&str>) -> bool) {
        let hub = &mut self.known.lock().hub;
        hub.is_other = hub.is_inconsistent || is_other(hub.followed.as_deref());
    }

    /// Takes note of whether the address of the hub leads to more than one.
    pub(crate) fn witness(&self, is_inconsistent: bool) {
        let known = &mut self.known.lock().hub.is_inconsistent;
        match (std::mem::replace(known, is_inconsistent), is_inconsistent) {
            (false, true) => tracing::warn!(
                "The address of the hub leads to more than one: what is imported stays as it is"
            ),
            (true, false) => tracing::info!("The address of the hub leads to one hub again"),
            _ => {}
        }
    }

    /// Takes note of whether the hub of an incarnation has all that is exported. Returns the incarnation once one has had it for a
    /// while without a break, and from then on; empty until then.
    pub(crate) fn published(&self, hub: Option<&str>, complete: bool, settle: Duration) -> String {
        let now = self.clock.now();
        let known = &mut self.known.lock().hub;
        let (hub, known) = (hub.filter(|_| !known.is_inconsistent), &mut known.complete);
        let Some(hub) = hub else {
            *known = None;
            return String::new();
        };
        let before = known.take().filter(|before| before.hub == hub);
        let since = before.as_ref().map_or(now, |before| before.since);
        let is_settled =
            before.is_some_and(|it| it.is_settled || (complete && now >= it.since + settle));
        if complete || is_settled {
            *known = Some(Published { hub: hub.to_owned(), since, is_settled });
        }
        if is_settled { hub.to_owned() } else { String::new() }
    }

    /// Whether that is known of an incarnation for good, so that nothing has to be looked at again.
    pub(crate) fn has_published(&self, hub: Option<&str>) -> bool {
        let known = &self.known.lock().hub;
        let is_it = |it: &Published| it.is_settled && Some(&*it.hub) == hub;
        !known.is_inconsistent && known.complete.as_ref().is_some_and(is_it)
    }

    /// The incarnation that the hub had before its API server went back in its history, if that did lately. What the hub answers
    /// meanwhile is as old as its backup.
    pub(crate) fn before_it_went_back(&self, hub: Option<&str>, went_back: bool) -> Option<String> {
        let HubMemory { trusted, followed, .. } = &mut self.known.lock().hub;
        if went_back {
            // A process that has just begun has trusted none yet, or the backup itself before it knew that it is one.
            return later(trusted.as_deref(), followed.as_deref()).map(str::to_owned);
        }
        if let Some(hub) = hub {
            *trusted = Some(hub.to_owned());
        }
        None
    }

    /// What is in force for an import, if a plan has looked at it.
    pub(crate) fn report(&self, subject: &Subject) -> Option<Report> {
        self.known.lock().imports.get(subject)?.report.clone()
    }

    /// How many imports are served by what, and why policies are not in force as they stand.
    pub fn counts(&self) -> TrafficCounts {
        let known = self.known.lock();
        let reports = || known.imports.values().filter_map(|import| import.report.as_ref());
        let served = SERVED_BY
            .map(|(by, label)| (label, reports().filter(|report| report.served_by == by).count()));
        let limited = Limit::REASONS.map(|reason| {
            let limits = reports().filter_map(|report| report.limit);
            (reason, limits.filter(|limit| limit.as_str() == reason).count())
        });
        let by_hub = [
            ("DrainReverted", known.members.reverted()),
            ("OtherHub", usize::from(known.hub.is_other)),
            ("ExporterMissing", known.hub.wait.missing().map_or(0, BTreeSet::len)),
            ("HubInconsistent", usize::from(known.hub.is_inconsistent)),
        ];
        let limited = limited.into_iter().chain(by_hub).collect();
        TrafficCounts { served: served.into(), limited }
    }

    /// The highest serial up to which all that the hub has decided is applied to these imports: to all that there are. `None` while
    /// one of them was not looked at.
    pub(crate) fn applied(
        &self,
        imports: impl IntoIterator<Item = Subject>,
        members: &View<MemberTraffic>,
    ) -> Option<i64> {
        let known = self.known.lock();
        let mut applied: BTreeMap<&str, i64> = BTreeMap::new();
        for subject in imports {
            for (cluster, serial) in &known.imports.get(&subject)?.applied {
                let least = applied.entry(cluster).or_insert(*serial);
                *least = (*least).min(*serial);
            }
        }
        let highest = members.iter().map(|member| member.status.serial).max()?;
        let waiting = members.iter().filter(|member| {
            let applied = applied.get(&*member.name.name);
            applied.is_some_and(|applied| *applied < member.status.serial)
        });
        let earliest = waiting.map(|member| member.status.serial).min();
        Some(earliest.map_or(highest, |earliest| earliest - 1))
    }

    /// Takes note of what a plan has decided about traffic. Returns whether it is about that.
    pub fn take(&self, what: &Measurement) -> bool {
        match what {
            Measurement::Traffic(decided) => self.record(decided),
            Measurement::TrafficIdle(subject) => self.look(subject),
            Measurement::TrafficEnded(subject) => self.forget(subject),
            _ => return false,
        }
        true
    }

    fn record(&self, decided: &Decided) {
        let now = self.clock.now();
        let known = &mut *self.known.lock();
        known.members = decided.members.clone();
        let import = known.imports.entry(decided.subject.clone()).or_default();
        let before = std::mem::replace(&mut import.noted, decided.turn.noted());
        known.pace.note(decided.turn, before, decided.per_second, now);
        import.states = decided.states.clone();
        import.report.clone_from(&decided.report);
        let is_exporter = |cluster: &String| decided.serials.contains_key(cluster);
        import.applied.retain(|cluster, _| is_exporter(cluster));
        for (cluster, serial) in &decided.serials {
            let applied = import.applied.entry(cluster.clone()).or_default();
            if !decided.is_moving {
                *applied = *serial;
            }
        }
    }

    /// An import was looked at, and there was nothing to direct.
    fn look(&self, subject: &Subject) {
        self.known.lock().imports.entry(subject.clone()).or_default();
    }

    /// There is nothing of an import any more.
    fn forget(&self, subject: &Subject) {
        let now = self.clock.now();
        let mut known = self.known.lock();
        if let Some(import) = known.imports.remove(subject) {
            known.pace.give_back(import.noted, now);
        }
    }
}

/// The later of two incarnations of one hub. Of two hubs it is the one that was trusted.
fn later<'a>(trusted: Option<&'a str>, followed: Option<&'a str>) -> Option<&'a str> {
    let [before, after] = [trusted, followed].map(|hub| hub.and_then(Incarnation::parse));
    match (before, after) {
        (Some(before), Some(after)) if after.is_after(before) => followed,
        _ => trusted.or(followed),
    }
}

/// Records decisions on traffic, and everything else with another recorder.
#[derive(Debug)]
pub(crate) struct Remembering<R> {
    pub(crate) memory: TrafficMemory,
    pub(crate) others: R,
}

impl<K: 'static, R: Recorder<K, Measurement>> Recorder<K, Measurement> for Remembering<R> {
    fn record(&mut self, key: &K, what: &Measurement, at: Timestamp) -> Vec<Event> {
        if self.memory.take(what) { Vec::new() } else { self.others.record(key, what, at) }
    }

    fn begin(&mut self, since: Instant) {
        self.memory.begin(since);
        self.others.begin(since);
    }
}

#[cfg(test)]
mod tests {
    use fleet_api::ObjectName;
    use serde_json::json;

    use super::*;

    fn known(drains: &str) -> Known {
        let members = MemberMemory::default().taking_over(drains).unwrap();
        Known { members, ..Known::default() }
    }

    /// Drains of single Services are many, those of whole members are few.
    #[test]
    fn drains_of_whole_members_fit_where_all_do_not() {
        let entry =
            |service: &str| json!({ "service": service, "percent": 100, "reason": "Drained" });
        let member = |services: &[String]| {
            let entries: Vec<_> = services.iter().map(|service| entry(service)).collect();
            json!({ "uid": "u", "serial": 1, "entries": entries, "held": ["shop/held"] })
        };
        let few = json!({ "east": member(&["*".to_owned(), "shop/web".to_owned()]) }).to_string();
        let noted = known(&few).drains_to_note().unwrap();
        assert_eq!(known(&noted).members, known(&few).members);

        let many: Vec<_> = (0..3000).map(|at| format!("shop/web-{at}")).collect();
        let all = [many.clone(), vec!["*".to_owned()]].concat();
        let many = json!({ "east": member(&all), "west": member(&many) }).to_string();
        let noted = known(&many).drains_to_note().unwrap();
        let whole = json!({ "east": member(&["*".to_owned()]) }).to_string();
        assert_eq!(known(&noted).members, known(&whole).members);
    }

    #[test]
    fn a_text_that_is_not_read_takes_nothing_back() {
        let drains = json!({ "east": {
            "uid": "u", "serial": 1, "held": [],
            "entries": [{ "service": "*", "percent": 100, "reason": "Drained" }],
        } });
        let memory = TrafficMemory::default();
        memory.take_over(BTreeMap::from([(DRAINS.to_owned(), drains.to_string())]));
        memory.take_over(BTreeMap::from([(DRAINS.to_owned(), "{".to_owned())]));
        assert_eq!(memory.known.lock().members.drained("east", "shop/web").percent, 100);
    }

    /// Two controllers share one memory, and know of each term.
    #[test]
    fn what_is_decided_in_a_term_lasts_as_long_as_the_term() {
        let memory = TrafficMemory::default();
        let (first, subject) = (Instant::now(), Subject::fleet(&ObjectName::new("shop", "web")));
        memory.begin(first);
        memory.look(&subject);
        memory.begin(first);
        assert_eq!(memory.known.lock().imports.len(), 1, "the other controller knows of it, too");
        memory.begin(first + Duration::from_mins(1));
        assert!(memory.known.lock().imports.is_empty(), "another process has led since");
    }

    /// What a restored hub answers is the incarnation of its backup.
    #[test]
    fn a_hub_that_goes_back_is_named_as_it_was_before() {
        let memory = TrafficMemory::default();
        assert_eq!(memory.before_it_went_back(Some("hub/0"), true), None, "none was seen before");
        assert_eq!(memory.before_it_went_back(Some("hub/1"), false), None);
        assert_eq!(memory.before_it_went_back(None, false), None);
        assert_eq!(memory.before_it_went_back(Some("hub/0"), true).as_deref(), Some("hub/1"));
        assert_eq!(memory.before_it_went_back(None, true).as_deref(), Some("hub/1"));
        assert_eq!(memory.before_it_went_back(Some("hub/2"), false), None);
    }

    /// A process may have seen the backup for a moment before it knew what its last one had followed.
    #[test]
    fn the_incarnation_of_a_backup_is_not_named() {
        let cases = [
            (Some("hub/0"), Some("hub/1"), Some("hub/1")),
            (Some("hub/10"), Some("hub/9"), Some("hub/10")),
            (Some("other/0"), Some("hub/1"), Some("other/0")),
            (Some("hub/x"), Some("hub/1"), Some("hub/x")),
            (None, Some("hub/1"), Some("hub/1")),
            (Some("hub/1"), None, Some("hub/1")),
            (None, None, None),
        ];
        for (trusted, followed, expected) in cases {
            assert_eq!(later(trusted, followed), expected, "{trusted:?} {followed:?}");
        }
    }
}
