//! How a source fares, whatever its kind: its connection, its lists and watches, and how far its content can be trusted.
//!
//! Pure: no I/O, no clock, no task. Time comes in with every call.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_api::ObjectName;

use super::calm::Calm;
use super::error::{Class, Failure};
use super::mass_deletion::MassDeletionGuard;
use super::settling::Timeline;
use super::update::Touched;
use crate::config::Config;
use crate::metrics::SourceMetrics;
use crate::reached::Newest;
use crate::view::Standing;
use crate::{ResourceVersion, SourceState, Uid};

/// A watch that lives for so long works, though nothing comes.
const PROVEN_AFTER: Duration = Duration::from_secs(5);
/// Failures in a row for so long demand a list.
const RELIST_AFTER: Duration = Duration::from_mins(1);

/// What the task has to do next: each ends the stream that it reads. The next one continues from
/// [`Course::version`], or begins with a list where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Try again after a pause.
    Retry,
    /// Continue after a moment: a running watch has ended.
    Resume,
    /// List at once: the pause is over.
    Relist,
    /// List at once, though a watch works.
    Refresh,
    /// That list has failed: the watch goes on, at once.
    GoOn,
    /// List a second time, to confirm a mass deletion.
    Confirm,
    /// Ask discovery whether the kind is served, then go on accordingly.
    Discover,
    /// The kind is not served: look again later.
    Recheck,
}

/// Failures in a row.
pub(super) struct Failing {
    since: Instant,
}

/// What speaks against a watch that was accepted and has not shown anything yet.
#[derive(Clone, Copy, Default)]
struct Probation {
    /// Since when it runs.
    since: Option<Instant>,
    /// How many in a row ended before they had shown anything.
    failures: u32,
}

/// See the module.
pub(crate) struct Course {
    pub(super) config: Config,
    pub(super) metrics: SourceMetrics,
    pub(super) standing: Standing,
    pub(super) touched: Touched,
    /// The view differs from the one published last, be it in a version only.
    pub(super) dirty: bool,
    /// When the list was begun that is on its way.
    pub(super) listing: Option<Instant>,
    /// Up to where the view shows all changes; without it only a list does.
    pub(super) version: Option<ResourceVersion>,
    /// How far the watch had come that a list interrupts without need.
    pub(super) watched: Option<ResourceVersion>,
    pub(super) timeline: Timeline,
    pub(super) calm: Calm,
    pub(super) failing: Option<Failing>,
    probation: Probation,
    /// How long the API server asks to wait.
    retry_after: Option<Duration>,
    /// Objects that one list lacked and that wait for a second opinion.
    pub(super) held: Option<BTreeSet<(ObjectName, Uid)>>,
    /// The next list may come from another cluster: no loss is believed at once.
    pub(super) suspicious: bool,
    pub(super) guard: MassDeletionGuard,
    /// The API server went back in time, and no other source of the cluster knows.
    pub(super) went_back: bool,
    /// When the present stream was opened: what it answers was asked then.
    opened: Option<Instant>,
}

