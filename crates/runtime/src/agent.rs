//! An agent put together: what both agents do the same way, in the order that matters.
//!
//! Logging, metrics and the admin server come first, so that a probe shows what is waited for while
//! credentials are missing or no API server can be reached. Then the clients, the watches that the
//! added controllers read, the writer, and one task per controller.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fleet_accumulator::{Accumulator, ClusterId, Config, Feeds, Snapshot, SourceSet};
use fleet_plan::Controller;
use prometheus::Registry;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::field;

use crate::admin::{AdminError, AdminServer, Probes};
use crate::args::{LeaseArgs, RuntimeArgs, Unsupported};
use crate::blocked;
use crate::clients::ClientSet;
use crate::clock::{BootClock, Clock};
use crate::engine::{Options, Wiring, run_controller};
use crate::events::{EventSink, QUIET};
use crate::lease::{Candidate, LeaseSettings, Notes, TimingError};
use crate::lifecycle::Lifecycle;
use crate::logging::{LogError, LogWriter, end_on_panic, init_logging};
use crate::metrics::{LeaseMetrics, Metrics};
use crate::term_waits::TermWaits;
use crate::traces::{BadEndpoint, Delivery, DeliveryError, Endpoint, Origin, Tracer};
use crate::writer::{WriteGate, Writer, WriterSettings};

