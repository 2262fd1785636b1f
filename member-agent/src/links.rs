//! What this process knows of the ways to the hub and to other members, by its own clock.
//!
//! A snapshot shows that something is so, and not since when; times in objects are those of other clocks. What counts on how long a
//! member has been silent, or on how long a view has been complete, reads it here. No plan changes anything here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_plan::Event;
use fleet_runtime::clock::BootClock;
use fleet_runtime::engine::Recorder;
use fleet_virtual_node::life::NOTICED;
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::measurement::Measurement;

/// The hub agent reports a member as silent when its Lease has not been renewed for so long. An agent that has not reached the hub
/// for so long takes it for unreachable.
pub(crate) const SILENCE: Duration = NOTICED;

/// How long a process that has just begun to lead tries to reach the hub before it counts on what happened before.
const PATIENCE: Duration = Duration::from_secs(15);

/// Time between two answers of the hub in which it was out of reach: two renewals of the member's Lease have failed.
const OUTAGE: Duration = Duration::from_secs(25);

/// How long after an outage what the hub shows may have been so during it.
const NEWS: Duration = Duration::from_mins(1);

/// What this process knows of the ways to the hub and to other members.
#[derive(Debug)]
pub(crate) struct Links {
    clock: BootClock,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The term in which this process leads.
    term: Option<Instant>,
    /// When it began to lead.
    begun: Duration,
    /// When the hub has answered last since then.
    answered: Option<Duration>,
    /// The last time in which the hub was out of reach.
    outage: Option<Outage>,
    /// Members that the hub agent reports as silent.
    silent: BTreeMap<String, Silent>,
    /// Views that are complete.
    complete: BTreeMap<String, Complete>,
    /// The incarnation of the hub that was seen last.
    hub: Option<String>,
}

/// A time in which the hub was out of reach.
#[derive(Clone, Copy, Debug)]
struct Outage {
    /// When it has answered before; `None` if this process does not know.
    begun: Option<Duration>,
    /// When it has answered again.
    ended: Duration,
}

/// A member that the hub agent reports as silent.
#[derive(Clone, Copy, Debug)]
struct Silent {
    /// Since when this process sees that.
    seen: Duration,
    /// Since when it may have been reported at most; `None` if this process does not know.
    earliest: Option<Duration>,
}

/// A view that is complete.
#[derive(Debug)]
struct Complete {
    since: Duration,
    /// Lists that were read since.
    lists: BTreeSet<Instant>,
    /// Whether what it lacks counts.
    is_firm: bool,
    /// A list of another incarnation of the hub: what it lacks counts once there is another list.
    outdated: Option<Instant>,
}

/// A view that shows all that there is at the moment.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    /// Its name.
    pub(crate) name: String,
    /// When its last list was begun.
    pub(crate) listed: Option<Instant>,
    /// Whether it shows the hub.
    pub(crate) of_hub: bool,
    /// Whether what it lacks counts: it is settled, and if it shows the hub, it is known which one that is.
    pub(crate) is_firm: bool,
}

impl Links {
    /// Nothing is known, and the hub was not reached yet.
    pub(crate) fn new(clock: BootClock) -> Self {
        let known = Known { begun: clock.now(), ..Known::default() };
        Self { clock, known: Mutex::new(known) }
    }

    /// A term begins in which this process leads since then. It is known to several tasks, and the first one counts.
    pub(crate) fn begin(&self, since: Instant) {
        let mut known = self.known.lock();
        if known.term.is_none_or(|term| term < since) {
            known.term = Some(since);
            known.begun = self.clock.now();
            known.answered = None;
        }
    }

    /// The hub has answered a request that was sent at `sent`.
    pub(crate) fn answered(&self, sent: Duration) {
        let mut known = self.known.lock();
        let before = known.answered;
        if before.is_none_or(|before| sent.saturating_sub(before) > OUTAGE) {
            known.outage = Some(Outage { begun: before, ended: sent });
        }
        known.answered = before.max(Some(sent));
    }

