//! The state machine of one source: what the events of its watch do to its view.
//!
//! Pure: no I/O, no clock, no task. Time comes in with every call.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_api::ObjectName;

use super::brake::DeleteBrake;
use super::error::{Class, Failure};
use super::item::{Input, Item};
use crate::config::Config;
use crate::metrics::SourceMetrics;
use crate::{Record, SourceState, Tracked, Uid, View};

/// Failures in a row for so long demand a stream from scratch.
const REBUILD_AFTER: Duration = Duration::from_mins(1);

/// What the task has to do next, beyond reading on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Read on after a pause.
    Retry,
    /// Read on after a moment: a running watch was cut off.
    Resume,
    /// Start a new stream after a pause.
    Rebuild,
    /// Start a new stream for the second list of the brake.
    Confirm,
    /// Ask discovery whether the kind is served, then go on accordingly.
    AskServed,
    /// The kind is not served: look again later.
    Recheck,
}

/// Names that changed since they were taken last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    Names(Vec<ObjectName>),
    /// A whole list was applied.
    All,
}

/// A list on its way.
struct Listing<T> {
    seen: HashSet<ObjectName>,
    fresh: Vec<Item<T>>,
}

/// Failures in a row.
struct Failing {
    since: Instant,
}

pub(crate) struct Machine<T: Tracked> {
    config: Config,
    metrics: SourceMetrics,
    view: View<T>,
    touched: Touched,
    /// The view differs from the one published last, be it in a version only.
    dirty: bool,
    listing: Option<Listing<T>>,
    failing: Option<Failing>,
    /// Objects that one list lacked and that wait for a second opinion.
    held: Option<BTreeSet<(ObjectName, Uid)>>,
    /// The next list may come from another cluster: no loss is believed at once.
    suspicious: bool,
    brake: DeleteBrake,
}

impl<T: Tracked> Machine<T> {
    pub(crate) fn new(config: Config, metrics: SourceMetrics) -> Self {
        Self {
            brake: DeleteBrake::new(config.brake),
            config,
            metrics,
            view: View::default(),
            touched: Touched::Names(Vec::new()),
            dirty: false,
            listing: None,
            failing: None,
            held: None,
            suspicious: false,
        }
    }

    pub(crate) fn view(&self) -> &View<T> {
        &self.view
    }

    /// The names that changed since the last call, those with only a new version included; `None`
    /// if there is nothing to publish at all.
    pub(crate) fn take_changes(&mut self) -> Option<Touched> {
        let touched = std::mem::replace(&mut self.touched, Touched::Names(Vec::new()));
        std::mem::take(&mut self.dirty).then_some(touched)
    }

    /// Whether a list is on its way.
    pub(crate) fn is_listing(&self) -> bool {
        self.listing.is_some()
    }

    /// When a source that does not get through becomes stale.
    pub(crate) fn stale_at(&self) -> Option<Instant> {
        let failing = self.failing.as_ref()?;
        matches!(self.view.state, SourceState::Live | SourceState::Resyncing)
            .then(|| failing.since + self.config.stale_after)
    }

    /// Whether `input` is one deletion too many: it must not be handled before discovery was
    /// asked.
    pub(crate) fn brakes(&mut self, input: &Input<T>, now: Instant) -> bool {
        if self.listing.is_some() {
            return false;
        }
        let (name, uid, gone) = match input {
            Input::Deleted { name, uid } => (name, uid, true),
            Input::Applied(item) if item.terminating => (&item.name, &item.uid, false),
            _ => return false,
        };
        let ours = self.view.get(name).is_some_and(|record| record.uid == *uid);
        ours && self.brake.count(uid, gone, self.view.len(), now)
    }

    /// Discovery says that the kind is well: deletions are believed for a while.
    pub(crate) fn release(&mut self, now: Instant) {
        self.brake.release(now);
    }

    /// Discovery says that the kind is not served. The content stays as it is.
    pub(crate) fn missing(&mut self, now: Instant) -> Command {
        self.forget_list();
        self.failing = None;
        if !matches!(self.view.state, SourceState::Missing { .. }) {
            self.enter(SourceState::Missing { since: now });
        }
        Command::Recheck
    }

    /// The API server may be another one than before: any loss needs a second list.
    pub(crate) fn suspect(&mut self) {
        self.suspicious = true;
    }

    /// The source does not get through, and it is known not to be connected right now.
    pub(crate) fn unreachable(&mut self, now: Instant) {
        let Some(failing) = &self.failing else { return };
        let since = failing.since;
        if self.stale_at().is_some_and(|at| at <= now) {
            let message = self.view.trouble.clone().unwrap_or_default();
            self.enter(SourceState::Stale { since, message });
        }
    }

