//! Up to which version each source has shown its API server, for the next process of an agent.
//!
//! A process that begins has seen nothing of the server, and takes what a restored backup has for the present. What the one before has
//! reached, handed on where the restore does not reach, is what shows it that the server went back in time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::time::now;
use crate::{ClusterId, ResourceVersion, SourceInfo};

/// Between the versions of two sources.
const NEXT: char = ',';
/// Between a source and its version.
const IS: char = '=';

/// How many digits a version has at most that is handed on: an API server counts in 64 bits, and what it sends is its own matter.
const DIGITS: usize = 20;
/// How many notes are remembered that this process has written or read.
const REMEMBERED: usize = 4;

/// The newest version that each source has reached. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Reached(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    sources: BTreeMap<(ClusterId, &'static str), Newest>,
    /// What was written or read last: a renewal that fails leaves an earlier note of this process itself.
    notes: VecDeque<String>,
    /// Whether this process has looked for a note, and found one or not.
    has_taken_over: bool,
}

impl PartialEq for Reached {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Reached {
    /// For these sources, which need not be watched yet when something is taken over.
    pub fn by(sources: &[SourceInfo]) -> Self {
        let reached = Self::default();
        for source in sources {
            reached.of(source);
        }
        reached
    }

    /// What the sources of a cluster have reached, as text; `None` before any has.
    pub fn hand_on(&self, cluster: ClusterId) -> Option<String> {
        let known = &mut *self.0.lock();
        let of_cluster = known.sources.iter().filter(|((of, _), _)| *of == cluster);
        let parts = of_cluster
            .filter_map(|((_, source), newest)| Some(format!("{source}{IS}{}", newest.hand_on()?)));
        let parts: Vec<_> = parts.collect();
        let note = (!parts.is_empty()).then(|| parts.join(&NEXT.to_string()))?;
        known.is_new(&note);
        Some(note)
    }

    /// Takes over what another process has handed on, nothing if it has not: the next list of each source that is begun from now on
    /// has to be newer. What is not understood, or about a source that is not watched, is left out.
    pub fn take_over(&self, cluster: ClusterId, note: &str) {
        let known = &mut *self.0.lock();
        let is_first = !std::mem::replace(&mut known.has_taken_over, true);
        if !known.is_new(note) {
            return;
        }
        let mine = |name: &str| {
            let mut of_cluster = known.sources.iter().filter(|((of, _), _)| *of == cluster);
            of_cluster.find(|((_, source), _)| *source == name).map(|(_, newest)| newest)
        };
        let parts = note.split(NEXT).filter_map(|part| part.split_once(IS));
        for (newest, version) in parts.filter_map(|(name, version)| Some((mine(name)?, version))) {
            newest.take_over(version.into(), is_first);
        }
    }

    /// Whether sources of a cluster are to be listed anew, since one has shown a state that is older than what this process took over
    /// when it began: its list may have been begun before that was read, and an API server that was restored soon has written as
    /// much again. Once.
    pub fn asks_for_lists(&self, cluster: ClusterId) -> bool {
        let known = self.0.lock();
        let of_cluster = || known.sources.iter().filter(|((of, _), _)| *of == cluster);
        let is_behind = of_cluster().any(|(_, newest)| newest.is_behind());
        for (_, newest) in of_cluster().filter(|_| is_behind) {
            newest.lists_anew();
        }
        is_behind
    }

    /// What a source has reached.
    pub(crate) fn of(&self, source: &SourceInfo) -> Newest {
        self.0.lock().sources.entry((source.cluster, source.field)).or_default().clone()
    }
}

impl Known {
    /// Whether a note is none that this process has written or read lately. It is remembered.
    fn is_new(&mut self, note: &str) -> bool {
        if self.notes.iter().any(|known| known == note) {
            return false;
        }
        self.notes.truncate(REMEMBERED - 1);
        self.notes.push_front(note.to_owned());
        true
    }
}

/// The newest version that one source has reached, if any. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newest(Arc<Mutex<Versions>>);

#[derive(Debug, Default)]
struct Versions {
    /// Of this process.
    reached: Option<ResourceVersion>,
    /// Before the server went back in time, as long as that counts: who begins meanwhile has to know.
    before: Option<ResourceVersion>,
    /// Of another process, and when it was taken over: a list that was begun earlier may well be older.
    earlier: Option<(ResourceVersion, Instant)>,
    /// What was taken over first, until it is reached or lists are asked for. What the other process has reached since then is no
    /// measure: it works on, and may be ahead for a moment.
    at_begin: Option<ResourceVersion>,
}

impl Versions {
    fn newest(&self) -> Option<&ResourceVersion> {
        let earlier = self.earlier.as_ref().map(|(version, _)| version);
        let all = [self.reached.as_ref(), self.before.as_ref(), earlier].into_iter().flatten();
        all.reduce(|newest, other| if is_before(newest, other) { other } else { newest })
    }

