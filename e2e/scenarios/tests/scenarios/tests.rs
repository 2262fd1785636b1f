//! The list of scenarios, and how one is run.

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use fleet_oracle::Recording;
use fleet_testbed::agents::Agents;
use futures::FutureExt;
use futures::future::join_all;
use libtest_mimic::{Arguments, Failed, Trial};
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::sync::{OnceCell, Semaphore};

use crate::stage::Stage;

/// A fleet that is started by the first scenario that needs it, so that `--list` needs none.
struct SharedTestbed {
    name: &'static str,
    members: usize,
    /// Whether the oracle judges what happens in it.
    judged: bool,
    stage: OnceCell<Result<Stage, String>>,
}

impl SharedTestbed {
    fn new(name: &'static str, members: usize) -> Self {
        Self { name, members, judged: true, stage: OnceCell::new() }
    }

    /// One in which something happens that no record of it shows.
    fn unjudged(name: &'static str, members: usize) -> Self {
        Self { judged: false, ..Self::new(name, members) }
    }

    async fn stage(&self) -> Result<&Stage> {
        let start = async || {
            let stage = Stage::start(self.members, self.judged).await;
            stage.map_err(|error| format!("{error:#}"))
        };
        let stage = self.stage.get_or_init(start).await;
        stage.as_ref().map_err(|error| anyhow!("the fleet could not be started: {error}"))
    }

    /// Leaves the clusters as they were, and judges what was recorded of them.
    async fn close(self) -> Result<Option<Recording>> {
        let Some(Ok(stage)) = self.stage.into_inner() else { return Ok(None) };
        stage.clean().await.context("the clusters are not as they were")?;
        stage.judge(self.name).await.with_context(|| format!("the oracle, of {}", self.name))
    }
}

/// What the scenarios share: one runtime, because the clusters' clients belong to it, and the fleets.
struct Shared {
    // Dropped before the runtime: its connections are tasks there.
    common: SharedTestbed,
    apart: [SharedTestbed; 2],
    restored: SharedTestbed,
    /// Which of those apart are free, and how many.
    free: Mutex<Vec<usize>>,
    turns: Semaphore,
    durations: Mutex<Vec<(String, Duration)>>,
    /// What failed, and why.
    failures: Mutex<Vec<(&'static str, String)>>,
    runtime: Runtime,
}

impl Shared {
    /// Runs one scenario; a failure comes with everything that is there to look at.
    async fn perform(
        &self,
        stage: &Stage,
        name: &str,
        scenario: impl AsyncFnOnce(&Stage) -> Result<()>,
    ) -> Result<()> {
        let begin = Instant::now();
        let result = caught(scenario(stage)).await;
        self.durations.lock().push((name.to_owned(), begin.elapsed()));
        stage.explain_as(&name.replace("::", "."), result).await
    }

    /// [`Self::perform`] without other scenarios on the testbed.
    async fn perform_alone(
        &self,
        testbed: &SharedTestbed,
        name: &str,
        scenario: impl AsyncFnOnce(&Stage, &mut Agents) -> Result<()>,
    ) -> Result<()> {
        let stage = testbed.stage().await?;
        let mut agents = stage.agents().write().await;
        self.perform(stage, name, async |stage: &Stage| {
            stage.mark(format!("begin {name}"));
            let result = caught(scenario(stage, &mut agents)).await;
            // What it ended is there again for the next one, however it went.
            let restored = stage.restore(&mut agents).await;
            stage.mark(format!("end {name}"));
            result.and(restored)
        })
        .await
    }
}

impl Shared {
    /// [`Self::perform_alone`] in whichever of the houses apart is free first.
    async fn perform_apart(
        &self,
        name: &str,
        scenario: impl AsyncFnOnce(&Stage, &mut Agents) -> Result<()>,
    ) -> Result<()> {
        let _turn = self.turns.acquire().await?;
        let number = self.free.lock().pop().context("there is a testbed for each turn")?;
        let result = self.perform_alone(&self.apart[number], name, scenario).await;
        self.free.lock().push(number);
        result
    }
}

/// The scenarios to run.
pub(crate) struct Tests {
    shared: Arc<Shared>,
    trials: Vec<Trial>,
    /// How many scenarios play apart; most of them wait.
    apart: usize,
}

impl Tests {
    pub(crate) fn new() -> Self {
        let runtime = Runtime::new().expect("threads can be started");
        let apart = ["apart", "far apart"].map(|name| SharedTestbed::new(name, 2));
        let shared = Shared {
            common: SharedTestbed::new("common", 3),
            restored: SharedTestbed::unjudged("restored", 2),
            free: Mutex::new((0..apart.len()).rev().collect()),
            turns: Semaphore::new(apart.len()),
            apart,
            durations: Mutex::default(),
            failures: Mutex::default(),
            runtime,
        };
        Self { shared: Arc::new(shared), trials: Vec::new(), apart: 0 }
    }

    /// Adds a scenario that others may run beside.
    pub(crate) fn beside(
        &mut self,
        name: &'static str,
        scenario: impl AsyncFnOnce(&Stage) -> Result<()> + Send + 'static,
    ) {
        self.add(name, async move |shared: &Shared| {
            let stage = shared.common.stage().await?;
            let _others_too = stage.agents().read().await;
            shared
                .perform(stage, name, async |stage: &Stage| {
                    let result = scenario(stage).await;
                    // A server that has ended is a better answer than what came of it.
                    stage.check_alive().await?;
                    result
                })
                .await
        });
    }