    /// Takes one event.
    pub(crate) fn handle(&mut self, input: Input<T>, now: Instant) -> Option<Command> {
        self.metrics.event(input.as_str());
        match input {
            Input::Init => {
                self.begin();
                // From a state of trouble a list is only an attempt: its first answer decides.
                match self.view.state {
                    SourceState::Pending => self.enter(SourceState::Listing),
                    SourceState::Live => self.enter(SourceState::Resyncing),
                    _ => {}
                }
            }
            Input::Listed(item) => self.listed(item),
            Input::InitDone => return self.list_is_complete(),
            Input::Applied(item) if self.listing.is_some() => self.listed(item),
            Input::Applied(item) => {
                self.lives();
                self.apply(item, true);
            }
            Input::Deleted { name, uid } => match &mut self.listing {
                Some(listing) => {
                    listing.seen.remove(&name);
                    listing.fresh.retain(|item| item.name != name || item.uid != uid);
                }
                None => {
                    self.lives();
                    self.delete(&name, &uid);
                }
            },
            Input::WatchStarted => {
                if self.listing.is_none() && self.held.is_none() {
                    self.lives();
                }
            }
            Input::Failed(failure) => return self.failed(&failure, now),
        }
        None
    }

    fn failed(&mut self, failure: &Failure, now: Instant) -> Option<Command> {
        self.metrics.error(failure.class.as_str());
        match failure.class {
            // The stream lists again by itself.
            Class::Expired => return Some(Command::Resume),
            Class::Forbidden(verb) => {
                self.forget_list();
                self.failing = None;
                self.forbidden(verb, &failure.message, now);
                return Some(Command::Rebuild);
            }
            Class::NotFound => return Some(Command::AskServed),
            _ => {}
        }
        self.trouble(failure, now);
        self.unreachable(now);
        let failing_for = self.failing.as_ref().map(|failing| now - failing.since);
        Some(match failure.class {
            Class::Unresumable | Class::Undecodable => Command::Rebuild,
            // The watch may have missed what the API server no longer knows, or hit a failure
            // that `watcher` would repeat for ever.
            _ if failing_for >= Some(REBUILD_AFTER) => Command::Rebuild,
            Class::Interrupted => Command::Resume,
            _ => Command::Retry,
        })
    }

    /// Notes a failure that may heal by itself.
    pub(crate) fn trouble(&mut self, failure: &Failure, now: Instant) {
        self.failing.get_or_insert(Failing { since: now });
        if self.view.trouble.as_ref() != Some(&failure.message) {
            self.view.trouble = Some(Arc::clone(&failure.message));
            self.dirty = true;
        }
    }

    fn forbidden(&mut self, verb: &'static str, message: &Arc<str>, now: Instant) {
        let since = match &self.view.state {
            SourceState::Forbidden { since, .. } => *since,
            _ => now,
        };
        self.enter(SourceState::Forbidden { since, verb, message: Arc::clone(message) });
    }

    /// The API server answered.
    fn reached(&mut self) {
        self.failing = None;
        self.dirty |= self.view.trouble.take().is_some();
    }

    /// A watch event came: the watch works.
    fn lives(&mut self) {
        self.reached();
        if self.view.bootstrapped {
            self.enter(SourceState::Live);
        }
    }

    /// Something that consumers can see has changed.
    fn change(&mut self) {
        self.view.revision += 1;
        self.dirty = true;
    }

    /// Changes the state and tells of it once.
    fn enter(&mut self, state: SourceState) {
        if self.view.state == state {
            return;
        }
        self.metrics.state(&state);
        self.view.state = state;
        self.change();
    }

    fn begin(&mut self) {
        self.listing = Some(Listing { seen: HashSet::new(), fresh: Vec::new() });
        self.brake.reset();
    }

    fn forget_list(&mut self) {
        self.listing = None;
    }

    fn listed(&mut self, item: Item<T>) {
        if self.listing.is_none() {
            self.begin();
        }
        match self.view.state {
            SourceState::Listing | SourceState::Resyncing => self.reached(),
            // It is the watch that is refused, and that is still to be tried.
            SourceState::Forbidden { verb: "watch", .. } => {}
            _ => {
                self.reached();
                let again = self.view.bootstrapped;
                let state = if again { SourceState::Resyncing } else { SourceState::Listing };
                self.enter(state);
            }
        }
        if let Some(listing) = &mut self.listing {
            listing.seen.insert(item.name.clone());
            listing.fresh.push(item);
        }
    }