/// Why an agent cannot start, in one line.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The log filter.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The addresses of the admin server.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// A flag of the original that asks for too much.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The times of the leader election.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// Listening for signals.
    #[error("signals: {0}")]
    Signals(#[from] std::io::Error),
    /// Where traces are to be sent.
    #[error(transparent)]
    Endpoint(#[from] BadEndpoint),
    /// How traces are to be sent.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// Metrics that exist twice.
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
}

/// How long a cluster may not answer before the agent reports that it is not ready.
const SILENCE: Duration = Duration::from_mins(1);

/// How long it may take to give the Lease back once the last write was answered.
const RELEASED_WITHIN: Duration = Duration::from_secs(3);

type Blocking = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// What keeps the agent from being ready; the start itself until the watches exist.
#[derive(Clone, Default)]
struct Readiness(Arc<OnceLock<Blocking>>);

impl Readiness {
    fn blocking(&self) -> Vec<String> {
        let starting = || vec!["the clusters are not connected yet".to_owned()];
        self.0.get().map_or_else(starting, |blocking| blocking())
    }
}

/// What keeps one controller from planning.
type Obstacle<S> = Box<dyn Fn(&S) -> Option<String> + Send + Sync>;

/// Starts one controller of an agent that is connected.
type Starter<S> = Box<dyn FnOnce(&mut Connected<S>) + Send>;

/// An agent that answers probes and does not yet talk to any cluster; controllers can be added.
pub struct Agent<S> {
    name: &'static str,
    args: RuntimeArgs,
    life: Lifecycle,
    metrics: Metrics,
    /// Writes the log of the process; `None` for one of many agents.
    log: Option<LogWriter>,
    readiness: Readiness,
    /// Controllers that lead and wait for lists.
    waits: TermWaits,
    lease: Option<LeaseSettings>,
    notes: Option<Notes>,
    /// Where traces are sent, and the sender that they name.
    traces: Option<(Endpoint, Origin)>,
    /// The sources that the added controllers read.
    reads: SourceSet,
    /// The sources that they require.
    required: SourceSet,
    /// One for each added controller, and others.
    obstacles: Vec<Obstacle<S>>,
    /// One for each added controller.
    starters: Vec<Starter<S>>,
    /// The controllers that run; the last write was answered when they have ended.
    running: TaskTracker,
}

impl<S: Snapshot> Agent<S> {
    /// Starts logging, metrics and the admin server.
    ///
    /// # Errors
    /// One line that names the flag.
    pub async fn start(
        name: &'static str,
        version: &'static str,
        args: RuntimeArgs,
    ) -> Result<Self, StartError> {
        let log = init_logging(args.log_level.as_deref())?;
        end_on_panic();
        let without_effect = args.legacy_flags.without_effect()?;
        let mut agent = Self::within(name, version, args)?;
        agent.life.listen()?;
        agent.log = Some(log);
        let (asked, watchdog) = (agent.readiness.clone(), agent.life.watchdog());
        watchdog.write_down_stalls();
        let registry = agent.registry().clone();
        let probes = Probes::new(move || asked.blocking(), move || watchdog.wedged());
        let admin = AdminServer::bind(&agent.args.addresses(), registry, probes).await?;
        log_start(name, version, &agent.args);
        if !without_effect.is_empty() {
            tracing::warn!(flags = ?without_effect, "Flags without effect");
        }
        let token = agent.life.token();
        agent.life.spawn("admin server", admin.run(token));
        Ok(agent)
    }

    /// One of many agents of a process: it answers no probes, and leaves logging to the process.
    ///
    /// # Errors
    /// One line that names the flag.
    pub fn within(
        name: &'static str,
        version: &'static str,
        args: RuntimeArgs,
    ) -> Result<Self, StartError> {
        let endpoint = Endpoint::parse(args.otlp_endpoint.as_deref().unwrap_or_default())?;
        let traces = endpoint.map(|to| (to, Origin { agent: name, version, cluster: None }));
        let lease = lease_settings(name, &args.lease)?;
        let metrics = Metrics::new(name, version)?;
        let mut life = Lifecycle::new();
        life.drain_for(args.lease.write_timeout + RELEASED_WITHIN);
        Ok(Self {
            name,
            args,
            life,
            metrics,
            log: None,
            readiness: Readiness::default(),
            waits: TermWaits::default(),
            lease,
            notes: None,
            traces,
            reads: SourceSet::EMPTY,
            required: SourceSet::EMPTY,
            obstacles: Vec::new(),
            starters: Vec::new(),
            running: TaskTracker::new(),
        })
    }

    /// Sets the cluster that traces name as this agent's.
    #[must_use]
    pub fn of_cluster(mut self, name: &str) -> Self {
        if let Some((_, origin)) = &mut self.traces {
            origin.cluster = Some(name.to_owned());
        }
        self
    }

    /// Waits for what has to come before [`Self::connect`], such as credentials; `None` if a signal to stop came first.
    pub async fn prepare<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        self.life.prepare(work).await
    }

    /// Where the agent registers metrics of its own.
    pub fn registry(&self) -> &Registry {
        self.metrics.registry()
    }

    /// Adds a controller, which starts when the agent is connected: what it reads is watched, and the
    /// agent is not ready before what it requires was listed, nor while the controller has an obstacle.
    pub fn controller<C: Controller<Snapshot = S>>(&mut self, controller: C, options: Options<C>) {
        self.required = self.required.union(controller.required());
        self.reads = self.reads.union(controller.reads()).union(self.required);
        let controller = Arc::new(controller);
        let watched = Arc::clone(&controller);
        self.obstacles.push(Box::new(move |snapshot| watched.obstacle(snapshot)));
        self.starters.push(Box::new(|connected| connected.start(controller, options)));
    }

    /// Adds a reason why the agent is not ready, which no controller knows. It is asked for at each probe.
    pub fn obstacle(&mut self, reason: impl Fn() -> Option<String> + Send + Sync + 'static) {
        self.obstacles.push(Box::new(move |_| reason()));
    }

    /// Keeps notes in the Lease of the election.
    pub fn keep_notes(&mut self, notes: Notes) {
        self.notes = Some(notes);
    }

    /// Adds sources that are watched for a task that is no controller. The agent is ready without them.
    pub fn watch_also(&mut self, sources: SourceSet) {
        self.reads = self.reads.union(sources);
    }

    /// What the added controllers and tasks read: these sources are watched, and no others.
    pub fn reads(&self) -> SourceSet {
        self.reads
    }

    /// Starts the watches, the election, the writer and the controllers. The first cluster is the
    /// agent's own.
    ///
    /// # Errors
    /// If metrics exist twice.
    pub fn connect(
        mut self,
        clients: &[(ClusterId, ClientSet)],
        config: &Config,
        feeds: &impl Feeds,
    ) -> Result<Connected<S>, StartError> {
        // Before the lists: without an election they belong to the one term that there is.
        let gate = self.stand_for_election(clients.first().map(|(_, own)| own))?;
        let accumulator = self.watch(config, feeds)?;
        let write = || clients.iter().map(|(cluster, set)| (*cluster, set.write.clone()));
        let settings = WriterSettings {
            in_flight: usize::from(self.args.writes_in_flight),
            timeout: self.args.lease.write_timeout,
            ..WriterSettings::new(self.name)
        };
        let writer = Writer::new(write(), settings, gate.clone(), self.metrics.writer());
        let clock = Clock::system();
        let tracer = self.start_traces(clock.clone())?;
        let (events, reporter) =
            EventSink::new(write(), self.name, clock.clone(), self.metrics.events(), QUIET);
        self.life.spawn("events", reporter.run(self.life.token()));

        let Self { life, metrics, log, waits, starters, running, .. } = self;
        let mut connected = Connected {
            life,
            metrics,
            _log: log,
            running,
            gate,
            accumulator,
            writer,
            waits,
            events,
            clock,
            tracer,
        };
        for start in starters {
            start(&mut connected);
        }
        Ok(connected)
    }

    /// Watches what the controllers read. From now on readiness depends on what they require.
    fn watch(&mut self, config: &Config, feeds: &impl Feeds) -> Result<Accumulator<S>, StartError> {
        let (token, watches) = (self.life.token(), TaskTracker::new());
        let tasks = self.life.watchdog().tasks(watches.clone());
        let accumulator = Accumulator::start(config, self.reads, feeds, &token, &tasks);
        accumulator.register_metrics(self.registry())?;
        self.life.spawn("watches", async move {
            token.cancelled().await;
            watches.close();
            watches.wait().await;
        });
        let (required, view, waits) = (self.required, accumulator.clone(), self.waits.clone());
        let obstacles = std::mem::take(&mut self.obstacles);
        let blocking = move || {
            let snapshot = view.snapshot();
            let obstacles: BTreeSet<_> =
                obstacles.iter().filter_map(|obstacle| obstacle(&snapshot)).collect();
            let sources = [view.blocking(required), view.silent(required, SILENCE)];
            let waiting = sources.into_iter().flatten().chain(waits.reasons());
            waiting.chain(obstacles).collect::<Vec<_>>()
        };
        // Set once: an agent connects once.
        let _ = self.readiness.0.set(Box::new(blocking));
        Ok(accumulator)
    }

    /// Traces are delivered until the last write was answered.
    fn start_traces(&mut self, clock: Clock) -> Result<Option<Tracer>, StartError> {
        let Some((endpoint, origin)) = &self.traces else { return Ok(None) };
        let delivery = Delivery::start(endpoint, origin)?;
        let tracer = delivery.tracer(clock);
        let (token, written) = (self.life.token(), self.written());
        self.life.spawn("traces", async move {
            token.cancelled().await;
            delivery.finish(written).await;
        });
        Ok(Some(tracer))
    }

    /// Ends when all controllers have; none is added any more.
    fn written(&self) -> impl Future<Output = ()> + use<S> {
        let running = self.running.clone();
        async move {
            running.close();
            running.wait().await;
        }
    }

    /// A gate that is open while this process leads, or always if there is no election.
    fn stand_for_election(&mut self, own: Option<&ClientSet>) -> Result<WriteGate, StartError> {
        let metrics = LeaseMetrics::register(self.registry())?;
        let notes = self.notes.take();
        let (Some(settings), Some(own)) = (&self.lease, own) else {
            notes.into_iter().for_each(Notes::without_election);
            return Ok(WriteGate::open());
        };
        let clock = BootClock::system();
        let gate = WriteGate::closed(clock.clone());
        let candidate = Candidate::new(settings, own.lease.clone(), gate.clone(), clock, metrics);
        let candidate = match notes {
            Some(notes) => candidate.noted(notes),
            None => candidate,
        };
        let token = self.life.token();
        let written = self.written();
        self.life.spawn("lease", candidate.run(token, written));
        Ok(gate)
    }
}

