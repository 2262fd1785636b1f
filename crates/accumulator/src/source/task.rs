//! The task of one source: reads the events, asks when it must, starts over when that is the only
//! way out.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::sync::mpsc;

use super::course::{Command, Course};
use super::error::{Class, Failure};
use super::feed::{Discovered, ReadOptions, WatchError};
use super::refresh::Refresh;
use super::typed::{Read, Source};
use super::update::Update;
use crate::config::Config;
use crate::metrics::{Reason, SourceMetrics};
use crate::time::now;
use crate::{SourceInfo, SourceState};

/// Events that are put into one update at most, if they are there already. Nothing is waited for.
const BATCH: usize = 64;
/// A source that was well for so long starts with short pauses again.
const WELL_AFTER: Duration = Duration::from_secs(10);
/// A watch that ends sooner is not resumed at once: the next one may end as soon.
const SHORT_LIVED: Duration = Duration::from_secs(1);
/// Pause before a watch that has ended is resumed.
const RESUME_AFTER: Duration = Duration::from_millis(20);
/// The same where the connection was lost, and with it those of many others: each asks the API server for its newest version then.
const LOST_AFTER: Duration = Duration::from_millis(500);
/// How long discovery may take.
const ASK_WITHIN: Duration = Duration::from_secs(10);
/// How long the question which cluster this is may delay the first list.
const IDENTIFY_WITHIN: Duration = Duration::from_secs(2);
/// How long a list may make no progress.
const LIST_WITHIN: Duration = Duration::from_mins(1);

fn backoff(config: &Config) -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(800).min(config.max_backoff))
        .with_max_delay(config.max_backoff)
        .without_max_times()
        .build()
}

pub(crate) struct Task<S> {
    info: SourceInfo,
    config: Config,
    options: ReadOptions,
    source: Box<dyn Source<S>>,
    metrics: SourceMetrics,
    outbox: mpsc::Sender<Update<S>>,
    /// When lists of the cluster are to be repeated.
    refresh: Refresh,
    /// Since when the API server may be one of another time: a request failed, a connection was lost, or lists were asked for.
    doubtful: Option<Instant>,
    published: Published,
    backoff: ExponentialBackoff,
    /// Since when it runs: lists that were asked for before are the first ones.
    begun: Instant,
    /// Since when there was no failure.
    well_since: Option<Instant>,
    /// When the stream was opened.
    opened_at: Instant,
    /// When everything is listed again.
    relist_at: Instant,
    identity: Option<String>,
}

/// What of the view the owner has.
struct Published {
    revision: u64,
    state: SourceState,
}

/// The owner is gone: nothing is left to do.
struct Closed;

/// Waits for a moment, or for ever.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

/// Reads on in the stream of a source.
async fn read_on<S>(source: &mut dyn Source<S>) -> Read {
    poll_fn(|context| source.poll_read(context)).await
}

/// `duration`, give or take a fifth, so that many agents do not ask in step.
fn jittered(duration: Duration) -> Duration {
    duration.mul_f64(0.8 + 0.4 * fastrand::f64())
}

/// From half of `duration` to half more: sources that failed together do not try again together. So one of them soon notices that
/// the API server is back, and wakes the others; and agents of many members do not come back at once.
fn scattered(duration: Duration) -> Duration {
    duration.mul_f64(0.5 + fastrand::f64())
}