    fn list_is_complete(&mut self) -> Option<Command> {
        let Some(listing) = self.listing.take() else {
            self.metrics.error("protocol");
            return None;
        };
        self.metrics.relist();
        self.touched = Touched::All;
        self.dirty = true;
        let mended = self.view.defects.keys().filter(|name| !listing.seen.contains(name));
        for name in mended.cloned().collect::<Vec<_>>() {
            self.mend(&name);
        }
        let losses = self.losses(&listing);
        let hold = self.to_hold(losses);
        self.suspicious = false;
        for item in listing.fresh {
            let held = hold.as_ref().is_some_and(|hold| {
                let old = self.view.get(&item.name);
                old.is_some_and(|old| hold.contains(&(old.name.clone(), old.uid.clone())))
            });
            if !held {
                self.apply(item, false);
            }
        }
        let bootstraps = !self.view.bootstrapped;
        self.view.bootstrapped = true;
        self.metrics.fuse(hold.as_ref().map_or(0, BTreeSet::len));
        self.held = hold;
        if self.held.is_some() {
            self.reached();
            self.enter(SourceState::Resyncing);
            return Some(Command::Confirm);
        }
        // A watch that was refused before is refused until one is accepted.
        if matches!(self.view.state, SourceState::Forbidden { verb: "watch", .. }) {
            if bootstraps {
                self.change();
            }
            return None;
        }
        self.reached();
        self.enter(SourceState::Live);
        None
    }

    /// What the list lacks: names that are not in it, and names that came back as another object.
    fn losses(&self, listing: &Listing<T>) -> BTreeSet<(ObjectName, Uid)> {
        let lost = |record: &Record<T>| (record.name.clone(), record.uid.clone());
        let gone = self.view.iter().filter(|record| !listing.seen.contains(&record.name)).map(lost);
        let replaced = listing.fresh.iter().filter_map(|item| {
            let old = self.view.get(&item.name)?;
            (old.uid != item.uid).then(|| lost(old))
        });
        gone.chain(replaced).collect()
    }

    /// Removes what may go and returns what must wait for another list, if anything.
    ///
    /// What two lists in a row lack goes. What is new in the second list's losses is judged like
    /// the losses of a first one.
    fn to_hold(
        &mut self,
        losses: BTreeSet<(ObjectName, Uid)>,
    ) -> Option<BTreeSet<(ObjectName, Uid)>> {
        let held = self.held.take().unwrap_or_default();
        let (agreed, new): (BTreeSet<_>, BTreeSet<_>) =
            losses.into_iter().partition(|loss| held.contains(loss));
        let too_many = self.config.brake.stops(new.len(), self.view.len());
        let hold = too_many || (self.suspicious && !new.is_empty());
        let go = agreed.iter().chain(new.iter().filter(|_| !hold));
        for (name, _) in go {
            self.remove(name);
        }
        hold.then_some(new)
    }

    /// Stores an object that is newer than what is stored; a list is always newer.
    fn apply(&mut self, item: Item<T>, compare: bool) {
        let Item { name, uid, version, content, .. } = item;
        let old = self.view.get(&name).filter(|old| old.uid == uid);
        if compare
            && let Some(old) = old
            && old.version.is_at_least(&version) == Some(true)
        {
            if old.version != version {
                self.metrics.error("old_version");
            }
            return;
        }
        match (content, old) {
            // Keeping the pointer is what makes comparing views exact and cheap.
            (Ok(object), Some(old)) if *old.object == object => {
                let record = (old.version != version).then(|| Record { version, ..old.clone() });
                self.mend(&name);
                if let Some(record) = record {
                    self.touch(&name);
                    self.view.records.insert(name, record);
                }
            }
            (Ok(object), _) => {
                self.touch(&name);
                self.mend(&name);
                self.view.insert(Record::new(name, uid, version, object));
                self.change();
            }
            (Err(reason), old) => {
                let keep = old.is_some();
                self.touch(&name);
                // The last good content stays, but not that of another object.
                if !keep {
                    self.remove(&name);
                }
                self.metrics.undecodable();
                tracing::debug!(name = %name, error = %reason, "Object cannot be read");
                self.view.defects.insert(name, reason.into());
                self.change();
            }
        }
    }

    fn delete(&mut self, name: &ObjectName, uid: &Uid) {
        self.mend(name);
        if self.view.get(name).is_some_and(|record| record.uid == *uid) {
            self.touch(name);
            self.remove(name);
        }
    }

    fn remove(&mut self, name: &ObjectName) {
        if self.view.remove(name).is_some() {
            self.change();
        }
    }

    /// The object is readable again, or gone.
    fn mend(&mut self, name: &ObjectName) {
        if !self.view.defects.is_empty() && self.view.defects.remove(name).is_some() {
            self.change();
        }
    }

    fn touch(&mut self, name: &ObjectName) {
        self.dirty = true;
        if let Touched::Names(names) = &mut self.touched {
            names.push(name.clone());
        }
    }
}
