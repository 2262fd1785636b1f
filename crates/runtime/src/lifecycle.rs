//! Start and end of an agent: logging, signals, tasks.

use std::collections::HashMap;
use std::future::Future;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use futures::stream::{self, Stream, StreamExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::watchdog::Watchdog;

/// How long tasks may take to finish what they have begun.
const DRAIN: Duration = Duration::from_secs(10);

/// A filter that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{source_name}: {reason}")]
pub struct LogError {
    source_name: &'static str,
    reason: String,
}

/// Sends logs to standard error: text on a terminal, JSON elsewhere.
///
/// `filter` is the value of `--log-level`; without it `RUST_LOG` counts, without that "info".
///
/// # Errors
/// When the filter cannot be read or logging was set up already.
pub fn init_logging(filter: Option<&str>) -> Result<(), LogError> {
    let filter = log_filter(filter, std::env::var("RUST_LOG").ok().as_deref())?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let result = if io::stderr().is_terminal() {
        builder.try_init()
    } else {
        builder.json().flatten_event(true).try_init()
    };
    result.map_err(|error| LogError { source_name: "logging", reason: error.to_string() })
}

fn log_filter(flag: Option<&str>, env: Option<&str>) -> Result<EnvFilter, LogError> {
    let (source_name, text) = match (flag, env.filter(|text| !text.is_empty())) {
        (Some(text), _) => ("--log-level", text),
        (None, Some(text)) => ("RUST_LOG", text),
        (None, None) => ("default", "info"),
    };
    EnvFilter::try_new(text)
        .map_err(|error| LogError { source_name, reason: format!("{text:?}: {error}") })
}

/// The tasks of an agent. All run until the end; one that ends before takes the process with it,
/// so that a supervisor restarts the whole instead of running half of it.
#[derive(Debug)]
pub struct Lifecycle {
    cancel: CancellationToken,
    tasks: JoinSet<()>,
    names: HashMap<Id, &'static str>,
    watchdog: Watchdog,
}

impl Lifecycle {
    /// No tasks yet.
    #[expect(clippy::new_without_default, reason = "it is made once and on purpose")]
    pub fn new() -> Self {
        Self {
            cancel: CancellationToken::new(),
            tasks: JoinSet::new(),
            names: HashMap::new(),
            watchdog: Watchdog::default(),
        }
    }

    /// Cancelled when the process has to end; tasks finish what they have begun and return.
    pub fn token(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Whether the tasks get their turn.
    pub fn watchdog(&self) -> Watchdog {
        self.watchdog.clone()
    }

    /// Adds a task that runs until the [token](Self::token) is cancelled.
    pub fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let id = self.tasks.spawn(self.watchdog.clone().supervise(name, task)).id();
        self.names.insert(id, name);
    }

    /// Runs until SIGTERM, SIGINT or the end of a task, then drains. A second signal ends at once.
    pub async fn run(self) -> ExitCode {
        match signals() {
            Ok(signals) => ExitCode::from(self.run_with(signals).await),
            Err(error) => {
                tracing::error!(%error, "Cannot listen for signals");
                ExitCode::FAILURE
            }
        }
    }

    /// Runs until `stop` or the end of a task, then drains.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> ExitCode {
        let told = stream::once(async {
            stop.await;
            "its caller"
        })
        .chain(stream::pending());
        ExitCode::from(self.run_with(told).await)
    }

    async fn run_with(mut self, signals: impl Stream<Item = &'static str>) -> u8 {
        let mut signals = std::pin::pin!(signals);
        let mut status = 0;
        tokio::select! {
            Some(signal) = signals.next() => {
                tracing::info!(signal, task_count = self.tasks.len(), "Stopping");
            }
            name = self.next_end() => {
                // Why is in the log of the task itself, or in the panic message before this line.
                tracing::error!(task = name, "A task ended early, stopping");
                status = 1;
            }
        }
        self.cancel.cancel();

        let drain = async {
            while !self.tasks.is_empty() {
                self.next_end().await;
            }
        };
        tokio::select! {
            biased;
            drained = tokio::time::timeout(DRAIN, drain) => {
                if drained.is_err() {
                    tracing::warn!(limit_ms = DRAIN.as_millis(), "Some tasks did not finish");
                }
                tracing::info!(status, "Stopped");
                status
            }
            Some(signal) = signals.next() => {
                tracing::warn!(signal, "Stopping at once");
                1
            }
        }
    }

    /// The name of the next task that ends; never if there is none.
    async fn next_end(&mut self) -> &'static str {
        let id = match self.tasks.join_next_with_id().await {
            None => return std::future::pending().await,
            Some(Ok((id, ()))) => id,
            Some(Err(error)) => error.id(),
        };
        self.names.remove(&id).unwrap_or("unknown")
    }
}