    /// Adds a scenario that all others may run beside, those too that must be alone otherwise.
    pub(crate) fn throughout(
        &mut self,
        name: &'static str,
        scenario: impl AsyncFnOnce(&Stage) -> Result<()> + Send + 'static,
    ) {
        self.add(name, async move |shared: &Shared| {
            let stage = shared.common.stage().await?;
            shared.perform(stage, name, scenario).await
        });
    }

    /// Adds a scenario that must be alone with the fleet, and gets hold of the agents.
    pub(crate) fn alone(
        &mut self,
        name: &'static str,
        scenario: impl AsyncFnOnce(&Stage, &mut Agents) -> Result<()> + Send + 'static,
    ) {
        self.add(name, async move |shared: &Shared| {
            shared.perform_alone(&shared.common, name, scenario).await
        });
    }

    /// Adds a scenario that must be alone with a fleet, which is another one of two members: those that do this take
    /// turns with two such fleets, while the others play.
    pub(crate) fn apart(
        &mut self,
        name: &'static str,
        scenario: impl AsyncFnOnce(&Stage, &mut Agents) -> Result<()> + Send + 'static,
    ) {
        self.apart += 1;
        self.add(name, async move |shared: &Shared| shared.perform_apart(name, scenario).await);
    }

    /// Adds a scenario in which something happens that no record shows, as when the servers of a cluster go back in time. Those
    /// that do this take turns with a fleet of two members.
    pub(crate) fn unjudged(
        &mut self,
        name: &'static str,
        scenario: impl AsyncFnOnce(&Stage, &mut Agents) -> Result<()> + Send + 'static,
    ) {
        self.apart += 1;
        self.add(name, async move |shared: &Shared| {
            shared.perform_alone(&shared.restored, name, scenario).await
        });
    }

    fn add(
        &mut self,
        name: &'static str,
        scenario: impl AsyncFnOnce(&Shared) -> Result<()> + Send + 'static,
    ) {
        let shared = Arc::clone(&self.shared);
        let run = move || {
            shared.runtime.block_on(scenario(&shared)).map_err(|error| {
                let why = format!("{error:#}");
                shared.failures.lock().push((name, why.clone()));
                Failed::from(why)
            })
        };
        self.trials.push(Trial::test(name, run));
    }

    /// Runs what the arguments ask for, `side_by_side` at a time by default, stops the fleets, and prints
    /// how long each scenario took. What failed is printed last, where the end of a long log shows it.
    pub(crate) fn run(self, mut arguments: Arguments, side_by_side: usize) -> ExitCode {
        arguments.test_threads.get_or_insert(side_by_side + self.apart);
        let count = self.trials.len();
        let trials = select(self.trials, &mut arguments);
        let all = trials.len() == count;
        let conclusion = libtest_mimic::run(&arguments, trials);
        let all = all && conclusion.num_filtered_out == 0 && conclusion.num_passed > 0;
        for (name, duration) in self.shared.durations.lock().iter() {
            eprintln!("{:7.1} s  {name}", duration.as_secs_f64());
        }
        // Nothing else holds it: all scenarios have ended.
        let Some(shared) = Arc::into_inner(self.shared) else { return ExitCode::FAILURE };
        let Shared { common, apart, restored, runtime, failures, .. } = shared;
        let houses = [common, restored].into_iter().chain(apart);
        let closed = runtime.block_on(close(houses, all));
        for (name, why) in failures.into_inner() {
            eprintln!("FAILED {name}: {why}");
        }
        match closed {
            Ok(()) => conclusion.exit_code(),
            Err(error) => {
                eprintln!("{error:#}");
                ExitCode::FAILURE
            }
        }
    }
}

/// Those whose names hold one of several, separated by commas: the library knows but one.
pub(crate) fn select(mut trials: Vec<Trial>, arguments: &mut Arguments) -> Vec<Trial> {
    if let Some(names) = arguments.filter.take_if(|filter| filter.contains(',')) {
        trials.retain(|trial| names.split(',').any(|name| trial.name().contains(name)));
    }
    trials
}

/// Closes the houses, all of them. Whether every right was used is a question only where all scenarios ran.
async fn close(houses: impl Iterator<Item = SharedTestbed>, all: bool) -> Result<()> {
    let mut seen = Recording::default();
    for result in join_all(houses.map(SharedTestbed::close)).await {
        seen.requests.extend(result?.into_iter().flat_map(|recording| recording.requests));
    }
    if all && !seen.requests.is_empty() {
        let unused = fleet_oracle::rights::unused(&seen)?;
        ensure!(unused.is_empty(), "{}", unused.join("\n"));
    }
    Ok(())
}

/// A failed assertion is a failure like any other.
async fn caught(scenario: impl Future<Output = Result<()>>) -> Result<()> {
    let result = AssertUnwindSafe(scenario).catch_unwind().await;
    result.unwrap_or_else(|panic| Err(anyhow!("{}", words(&*panic))))
}

/// Message of a panic.
fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked")
}