    /// Takes note of which members the hub agent reports as silent, of which hub that is, and of which views are complete: no others
    /// are. True if it is another hub, or one that began anew: then what is seen of it may be of the earlier one, until it is listed
    /// again.
    pub(crate) fn follow<'a>(
        &self,
        silent: impl IntoIterator<Item = &'a str>,
        hub: Option<&str>,
        views: impl IntoIterator<Item = Watched>,
    ) -> bool {
        let now = self.clock.now();
        let mut known = self.known.lock();
        let known = &mut *known;
        let silent: BTreeSet<&str> = silent.into_iter().collect();
        known.silent.retain(|member, _| silent.contains(member.as_str()));
        let news = Silent { seen: now, earliest: known.news_since(now) };
        for member in silent {
            known.silent.entry(member.to_owned()).or_insert(news);
        }
        let is_another = known.is_another(hub);
        let mut before = std::mem::take(&mut known.complete);
        for view in views {
            let present = before.remove(&view.name);
            let complete = complete(present, &view, is_another && view.of_hub, now);
            known.complete.insert(view.name, complete);
        }
        is_another
    }

    /// For how long the hub has not answered.
    pub(crate) fn hub_silence(&self) -> Duration {
        let known = self.known.lock();
        self.since(known.answered.unwrap_or(known.begun))
    }

    /// The same for who acts when it was `after`: a process that has just begun to lead does not know what was before, and
    /// assumes the worst if it does not reach the hub soon.
    pub(crate) fn hub_silence_within(&self, after: Duration) -> Duration {
        let known = self.known.lock();
        match known.answered {
            Some(answered) => self.since(answered),
            None => self.since(known.begun) + after.saturating_sub(PATIENCE),
        }
    }

    /// For how long a member has given no sign that the hub agent reports as silent.
    pub(crate) fn silence(&self, member: &str) -> Duration {
        let known = self.known.lock();
        SILENCE + known.silent.get(member).map(|silent| self.since(silent.seen)).unwrap_or_default()
    }

    /// The same for who acts when it was `after`: a member that was reported while this process did not reach the hub, or was not
    /// there, may have been silent for as long as that.
    pub(crate) fn silence_within(&self, member: &str, after: Duration) -> Duration {
        let known = self.known.lock();
        let Some(silent) = known.silent.get(member) else { return SILENCE };
        SILENCE + silent.earliest.map_or(after, |since| self.since(since))
    }

    /// For how long a view has been complete without a break, and what it lacks has counted; no time while that does not count.
    pub(crate) fn complete(&self, view: &str) -> Option<Duration> {
        let known = self.known.lock();
        let view = known.complete.get(view)?;
        let counts = view.is_firm && view.outdated.is_none();
        Some(if counts { self.since(view.since) } else { Duration::ZERO })
    }

    /// Whether a second list has confirmed a view.
    pub(crate) fn is_confirmed(&self, view: &str) -> bool {
        self.known.lock().complete.get(view).is_some_and(|view| view.lists.len() > 1)
    }

    fn since(&self, time: Duration) -> Duration {
        self.clock.now().saturating_sub(time)
    }
}

/// What is known of a view that is complete at the moment, by what was known before.
fn complete(
    before: Option<Complete>,
    view: &Watched,
    is_of_another_hub: bool,
    now: Duration,
) -> Complete {
    let Watched { listed, is_firm, .. } = *view;
    let new = || Complete { since: now, lists: BTreeSet::new(), is_firm, outdated: None };
    let is_outdated = is_of_another_hub && before.is_some();
    let mut complete = before.unwrap_or_else(new);
    let is_listed_anew = complete.outdated.is_some_and(|outdated| Some(outdated) != listed);
    if is_outdated {
        complete = Complete { outdated: listed, ..new() };
    } else if is_listed_anew || complete.is_firm && !is_firm {
        complete = new();
    }
    complete.is_firm = is_firm;
    // Two are enough to know that there was a second one.
    if complete.lists.len() < 2 {
        complete.lists.extend(listed);
    }
    complete
}