/// What to stand for; `None` without an election.
fn lease_settings(
    agent: &'static str,
    args: &LeaseArgs,
) -> Result<Option<LeaseSettings>, TimingError> {
    let namespace = args.leader_election_namespace.clone();
    let settings = |timing| LeaseSettings { agent, namespace, timing };
    Ok(args.timing()?.map(settings))
}

/// Logs which agent starts, and the settings of its process by the names of their flags.
fn log_start(agent: &str, version: &str, args: &RuntimeArgs) {
    let (lease, kubeconfig) = (&args.lease, args.kubeconfig.as_deref());
    tracing::info!(
        agent,
        version,
        metrics_bind_address = args.metrics_bind_address,
        health_probe_bind_address = args.health_probe_bind_address,
        log_level = args.log_level,
        otlp_endpoint = args.otlp_endpoint,
        writes_in_flight = args.writes_in_flight,
        watch_timeout = ?Duration::from_secs(args.watch_timeout.into()),
        relist_interval = ?args.relist_interval,
        leader_elect = lease.leader_elect,
        leader_election_namespace = lease.leader_election_namespace,
        leader_election_lease_duration = ?lease.leader_election_lease_duration,
        leader_election_renew_deadline = ?lease.leader_election_renew_deadline,
        leader_election_retry_period = ?lease.leader_election_retry_period,
        write_timeout = ?lease.write_timeout,
        kubeconfig = kubeconfig.map(|path| field::display(path.display())),
        "Started"
    );
}

