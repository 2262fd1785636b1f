//! Start and end of an agent: signals, tasks.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use futures::stream::{self, BoxStream, Stream, StreamExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::watchdog::Watchdog;

/// How long tasks may take to finish what they have begun, unless they need more.
const DRAIN: Duration = Duration::from_secs(10);
/// The same at most: half a minute after SIGTERM a kubelet kills.
const LONGEST_DRAIN: Duration = Duration::from_secs(25);

/// The tasks of an agent. All run until the end; one that ends before takes the process with it,
/// so that a supervisor restarts the whole instead of running half of it.
#[derive(Debug)]
pub struct Lifecycle {
    cancel: CancellationToken,
    tasks: JoinSet<()>,
    names: HashMap<Id, &'static str>,
    watchdog: Watchdog,
    drain: Duration,
    /// Since [`Self::listen`].
    signals: Option<Signals>,
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
            drain: DRAIN,
            signals: None,
        }
    }

    /// Lets tasks take so long to finish what they have begun, within reason.
    pub fn drain_for(&mut self, time: Duration) {
        self.drain = time.clamp(DRAIN, LONGEST_DRAIN);
    }

    /// From now on signals are not lost, and the process does not end by them before it has finished what it does: the
    /// first process of a container ignores SIGTERM unless it listens.
    ///
    /// # Errors
    /// If the system refuses that.
    pub fn listen(&mut self) -> io::Result<()> {
        self.signals = Some(signals()?);
        Ok(())
    }

    /// Does what comes before the tasks; `None` if a signal came first.
    pub async fn prepare<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let Some(signals) = &mut self.signals else { return Some(work.await) };
        tokio::select! {
            done = work => Some(done),
            Some(signal) = signals.0.next() => {
                tracing::info!(signal, "Stopping");
                None
            }
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
    pub async fn run(mut self) -> ExitCode {
        match self.signals.take().map_or_else(signals, Ok) {
            Ok(signals) => ExitCode::from(self.run_with(signals.0).await),
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

        let limit = self.drain;
        let drain = async {
            while !self.tasks.is_empty() {
                self.next_end().await;
            }
        };
        tokio::select! {
            biased;
            drained = tokio::time::timeout(limit, drain) => {
                if drained.is_err() {
                    tracing::warn!(limit_ms = limit.as_millis(), "Some tasks did not finish");
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

/// The names of signals as they come.
struct Signals(BoxStream<'static, &'static str>);

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signals")
    }
}

/// SIGTERM and SIGINT as they come.
fn signals() -> io::Result<Signals> {
    let term = signal(SignalKind::terminate())?;
    let int = signal(SignalKind::interrupt())?;
    let signals = stream::unfold((term, int), |(mut term, mut int)| async move {
        let name = tokio::select! {
            _ = term.recv() => "SIGTERM",
            _ = int.recv() => "SIGINT",
        };
        Some((name, (term, int)))
    });
    Ok(Signals(signals.boxed()))
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
    async fn tasks_have_the_time_that_they_need_within_reason() {
        let second = Duration::from_secs(1);
        for (needed, taken) in
            [(second, DRAIN), (13 * second, 13 * second), (60 * second, LONGEST_DRAIN)]
        {
            let mut life = Lifecycle::new();
            life.drain_for(needed);
            life.spawn("stuck", std::future::pending());
            let start = tokio::time::Instant::now();
            assert_eq!(life.run_with(after(&[0])).await, 0);
            assert_eq!(start.elapsed(), taken);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_signal_ends_what_comes_before_the_tasks() {
        let mut life = Lifecycle::new();
        assert_eq!(life.prepare(async { 7 }).await, Some(7), "without listening");
        life.signals = Some(Signals(after(&[5]).boxed()));
        assert_eq!(life.prepare(async { 7 }).await, Some(7));
        assert_eq!(life.prepare(std::future::pending::<u8>()).await, None);
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
}