    fn is_after(&self, version: &ResourceVersion) -> bool {
        self.reached.as_ref().is_some_and(|reached| is_before(version, reached))
    }
}

impl Newest {
    fn hand_on(&self) -> Option<String> {
        let version = self.0.lock().newest()?.to_string();
        let is_number = version.bytes().all(|byte| byte.is_ascii_digit());
        Some(version).filter(|version| is_number && version.len() <= DIGITS)
    }

    fn take_over(&self, version: ResourceVersion, is_first: bool) {
        let known = &mut *self.0.lock();
        let is_ahead = known.reached.as_ref().is_none_or(|reached| is_before(reached, &version));
        if is_first && is_ahead {
            known.at_begin = Some(version.clone());
        }
        known.earlier = is_ahead.then(|| (version, now()));
    }

    fn is_behind(&self) -> bool {
        let known = self.0.lock();
        let (Some(before), Some(reached)) = (&known.at_begin, &known.reached) else { return false };
        is_before(reached, before)
    }

    fn lists_anew(&self) {
        self.0.lock().at_begin = None;
    }

    /// Whether a version is older.
    pub(crate) fn is_after(&self, version: &ResourceVersion) -> bool {
        self.0.lock().is_after(version)
    }

    /// The same for a list that was begun at `begun`, which may be older than what another process has handed on, too.
    pub(crate) fn is_after_list(&self, version: &ResourceVersion, begun: Instant) -> bool {
        let known = self.0.lock();
        let earlier = known.earlier.as_ref().filter(|(_, since)| begun >= *since);
        earlier.is_some_and(|(earlier, _)| is_before(version, earlier)) || known.is_after(version)
    }

    /// Takes note of a version, unless it is older.
    pub(crate) fn reaches(&self, version: &ResourceVersion) {
        let known = &mut *self.0.lock();
        if !known.is_after(version) {
            known.reached = Some(version.clone());
        }
        known.at_begin.take_if(|before| version.is_at_least(before) == Some(true));
    }

    /// The same of a list that was begun at `begun`: what another process has handed on before that is reached, too.
    pub(crate) fn reaches_list(&self, version: &ResourceVersion, begun: Instant) {
        self.0.lock().earlier.take_if(|(_, since)| begun >= *since);
        self.reaches(version);
    }

    /// The server went back to a version.
    pub(crate) fn goes_back(&self, version: &ResourceVersion) {
        let known = &mut *self.0.lock();
        let before = known.newest().cloned();
        *known = Versions { reached: Some(version.clone()), before, ..Versions::default() };
    }

    /// That it went back counts no more.
    pub(crate) fn settles(&self) {
        self.0.lock().before = None;
    }