/// An agent that watches its clusters, with its controllers.
pub struct Connected<S> {
    life: Lifecycle,
    metrics: Metrics,
    /// Until the end.
    _log: Option<LogWriter>,
    running: TaskTracker,
    /// Open while this process may write.
    gate: WriteGate,
    accumulator: Accumulator<S>,
    writer: Writer,
    waits: TermWaits,
    events: EventSink,
    clock: Clock,
    tracer: Option<Tracer>,
}

impl<S: Snapshot> Connected<S> {
    /// Starts a controller, and what reports that it is blocked.
    fn start<C: Controller<Snapshot = S>>(&mut self, controller: Arc<C>, options: Options<C>) {
        let name = controller.name();
        let reporter = blocked::report(
            Arc::clone(&controller),
            self.accumulator.clone(),
            self.writer.clone(),
            self.waits.clone(),
            self.events.clone(),
            self.life.token(),
        );
        self.life.spawn("blocked reporter", reporter);
        let wiring = Wiring {
            accumulator: self.accumulator.clone(),
            writer: self.writer.clone(),
            events: self.events.clone(),
            clock: self.clock.clone(),
            metrics: self.metrics.controller(name),
            tracer: self.tracer.clone(),
            work_queue: options.queue_name.map(|name| self.metrics.work_queue(name)),
            waits: self.waits.clone(),
            cancel: self.life.token(),
        };
        let task = self.running.track_future(run_controller(controller, wiring, options));
        self.life.spawn(name, task);
    }

    /// Adds a task that is no controller. It gets the gate that is open while this process may write, and the token that is
    /// cancelled when it has to end. The Lease is given back only after that.
    pub fn task<F>(
        &mut self,
        name: &'static str,
        task: impl FnOnce(WriteGate, CancellationToken) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let task = task(self.gate.clone(), self.life.token());
        let task = self.running.track_future(task);
        self.life.spawn(name, task);
    }

    /// What the agent sees of its clusters.
    pub fn accumulator(&self) -> &Accumulator<S> {
        &self.accumulator
    }

    /// Where the agent registers metrics of its own.
    pub fn registry(&self) -> &Registry {
        self.metrics.registry()
    }

    /// Runs until a signal or until a task ends.
    pub async fn run(self) -> ExitCode {
        self.life.run().await
    }

    /// Runs until `stop` or until a task ends; for one of many agents of a process.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> ExitCode {
        self.life.run_until(stop).await
    }
}