impl Known {
    /// Whether the hub is another one than before. While it has not answered, it is not known to be.
    fn is_another(&mut self, hub: Option<&str>) -> bool {
        let Some(hub) = hub.filter(|hub| self.hub.as_deref() != Some(*hub)) else { return false };
        self.hub.replace(hub.to_owned()).is_some()
    }

    /// Since when what the hub shows now may have been so; `None` if this process does not know.
    fn news_since(&self, now: Duration) -> Option<Duration> {
        let outage = self.outage?;
        let is_recent = now.saturating_sub(outage.ended) < NEWS;
        if is_recent { outage.begun } else { Some(now) }
    }
}

/// Lets links know of a term before anything is planned in it that counts on their times.
#[derive(Debug)]
pub(crate) struct FromTheBeginning(pub(crate) Arc<Links>);

impl<K> Recorder<K, Measurement> for FromTheBeginning {
    fn record(&mut self, _: &K, _: &Measurement, _: Timestamp) -> Vec<Event> {
        Vec::new()
    }

    fn begin(&mut self, since: Instant) {
        self.0.begin(since);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn links() -> (Links, BootClock) {
        let clock = BootClock::by_hand();
        (Links::new(clock.clone()), clock)
    }

    #[test]
    fn the_hub_is_silent_since_the_request_that_it_answered() {
        let (links, clock) = links();
        clock.advance(seconds(5));
        assert_eq!(links.hub_silence(), seconds(5), "it was never reached");
        links.answered(seconds(4));
        links.answered(seconds(3));
        assert_eq!(links.hub_silence(), seconds(1), "answers come in any order");
        let term = Instant::now();
        links.begin(term);
        assert_eq!(links.hub_silence(), seconds(0), "what an earlier leader knew is not known");
        clock.advance(seconds(2));
        links.answered(seconds(7));
        links.begin(term);
        assert_eq!(
            links.hub_silence_within(seconds(60)),
            seconds(0),
            "another task has noticed the same term before"
        );
    }

    #[test]
    fn a_new_leader_that_does_not_reach_the_hub_assumes_the_worst() {
        let (links, clock) = links();
        assert_eq!(links.hub_silence_within(seconds(60)), seconds(45));
        clock.advance(seconds(15));
        assert_eq!(links.hub_silence_within(seconds(60)), seconds(60));
        assert_eq!(links.hub_silence_within(seconds(300)), seconds(300));
        links.answered(seconds(15));
        assert_eq!(links.hub_silence_within(seconds(60)), seconds(0));
    }

    #[test]
    fn silence_of_a_member_begins_a_minute_before_it_is_reported() {
        let (links, clock) = links();
        links.follow(["west"], None, []);
        clock.advance(seconds(7));
        links.follow(["west", "north"], None, []);
        assert_eq!(links.silence("west"), seconds(67));
        assert_eq!(links.silence("north"), seconds(60));
        links.follow(["north"], None, []);
        links.follow(["west"], None, []);
        assert_eq!(links.silence("west"), seconds(60), "it was not silent in between");
    }

    /// A Pod that ends after five minutes must not run for ten because its executor was cut off meanwhile, or started anew.
    #[test]
    fn a_member_that_was_reported_unseen_may_be_silent_for_long() {
        let (links, clock) = links();
        let (after, within) =
            (seconds(300), |links: &Links| links.silence_within("west", seconds(300)));
        links.follow(["west"], None, []);
        assert_eq!(
            within(&links),
            SILENCE + after,
            "a process that starts knows nothing of before"
        );
        assert_eq!(links.silence("west"), SILENCE, "who counts on it knows a minute");
        links.follow([], None, []);
        let answer = |after: u64| {
            clock.advance(seconds(after));
            links.answered(clock.now());
        };
        answer(10);
        (0..7).for_each(|_| answer(10));
        links.follow(["west"], None, []);
        assert_eq!(within(&links), SILENCE, "it was reported just now");
        links.follow([], None, []);
        answer(200);
        links.follow(["west"], None, []);
        assert_eq!(within(&links), SILENCE + seconds(200), "it was reported meanwhile");
        answer(10);
        assert_eq!(within(&links), SILENCE + seconds(210));
        assert_eq!(links.silence_within("north", after), SILENCE);
    }

    #[test]
    fn a_view_is_complete_since_its_last_break() {
        let (links, clock) = links();
        let begin = Instant::now();
        let view = |listed| Watched { listed: Some(listed), ..watched("pods", begin) };
        assert_eq!(links.complete("pods"), None);
        links.follow([], None, [view(begin)]);
        clock.advance(seconds(9));
        links.follow([], None, [view(begin)]);
        assert_eq!((links.complete("pods"), links.is_confirmed("pods")), (Some(seconds(9)), false));
        links.follow([], None, [view(begin + seconds(1))]);
        assert!(links.is_confirmed("pods"));
        links.follow([], None, []);
        assert_eq!((links.complete("pods"), links.is_confirmed("pods")), (None, false));
        links.follow([], None, [view(begin)]);
        assert_eq!((links.complete("pods"), links.is_confirmed("pods")), (Some(seconds(0)), false));
    }

    fn watched(name: &str, listed: Instant) -> Watched {
        Watched { name: name.to_owned(), listed: Some(listed), of_hub: false, is_firm: true }
    }

    /// The hub was restored, and has passed the version that the watch went on from: no list has shown that.
    #[test]
    fn what_is_seen_of_another_hub_counts_once_it_is_listed() {
        let (links, clock) = links();
        let begin = Instant::now();
        let both = |listed| {
            [Watched { of_hub: true, ..watched("exports", listed) }, watched("pods", begin)]
        };
        let known = |links: &Links| ["exports", "pods"].map(|view| links.complete(view).unwrap());
        assert!(!links.follow([], None, both(begin)), "it has not answered yet");
        assert!(!links.follow([], Some("a/0"), both(begin)), "it is known for the first time");
        clock.advance(seconds(100));
        assert!(
            !links.follow([], None, both(begin)) && !links.follow([], Some("a/0"), both(begin))
        );
        assert_eq!(known(&links), [100, 100].map(seconds));
        assert!(links.follow([], Some("a/1"), both(begin)));
        clock.advance(seconds(100));
        assert!(!links.follow([], Some("a/1"), both(begin)));
        assert_eq!(known(&links), [0, 200].map(seconds));
        assert!(!links.is_confirmed("exports"));
        links.follow([], Some("a/1"), both(begin + seconds(1)));
        clock.advance(seconds(7));
        links.follow([], Some("a/1"), both(begin + seconds(1)));
        assert_eq!(known(&links), [7, 207].map(seconds));
    }

    #[test]
    fn what_a_view_lacks_counts_since_it_is_settled_without_a_break() {
        let (links, clock) = links();
        let view = |is_firm| [Watched { is_firm, ..watched("exports", Instant::now()) }];
        links.follow([], None, view(false));
        clock.advance(seconds(60));
        assert_eq!(links.complete("exports"), Some(seconds(0)));
        links.follow([], None, view(true));
        assert_eq!(links.complete("exports"), Some(seconds(60)), "it has been watched for so long");
        links.follow([], None, view(false));
        clock.advance(seconds(60));
        links.follow([], None, view(false));
        assert_eq!(links.complete("exports"), Some(seconds(0)));
        links.follow([], None, view(true));
        assert_eq!(links.complete("exports"), Some(seconds(60)));
    }
}