impl Course {
    pub(crate) fn new(
        config: Config,
        metrics: SourceMetrics,
        guard: MassDeletionGuard,
        cautious_for: Option<Duration>,
        newest: Newest,
    ) -> Self {
        Self {
            guard,
            config,
            metrics,
            standing: Standing { settled: cautious_for.is_none(), ..Standing::default() },
            touched: Touched::Names(Vec::new()),
            dirty: false,
            listing: None,
            version: None,
            watched: None,
            timeline: Timeline::since(newest),
            calm: Calm::new(cautious_for),
            failing: None,
            probation: Probation::default(),
            retry_after: None,
            held: None,
            suspicious: false,
            went_back: false,
            opened: None,
        }
    }

    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }

    /// The names that changed since the last call, those with only a new version included; `None`
    /// if there is nothing to publish at all.
    pub(crate) fn take_changes(&mut self) -> Option<Touched> {
        let touched = std::mem::replace(&mut self.touched, Touched::Names(Vec::new()));
        std::mem::take(&mut self.dirty).then_some(touched)
    }

    /// From where a watch can continue.
    pub(crate) fn version(&self) -> Option<&ResourceVersion> {
        self.version.as_ref()
    }

    /// The next stream begins with a list.
    pub(crate) fn relist(&mut self) {
        (self.version, self.watched) = (None, None);
    }

    /// The same, though a watch works: it goes on where the list fails.
    pub(crate) fn refresh(&mut self) {
        self.watched = self.version.take();
    }

    /// Whether the list that is on its way could be done without.
    pub(crate) fn is_refreshing(&self) -> bool {
        self.watched.is_some()
    }

    /// Whether the list that is on its way, or else the last complete one, was begun at `since` or later.
    pub(crate) fn is_listed_since(&self, since: Instant) -> bool {
        self.listing.or(self.standing.listed).is_some_and(|begun| begun >= since)
    }

    /// Whether a list is on its way.
    pub(crate) fn is_listing(&self) -> bool {
        self.listing.is_some()
    }

    /// When a watch has lived long enough to be trusted although it is silent.
    pub(crate) fn proven_at(&self) -> Option<Instant> {
        self.probation.since.map(|since| since + PROVEN_AFTER)
    }

    /// The watch works: it has lived for a while, or something came.
    pub(crate) fn proven(&mut self, now: Instant) {
        if self.proven_at().is_some_and(|at| at <= now) {
            self.lives();
        }
    }

    /// How long the API server has asked to wait.
    pub(crate) fn take_retry_after(&mut self) -> Option<Duration> {
        self.retry_after.take()
    }

    /// When a source that does not get through becomes stale.
    pub(crate) fn stale_at(&self) -> Option<Instant> {
        let failing = self.failing.as_ref()?;
        matches!(self.standing.state, SourceState::Live | SourceState::Resyncing)
            .then(|| failing.since + self.config.stale_after)
    }

    /// Discovery lists the kind: deletions are believed for a while.
    pub(crate) fn release(&mut self, now: Instant) {
        self.guard.release(now);
    }

    /// A stream is opened.
    pub(crate) fn opens(&mut self, now: Instant) {
        self.opened = Some(now);
    }

    /// Discovery, which was asked at `asked`, does not list the kind. The content stays as it is.
    pub(crate) fn missing(&mut self, asked: Instant) -> Command {
        self.listing = None;
        self.relist();
        self.failing = None;
        self.refused(Some(asked));
        if !self.is_missing() {
            self.enter(SourceState::Missing { since: asked });
        }
        Command::Recheck
    }

    /// Whether the kind is known not to be served.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.standing.state, SourceState::Missing { .. })
    }

    /// The kind is not to be had. Consumers are woken each time: one may wait for an answer to a later question.
    fn refused(&mut self, asked: Option<Instant>) {
        self.standing.refused = asked;
        self.change();
    }

    /// Discovery, which was asked at `asked`, did not answer whether the kind is served. The content stays as it is.
    pub(crate) fn undiscovered(&mut self, failure: &Failure, asked: Instant) {
        self.opens(asked);
        self.retry_after = failure.retry_after;
        if let Class::Forbidden(verb) = failure.class {
            self.failing = None;
            self.forbidden(verb, &failure.message, asked);
            self.follow(asked);
        } else {
            self.trouble(failure, asked);
        }
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
            let silence = || "the API server does not answer".into();
            let message = self.standing.trouble.clone().unwrap_or_else(silence);
            self.enter(SourceState::Stale { since, message });
        }
    }

    /// The stream has ended without a failure: API servers end watches from time to time.
    pub(crate) fn ended(&mut self, now: Instant) -> Command {
        self.listing = None;
        self.interrupted(now);
        Command::Resume
    }

    /// Something went wrong that the stream does not show.
    pub(crate) fn failed(&mut self, failure: &Failure, now: Instant) -> Command {
        self.metrics.event("failed");
        let command = self.fail(failure, now);
        self.follow(now);
        command
    }

    /// Something went wrong.
    pub(super) fn fail(&mut self, failure: &Failure, now: Instant) -> Command {
        self.metrics.error(failure.class.as_str());
        self.listing = None;
        if let Some(command) = self.goes_on(failure.class) {
            return command;
        }
        self.interrupted(now);
        self.retry_after = failure.retry_after;
        match failure.class {
            // That is what an API server without history answers, and no trouble. Where it always
            // answers that, one list follows another, and these need the longer pauses.
            Class::Expired => {
                self.relist();
                self.doubt();
                return Command::Retry;
            }
            Class::Forbidden(verb) => {
                self.relist();
                self.failing = None;
                self.forbidden(verb, &failure.message, now);
                return Command::Retry;
            }
            // Where the kind is served nevertheless, a gateway or an API server that has just started answered: the list that
            // follows may be of one that was restored.
            Class::NotFound => {
                self.relist();
                self.doubt();
                return Command::Discover;
            }
            _ => {}
        }
        self.trouble(failure, now);
        self.unreachable(now);
        let failing_for = self.failing.as_ref().map(|failing| now - failing.since);
        // A watch may have missed what the API server no longer knows, or what cannot be read.
        let lost = failure.class == Class::Undecodable || failing_for >= Some(RELIST_AFTER);
        if lost {
            self.relist();
            self.doubt();
        }
        let resume = failure.class == Class::Interrupted && !lost;
        if resume { Command::Resume } else { Command::Retry }
    }

    /// After the failure of a list that could be done without: the watch was in order until that closed it.
    fn goes_on(&mut self, class: Class) -> Option<Command> {
        let watched = self.watched.take()?;
        if matches!(class, Class::Forbidden(_) | Class::NotFound) {
            return None;
        }
        (self.version, self.failing) = (Some(watched), None);
        Some(Command::GoOn)
    }

    /// Notes a failure that may heal by itself.
    pub(crate) fn trouble(&mut self, failure: &Failure, now: Instant) {
        self.failing.get_or_insert(Failing { since: now });
        if self.standing.trouble.as_ref() != Some(&failure.message) {
            self.standing.trouble = Some(Arc::clone(&failure.message));
            self.dirty = true;
        }
    }

    fn forbidden(&mut self, verb: &'static str, message: &Arc<str>, now: Instant) {
        let since = match &self.standing.state {
            SourceState::Forbidden { since, .. } => *since,
            _ => now,
        };
        self.refused(self.opened);
        self.enter(SourceState::Forbidden { since, verb, message: Arc::clone(message) });
    }

    /// A request is on its way. Like a failure until the answer comes, and forgotten then.
    pub(super) fn requested(&mut self, now: Instant) {
        self.probation.since = None;
        self.failing.get_or_insert(Failing { since: now });
    }

    /// The API server answered.
    pub(super) fn reached(&mut self) {
        self.failing = None;
        self.dirty |= self.standing.trouble.take().is_some();
    }

    /// The API server has accepted a watch. After one that ended at once this proves nothing: a gateway may accept
    /// every watch and never deliver an event.
    pub(super) fn accepted(&mut self, now: Instant) {
        if self.listing.is_some() || self.held.is_some() {
            return;
        }
        if self.probation.failures == 0 {
            self.lives();
        }
        self.probation.since = Some(now);
    }

    /// Whether lists work, but no watch does: changes arrive with the next list at best.
    pub(super) fn watch_fails(&self) -> bool {
        match self.standing.state {
            SourceState::Forbidden { verb: "watch", .. } => true,
            SourceState::Stale { .. } => self.probation.failures > 1,
            _ => false,
        }
    }

    /// A watch has ended. One that has shown nothing counts as a failure that goes on.
    fn interrupted(&mut self, now: Instant) {
        if self.probation.since.take().is_some() {
            self.probation.failures += 1;
            self.failing.get_or_insert(Failing { since: now });
        }
    }

    /// A watch event came: the watch works.
    pub(super) fn lives(&mut self) {
        self.probation = Probation::default();
        self.reached();
        if self.standing.bootstrapped {
            self.enter(SourceState::Live);
        }
    }

    /// Something that consumers can see has changed.
    pub(super) fn change(&mut self) {
        self.standing.revision += 1;
        self.dirty = true;
    }

    /// Something of an object has changed, be it its version alone.
    pub(super) fn touch(&mut self, name: &ObjectName) {
        self.dirty = true;
        if let Touched::Names(names) = &mut self.touched {
            names.push(name.clone());
        }
    }

    /// Changes the state and publishes it once.
    pub(super) fn enter(&mut self, state: SourceState) {
        if self.standing.state == state {
            return;
        }
        self.metrics.state(&state);
        self.standing.state = state;
        self.change();
    }

    /// A list starts.
    pub(super) fn begins_list(&mut self, now: Instant) {
        if !matches!(self.standing.state, SourceState::Live | SourceState::Resyncing) {
            self.doubt();
        }
        self.begin(now);
        // From a state of trouble a list is only an attempt: its first answer decides.
        match self.standing.state {
            SourceState::Pending => self.enter(SourceState::Listing),
            SourceState::Live => self.enter(SourceState::Resyncing),
            _ => {}
        }
    }

    pub(super) fn begin(&mut self, begun: Instant) {
        self.probation.since = None;
        self.version = None;
        self.listing = Some(begun);
        self.guard.reset();
    }

    /// An object of a list came.
    pub(super) fn lists(&mut self) {
        match self.standing.state {
            SourceState::Listing | SourceState::Resyncing => self.reached(),
            // It is the watch that fails, and that is still to be tried.
            _ if self.watch_fails() => {}
            _ => {
                self.reached();
                let again = self.standing.bootstrapped;
                let state = if again { SourceState::Resyncing } else { SourceState::Listing };
                self.enter(state);
            }
        }
    }

    /// The whole list is there, which was begun at `begun`, and its losses were judged.
    pub(super) fn ends_list(&mut self, begun: Instant) -> Option<Command> {
        self.watched = None;
        self.standing.bootstrapped = true;
        self.metrics.withheld_deletions(self.held.as_ref().map_or(0, BTreeSet::len));
        if self.held.is_some() {
            self.reached();
            self.enter(SourceState::Resyncing);
            return Some(Command::Confirm);
        }
        self.standing.listed = Some(begun);
        // A watch that failed before fails until one works.
        if self.watch_fails() {
            self.change();
            return None;
        }
        self.reached();
        self.enter(SourceState::Live);
        None
    }

    /// Splits the losses of a complete list, of a view of `present` objects: into what may go, and what must wait for another list.
    ///
    /// What two lists in a row lack goes. What is new in the second list's losses is judged like
    /// the losses of a first one.
    pub(super) fn judge(
        &mut self,
        losses: BTreeSet<(ObjectName, Uid)>,
        present: usize,
    ) -> BTreeSet<(ObjectName, Uid)> {
        let expected = self.held.take().unwrap_or_default();
        let (mut go, new): (BTreeSet<_>, BTreeSet<_>) =
            losses.into_iter().partition(|loss| expected.contains(loss));
        let too_many = self.config.mass_deletion.exceeded_by(new.len(), present);
        let wait = too_many || (self.suspicious && !new.is_empty());
        self.suspicious = false;
        if wait {
            self.held = Some(new);
        } else {
            go.extend(new);
        }
        go
    }
}