impl<S: 'static> Task<S> {
    pub(crate) fn new(
        info: SourceInfo,
        source: Box<dyn Source<S>>,
        config: Config,
        metrics: SourceMetrics,
        outbox: mpsc::Sender<Update<S>>,
        refresh: Refresh,
    ) -> Self {
        Self {
            options: ReadOptions { page_size: config.page_size, decoding: metrics.decoding() },
            info,
            backoff: backoff(&config),
            config,
            source,
            metrics,
            outbox,
            refresh,
            doubtful: None,
            published: Published { revision: 0, state: SourceState::Pending },
            begun: now(),
            well_since: None,
            opened_at: now(),
            relist_at: now(),
            identity: None,
        }
    }

    fn course(&mut self) -> &mut Course {
        self.source.course_mut()
    }

    fn state(&self) -> &SourceState {
        &self.source.course().standing().state
    }

    /// Runs until the owner is gone. Cancelling is dropping.
    pub(crate) async fn run(mut self) {
        self.identity = self.ask_identity().await;
        while self.turn().await.is_ok() {}
    }

    /// Reads one stream, and does what its end asks for.
    async fn turn(&mut self) -> Result<(), Closed> {
        let command = self.follow().await;
        self.source.close();
        let mut command = command?;
        if command == Command::Discover {
            command = self.check_missing().await?;
        }
        match command {
            Command::Confirm => {
                let (cluster, kind) = (self.info.cluster.as_str(), self.info.kind.label());
                let object_count = self.source.object_count();
                tracing::warn!(cluster, kind, object_count, "Many objects disappeared at once");
                tokio::time::sleep(self.config.mass_deletion.confirm_after).await;
            }
            Command::Recheck => self.await_served().await?,
            Command::Resume => self.resume().await?,
            Command::Relist => self.course().relist(),
            Command::Refresh => self.course().refresh(),
            Command::GoOn => {}
            Command::Retry | Command::Discover => self.pause().await?,
        }
        // After so long only a list shows what is there, and in which cluster.
        if self.is_stale() {
            self.course().relist();
            self.check_identity().await;
        }
        Ok(())
    }

    /// Reads one stream to the point where another one is needed.
    async fn follow(&mut self) -> Result<Command, Closed> {
        let since = self.refresh.since();
        let is_due = !self.course().is_listed_since(since);
        let is_demanded = is_due && since > self.begun;
        if is_due {
            self.course().relist();
            // A new term of a leader, or an API server that may be another one: what is here may be old.
            self.course().doubt();
            // At once: the list may take long, and a controller may plan meanwhile.
            self.publish(now()).await?;
            self.doubtful.get_or_insert(since);
        }
        if let Some(command) = self.check_time().await? {
            return Ok(command);
        }
        self.opened_at = now();
        self.refresh.tries();
        let opened_at = self.opened_at;
        self.course().opens(opened_at);
        if self.course().version().is_none() {
            self.relist_at = now() + jittered(self.config.relist_every);
        }
        self.source.open(&self.options);
        loop {
            let course = self.source.course();
            if course.version().is_some() && !course.is_listed_since(self.refresh.latest()) {
                return Ok(Command::Relist);
            }
            let is_live = course.standing().state.is_live();
            let list_by = course.is_listing().then(|| now() + LIST_WITHIN);
            let (stale_at, proven_at) = (course.stale_at(), course.proven_at());
            let (settled_at, calm_at) = (course.settled_at(), course.calm_at());
            let read = tokio::select! {
                biased;
                read = read_on(&mut *self.source) => read,
                () = at(stale_at) => {
                    if self.course().is_refreshing() {
                        return self.give_up_list().await;
                    }
                    self.course().unreachable(now());
                    self.publish(now()).await?;
                    if self.course().is_listing() {
                        continue;
                    }
                    return Ok(Command::Relist);
                }
                () = at(proven_at) => {
                    self.course().proven(now());
                    self.publish(now()).await?;
                    continue;
                }
                () = at(settled_at) => {
                    self.course().settled();
                    self.publish(now()).await?;
                    continue;
                }
                () = at(calm_at) => {
                    self.course().calmed();
                    self.publish(now()).await?;
                    continue;
                }
                // No event reports that another one was lost.
                () = at(is_live.then_some(self.relist_at)) => return Ok(Command::Refresh),
                () = at(list_by) => return self.give_up_list().await,
                since = self.refresh.changed() => {
                    // A list that was demanded is read to its end, however soon the next one is: with each begun anew, none
                    // would end.
                    if is_demanded || self.course().is_listed_since(since) {
                        continue;
                    }
                    return Ok(Command::Relist);
                }
            };
            let received = now();
            let mut ends_turn = read == Read::Progress;
            let mut command = self.take(read, received).await?;
            for _ in 1..BATCH {
                if command.is_some() || ends_turn {
                    break;
                }
                let Poll::Ready(read) = futures::poll!(pin!(read_on(&mut *self.source))) else {
                    break;
                };
                ends_turn = read == Read::Progress;
                command = self.take(read, received).await?;
            }
            self.publish(received).await?;
            if let Some(command) = command {
                return Ok(command);
            }
            if ends_turn {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Before a watch continues: an API server that went back in time is silent until it has reached the version again, and what it
    /// has written by then is missed.
    async fn check_time(&mut self) -> Result<Option<Command>, Closed> {
        if self.course().version().is_none() || self.doubtful.is_none() {
            return Ok(None);
        }
        let asked = tokio::time::timeout(ASK_WITHIN, self.source.newest()).await;
        let silent = || kube::Error::Service("no answer in time".into());
        match asked.unwrap_or_else(|_| Err(silent())) {
            Ok(newest) => {
                if let Some(newest) = newest {
                    if newest.is_another {
                        self.report_other_server();
                    }
                    self.source.meets(&newest);
                    // At once: the list may take long.
                    self.publish(now()).await?;
                }
                Ok(None)
            }
            Err(error) => {
                let failure = Failure::from(&WatchError::List(error));
                let command = self.course().failed(&failure, now());
                self.publish(now()).await?;
                Ok(Some(command))
            }
        }
    }

    async fn give_up_list(&mut self) -> Result<Command, Closed> {
        let failure = Failure::new(Class::Failed, "the list makes no progress");
        let command = self.course().failed(&failure, now());
        self.publish(now()).await?;
        Ok(command)
    }

    fn is_stale(&self) -> bool {
        matches!(self.state(), SourceState::Stale { .. })
    }

    /// Takes what was read.
    async fn take(&mut self, read: Read, received: Instant) -> Result<Option<Command>, Closed> {
        // An API server that ends a watch early may be going, and another one of another time listen at once where it did.
        let is_due = received.duration_since(self.opened_at) >= self.source.ends_after();
        let is_usual_end = read == Read::End && is_due;
        let command = self.handle(read, received).await?;
        if command.is_some() {
            if command == Some(Command::Resume) && !is_usual_end {
                self.doubtful.get_or_insert(received);
            }
            let well = self.well_since.take();
            if well.is_some_and(|since| received.duration_since(since) >= WELL_AFTER) {
                self.backoff = backoff(&self.config);
            }
        } else if self.state().is_live() {
            self.well_since.get_or_insert(received);
            self.doubtful = None;
        }
        Ok(command)
    }

    async fn handle(&mut self, read: Read, received: Instant) -> Result<Option<Command>, Closed> {
        if self.source.must_confirm(received) {
            // What came before does not wait for the answer.
            self.publish(received).await?;
            if let Some(command) = self.confirm_deletions().await? {
                return Ok(Some(command));
            }
        }
        if read == Read::ServerChanged {
            self.report_other_server();
        }
        let command = self.source.take(received);
        if self.course().take_went_back() {
            self.report_older_state();
        }
        Ok(command)
    }

    /// Hands the view to the owner if it differs from the one it has.
    async fn publish(&mut self, received: Instant) -> Result<(), Closed> {
        self.metrics.received(received, self.source.object_count());
        let standing = self.source.course().standing();
        let (state, revision) = (standing.state.clone(), standing.revision);
        let Some(touched) = self.course().take_changes() else { return Ok(()) };
        let reason = if state != self.published.state {
            self.log(&state);
            if state.follows() && !self.published.state.follows() {
                self.refresh.find();
            }
            Reason::State
        } else if revision != self.published.revision {
            Reason::Content
        } else {
            Reason::Version
        };
        self.published = Published { revision, state };
        let install = self.source.install();
        let update = Update { source: self.info.id, received, reason, touched, install };
        self.outbox.send(update).await.map_err(|_| Closed)
    }

    fn report_other_server(&self) {
        let (cluster, kind) = (self.info.cluster.as_str(), self.info.kind.label());
        tracing::warn!(cluster, kind, "Another API server answers, nothing is deleted for now");
    }

    /// The other sources of the cluster have the same to find out, unless one of them has asked for that already.
    fn report_older_state(&mut self) {
        let (cluster, kind) = (self.info.cluster.as_str(), self.info.kind.label());
        tracing::warn!(cluster, kind, "API server went back in time, nothing is deleted for now");
        let asked = self.refresh.latest();
        if self.doubtful.is_none_or(|since| asked < since) {
            self.refresh.demand(self.opened_at);
        }
    }

    fn log(&self, state: &SourceState) {
        let (cluster, kind) = (self.info.cluster.as_str(), self.info.kind.label());
        let count = self.source.object_count();
        match state {
            SourceState::Stale { message, .. } => {
                tracing::warn!(cluster, kind, error = %message, "Source is stale");
            }
            SourceState::Forbidden { verb, message, .. } if self.info.optional => {
                tracing::warn!(cluster, kind, verb, error = %message, "Optional kind is forbidden");
            }
            SourceState::Forbidden { verb, message, .. } => {
                tracing::error!(cluster, kind, verb, error = %message, "Source is forbidden");
            }
            SourceState::Missing { .. } if self.info.optional => {
                tracing::info!(cluster, kind, "Optional kind is not served");
            }
            SourceState::Missing { .. } => tracing::warn!(cluster, kind, "Kind is not served"),
            state => {
                tracing::info!(cluster, kind, %state, object_count = count, "Source state changed");
            }
        }
    }

    /// Waits before the next attempt. It is known that there is no connection meanwhile, so the
    /// source may become stale.
    async fn pause(&mut self) -> Result<(), Closed> {
        let (delay, hurries) = self.next_pause();
        self.pause_for(delay, hurries).await
    }

    /// How long to wait before the next attempt, and whether that may end early: not where the API server has asked for it.
    fn next_pause(&mut self) -> (Duration, bool) {
        self.doubtful.get_or_insert_with(now);
        let delay = scattered(self.backoff.next().unwrap_or(self.config.max_backoff));
        let delay = if self.is_spared() { jittered(self.config.recheck_optional) } else { delay };
        let asked = self.course().take_retry_after();
        (delay.max(asked.unwrap_or_default()), asked.is_none())
    }

    /// Whether the agent does without the source, and has for a while: asking for it all the time would only cost the API
    /// server, and one that has just started may refuse what it allows later.
    fn is_spared(&self) -> bool {
        let standing = self.source.course().standing();
        let (SourceState::Forbidden { since, .. } | SourceState::Missing { since }) =
            &standing.state
        else {
            return false;
        };
        let is_old = now().duration_since(*since) >= self.config.recheck_optional;
        self.info.optional && !standing.bootstrapped && is_old
    }

    /// Waits for so long, or with `hurries` until lists are asked for or another source of the cluster gets through again.
    async fn pause_for(&mut self, delay: Duration, hurries: bool) -> Result<(), Closed> {
        let until = tokio::time::Instant::now() + delay;
        if let Some(stale_at) = self.course().stale_at()
            && stale_at < until.into_std()
        {
            tokio::time::sleep_until(stale_at.into()).await;
            self.course().unreachable(now());
            self.publish(now()).await?;
        }
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            () = self.refresh.asked(), if hurries => {}
        }
        Ok(())
    }

    /// Waits a moment before a watch that has ended is resumed.
    async fn resume(&mut self) -> Result<(), Closed> {
        if now().duration_since(self.opened_at) < SHORT_LIVED {
            return self.pause().await;
        }
        let is_lost = self.doubtful.is_some();
        let delay = if is_lost { scattered(LOST_AFTER) } else { jittered(RESUME_AFTER) };
        self.pause_for(delay, false).await
    }

    async fn discover(&mut self) -> Result<Discovered, Failure> {
        let answer = tokio::time::timeout(ASK_WITHIN, self.source.discover()).await;
        let silent = || Failure::new(Class::Failed, "discovery did not answer");
        answer.map_err(|_| silent())?.map_err(Failure::from)
    }

    /// Many deletions came at once. `None` if they are to be believed.
    async fn confirm_deletions(&mut self) -> Result<Option<Command>, Closed> {
        loop {
            let asked = now();
            match self.discover().await {
                Ok(Discovered::Served) => {
                    self.course().release(now());
                    return Ok(None);
                }
                Ok(Discovered::Terminating | Discovered::Absent) => {
                    let command = self.course().missing(asked);
                    self.publish(now()).await?;
                    return Ok(Some(command));
                }
                Err(failure) => {
                    self.course().undiscovered(&failure, asked);
                    self.publish(now()).await?;
                    // A list that is asked for meanwhile is begun by what reads this stream.
                    let (delay, _) = self.next_pause();
                    self.pause_for(delay, false).await?;
                }
            }
        }
    }

    /// The API server answered "not found". Either the kind is missing, or that is a failure like
    /// others.
    async fn check_missing(&mut self) -> Result<Command, Closed> {
        let mut asked = now();
        let mut answer = self.discover().await;
        if self.doubts_absence() && matches!(answer, Ok(Discovered::Absent)) {
            tokio::time::sleep(self.config.absent_after).await;
            asked = now();
            answer = self.discover().await;
        }
        let command = match answer {
            Ok(Discovered::Absent) => self.course().missing(asked),
            Ok(Discovered::Served | Discovered::Terminating) => {
                let message = "not found, though discovery lists the kind";
                self.course().trouble(&Failure::new(Class::NotFound, message), now());
                Command::Retry
            }
            Err(failure) => {
                self.course().undiscovered(&failure, asked);
                Command::Retry
            }
        };
        self.course().unreachable(now());
        self.publish(now()).await?;
        Ok(command)
    }

    /// Whether consumers go on without the kind as soon as it is known not to be served.
    fn doubts_absence(&self) -> bool {
        self.info.optional
            && !self.source.course().is_missing()
            && !self.config.absent_after.is_zero()
    }

    /// Waits until the kind is served. While discovery is forbidden this is not known, and a list proves nothing: it is
    /// empty, too, while the definition of the kind is being deleted. Asks at once where lists are asked for, or another source
    /// gets through, unless the API server has asked for a pause.
    async fn await_served(&mut self) -> Result<(), Closed> {
        let mut answered = true;
        let mut pause = Duration::ZERO;
        loop {
            let config = &self.config;
            let rarely = answered && self.is_spared();
            let every = if rarely { config.recheck_optional } else { config.recheck_required };
            tokio::select! {
                () = tokio::time::sleep(scattered(every).max(pause)) => {}
                () = self.refresh.asked(), if pause.is_zero() => {}
                () = self.outbox.closed() => return Err(Closed),
            }
            pause = Duration::ZERO;
            let asked = now();
            let answer = self.discover().await;
            answered = answer.is_ok();
            match answer {
                Ok(Discovered::Served) => return Ok(()),
                Ok(Discovered::Terminating | Discovered::Absent) => {
                    self.course().missing(asked);
                }
                Err(failure) => {
                    pause = failure.retry_after.unwrap_or_default();
                    if matches!(failure.class, Class::Forbidden(_)) {
                        self.course().undiscovered(&failure, asked);
                    }
                }
            }
            self.publish(now()).await?;
        }
    }

    async fn ask_identity(&mut self) -> Option<String> {
        tokio::time::timeout(IDENTIFY_WITHIN, self.source.identity()).await.ok().flatten()
    }

    /// After a time without contact, the address may lead to another cluster.
    async fn check_identity(&mut self) {
        let Some(identity) = self.ask_identity().await else { return };
        let known = self.identity.replace(identity);
        if known.is_some() && known != self.identity {
            let cluster = self.info.cluster.as_str();
            tracing::error!(
                cluster,
                source = self.info.field,
                "API server belongs to a different cluster"
            );
            self.course().suspect();
        }
    }
}