/// SIGTERM and SIGINT as they come.
fn signals() -> io::Result<impl Stream<Item = &'static str>> {
    let term = signal(SignalKind::terminate())?;
    let int = signal(SignalKind::interrupt())?;
    Ok(stream::unfold((term, int), |(mut term, mut int)| async move {
        let name = tokio::select! {
            _ = term.recv() => "SIGTERM",
            _ = int.recv() => "SIGINT",
        };
        Some((name, (term, int)))
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn after(delays: &[u64]) -> impl Stream<Item = &'static str> {
        let delays = delays.to_vec();
        stream::iter(delays)
            .then(|ms| async move {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                "SIGTERM"
            })
            .chain(stream::pending())
    }

    #[tokio::test(start_paused = true)]
    async fn a_signal_lets_tasks_finish() {
        let mut life = Lifecycle::new();
        let finished = Arc::new(AtomicBool::new(false));
        let (token, flag) = (life.token(), Arc::clone(&finished));
        life.spawn("worker", async move {
            token.cancelled().await;
            tokio::time::sleep(Duration::from_secs(3)).await;
            flag.store(true, Ordering::Relaxed);
        });
        assert_eq!(life.run_with(after(&[5])).await, 0);
        assert!(finished.load(Ordering::Relaxed));
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_never_finishes_does_not_hold_the_process() {
        let mut life = Lifecycle::new();
        life.spawn("stuck", std::future::pending());
        let start = tokio::time::Instant::now();
        assert_eq!(life.run_with(after(&[0])).await, 0);
        assert_eq!(start.elapsed(), DRAIN);
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_signal_ends_at_once() {
        let mut life = Lifecycle::new();
        life.spawn("stuck", std::future::pending());
        let start = tokio::time::Instant::now();
        assert_eq!(life.run_with(after(&[0, 20])).await, 1);
        assert_eq!(start.elapsed(), Duration::from_millis(20));
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_ends_early_stops_the_others() {
        let mut life = Lifecycle::new();
        let token = life.token();
        life.spawn("long", async move { token.cancelled().await });
        life.spawn("short", async {});
        assert_eq!(life.run_with(after(&[])).await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_stops_the_others() {
        let mut life = Lifecycle::new();
        let token = life.token();
        life.spawn("long", async move { token.cancelled().await });
        life.spawn("bad", async { panic!("on purpose") });
        assert_eq!(life.run_with(after(&[])).await, 1);
    }

    #[test]
    fn the_flag_wins_over_the_environment() {
        let text = |flag, env| log_filter(flag, env).map(|filter| filter.to_string());
        assert_eq!(text(None, None).unwrap(), "info");
        assert_eq!(text(None, Some("")).unwrap(), "info");
        assert_eq!(text(None, Some("debug")).unwrap(), "debug");
        assert_eq!(text(Some("warn"), Some("debug")).unwrap(), "warn");
        let error = text(Some("a=b=c"), None).unwrap_err().to_string();
        assert!(error.starts_with("--log-level: "), "{error}");
    }
}