    /// Another server answers, whose versions are others.
    pub(crate) fn forget(&self) {
        *self.0.lock() = Versions::default();
    }
}

fn is_before(version: &ResourceVersion, other: &ResourceVersion) -> bool {
    version.is_at_least(other) == Some(false)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fleet_api::kinds;

    use super::*;
    use crate::SourceId;

    fn source(field: &'static str) -> SourceInfo {
        let (id, cluster, kind) = (SourceId::new(0), ClusterId::Hub, kinds::SERVICE);
        SourceInfo { id, field, cluster, kind, optional: false }
    }

    /// One source, and what it has reached.
    fn services() -> (Reached, Newest) {
        let source = source("services");
        let reached = Reached::by(&[source]);
        let newest = reached.of(&source);
        (reached, newest)
    }

    fn noted(reached: &Reached) -> String {
        reached.hand_on(ClusterId::Hub).unwrap_or_default()
    }

    #[test]
    fn what_was_reached_is_handed_on() {
        let (before, newest) = services();
        assert_eq!(before.hand_on(ClusterId::Hub), None);
        newest.reaches(&"9".into());
        newest.reaches(&"8".into());
        before.of(&source("openapi")).reaches(&"/a,b=1".into());
        before.of(&source("hostile")).reaches(&"9".repeat(300_000).into());
        let text = noted(&before);
        assert_eq!((&*text, before.hand_on(ClusterId::Local)), ("services=9", None));

        let ((after, newest), before) = (services(), now());
        after.take_over(ClusterId::Hub, &format!("unknown=99,,x,=,{text}"));
        assert_eq!(noted(&after), text, "until it has listed");
        let since = now() + Duration::from_secs(1);
        assert!(!newest.is_after_list(&"8".into(), before), "begun when that was not known");
        assert!(newest.is_after_list(&"8".into(), since), "begun later, and older");
        newest.reaches_list(&"11".into(), since);
        assert!(!newest.is_after_list(&"11".into(), since));
        assert_eq!(noted(&after), "services=11");
    }

    /// A process may end in the minute in which nothing is deleted.
    #[test]
    fn that_a_server_went_back_is_handed_on_as_long_as_it_counts() {
        let (reached, newest) = services();
        reached.take_over(ClusterId::Hub, "services=1000");
        newest.goes_back(&"500".into());
        newest.reaches(&"510".into());
        assert_eq!(noted(&reached), "services=1000");
        assert!(!newest.is_after_list(&"520".into(), now() + Duration::from_secs(1)));
        newest.settles();
        assert_eq!(noted(&reached), "services=510");
    }

    /// A list that was begun before the note was read may be of a backup, and the one after the next no longer shows it.
    #[test]
    fn lists_from_before_the_note_are_made_again_if_they_are_older() {
        let (reached, newest) = services();
        let asks = || reached.asks_for_lists(ClusterId::Hub);
        let begun = now();
        reached.take_over(ClusterId::Hub, "services=1000");
        assert!(!asks(), "the list is on its way");
        newest.reaches_list(&"990".into(), begun);
        assert!(newest.is_after_list(&"999".into(), now() + Duration::from_secs(1)));
        assert!(asks() && !asks(), "once");
        // The other process works on, and is ahead for a moment.
        reached.take_over(ClusterId::Hub, "services=2000");
        assert!(!asks());

        // A list that takes long is newer than the first note, and older than the last one.
        let (reached, newest) = services();
        reached.take_over(ClusterId::Hub, "services=1000");
        reached.take_over(ClusterId::Hub, "services=2000");
        newest.reaches_list(&"1000".into(), begun);
        assert!(!reached.asks_for_lists(ClusterId::Hub), "what it took over at its begin is there");
        assert!(!reached.asks_for_lists(ClusterId::Local));

        // It has begun where none had worked before.
        let (reached, newest) = services();
        reached.take_over(ClusterId::Hub, "");
        newest.reaches_list(&"10".into(), begun);
        reached.take_over(ClusterId::Hub, "services=20");
        assert!(!reached.asks_for_lists(ClusterId::Hub));
    }

    /// The last note counts, and none that this process itself has written.
    #[test]
    fn what_is_behind_this_process_does_not_count() {
        let (reached, newest) = services();
        let later = now() + Duration::from_secs(1);
        newest.reaches(&"1000".into());
        let own = noted(&reached);
        newest.goes_back(&"500".into());
        newest.settles();
        reached.take_over(ClusterId::Hub, &own);
        assert!(!newest.is_after_list(&"510".into(), later));
        for (note, counts) in
            [("services=2000", true), ("services=400", false), ("services=x", false)]
        {
            reached.take_over(ClusterId::Hub, note);
            assert_eq!(newest.is_after_list(&"510".into(), later), counts, "{note}");
        }
        newest.forget();
        assert_eq!(noted(&reached), "");
    }
}
