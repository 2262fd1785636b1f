//! The list of scenarios, and how one is run.

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use fleet_e2e::testbed::agents::Agents;
use futures::FutureExt;
use libtest_mimic::{Arguments, Failed, Trial};
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use crate::stage::Stage;

/// What the scenarios share: one runtime, because the clusters' clients belong to it, and the fleet, which is started
/// by the first scenario that needs it, so that `--list` needs none.
struct Shared {
    // Dropped before the runtime: its connections are tasks there.
    stage: OnceCell<Result<Stage, String>>,
    durations: Mutex<Vec<(String, Duration)>>,
    runtime: Runtime,
}

impl Shared {
    async fn stage(&self) -> Result<&Stage> {
        let start = async || Stage::start().await.map_err(|error| format!("{error:#}"));
        let stage = self.stage.get_or_init(start).await;
        stage.as_ref().map_err(|error| anyhow!("the fleet could not be started: {error}"))
    }

    /// Runs one scenario; a failure comes with everything that is there to look at.
    async fn perform(
        &self,
        name: &str,
        scenario: impl AsyncFnOnce(&Stage) -> Result<()>,
    ) -> Result<()> {
        let stage = self.stage().await?;
        let begin = Instant::now();
        // A failed assertion is a failure like any other.
        let result = AssertUnwindSafe(scenario(stage)).catch_unwind().await;
        let result = result.unwrap_or_else(|panic| Err(anyhow!("{}", words(&*panic))));
        self.durations.lock().push((name.to_owned(), begin.elapsed()));
        stage.explain_as(&name.replace("::", "."), result).await
    }
}

/// The scenarios to run.
pub(crate) struct Tests {
    shared: Arc<Shared>,
    trials: Vec<Trial>,
}

impl Tests {
    pub(crate) fn new() -> Self {
        let runtime = Runtime::new().expect("threads can be started");
        let (stage, durations) = (OnceCell::new(), Mutex::default());
        Self { shared: Arc::new(Shared { stage, durations, runtime }), trials: Vec::new() }
    }

    /// Adds a scenario that others may run beside.
    pub(crate) fn beside(
        &mut self,
        name: &'static str,
        scenario: impl AsyncFnOnce(&Stage) -> Result<()> + Send + 'static,
    ) {
        self.add(name, async move |shared: &Shared| {
            let _others_too = shared.stage().await?.agents().read().await;
            shared
                .perform(name, async |stage: &Stage| {
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
        self.add(name, async move |shared: &Shared| shared.perform(name, scenario).await);
    }

    /// Adds a scenario that must be alone with the fleet, and gets hold of the agents.
    pub(crate) fn alone(
        &mut self,
        name: &'static str,
        scenario: impl AsyncFnOnce(&Stage, &mut Agents) -> Result<()> + Send + 'static,
    ) {
        self.add(name, async move |shared: &Shared| {
            let mut agents = shared.stage().await?.agents().write().await;
            shared
                .perform(name, async |stage: &Stage| {
                    stage.mark(format!("begin {name}"));
                    let result = scenario(stage, &mut agents).await;
                    // What it ended is there again for the next one.
                    stage.restore(&mut agents).await?;
                    stage.mark(format!("end {name}"));
                    result
                })
                .await
        });
    }

    fn add(
        &mut self,
        name: &'static str,
        scenario: impl AsyncFnOnce(&Shared) -> Result<()> + Send + 'static,
    ) {
        let shared = Arc::clone(&self.shared);
        let run = move || {
            let result = shared.runtime.block_on(scenario(&shared));
            result.map_err(|error| Failed::from(format!("{error:#}")))
        };
        self.trials.push(Trial::test(name, run));
    }

    /// Runs what the arguments ask for, stops the fleet, and says how long each scenario took.
    pub(crate) fn run(self, arguments: &Arguments) -> ExitCode {
        let conclusion = libtest_mimic::run(arguments, self.trials);
        let all = conclusion.num_filtered_out == 0 && conclusion.num_passed > 0;
        for (name, duration) in self.shared.durations.lock().iter() {
            eprintln!("{:7.1} s  {name}", duration.as_secs_f64());
        }
        // Nothing else holds it: all scenarios have ended.
        let mut code = conclusion.exit_code();
        if let Some(Shared { stage, runtime, .. }) = Arc::into_inner(self.shared) {
            runtime.block_on(async {
                let Some(Ok(stage)) = stage.into_inner() else { return };
                if let Err(error) = stage.clean().await {
                    eprintln!("the clusters are not as they were: {error:#}");
                    code = ExitCode::FAILURE;
                }
                if let Err(error) = stage.judge(all).await {
                    eprintln!("{error:#}");
                    code = ExitCode::FAILURE;
                }
            });
        }
        code
    }
}

/// What a panic says.
fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked")
}
