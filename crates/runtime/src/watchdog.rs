//! Whether the tasks of the process still get their turn: what `/livez` asks.
//!
//! Only what a restart helps against. A task that waits is well, however long an API server lets it
//! wait; one that holds its thread and never gives it back is not.

mod threads;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use fleet_accumulator::Tasks;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::MissedTickBehavior;
use tokio_util::task::TaskTracker;

use crate::clock::monotonic as now;

/// How often a task shows that it gets its turn.
const BEAT: Duration = Duration::from_secs(5);
/// Longer than any honest work keeps a thread, on a machine that is short of time, too.
const LIMIT: Duration = Duration::from_mins(1);

/// After so long without a turn it is worth writing down what the threads do: soon, the kubelet ends the process.
const SUSPICIOUS: Duration = Duration::from_secs(20);

/// When each task last had its turn. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Watchdog(Arc<Mutex<Vec<Task>>>);

#[derive(Debug)]
struct Task {
    name: &'static str,
    /// Its last turn; dropped with the task.
    last: Weak<Mutex<Instant>>,
}

impl Watchdog {
    /// Runs a task under supervision.
    pub(crate) async fn supervise(self, name: &'static str, task: impl Future<Output = ()>) {
        let last = self.add(name);
        let mut task = std::pin::pin!(task);
        let mut beats = tokio::time::interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = &mut task => return,
                _ = beats.tick() => *last.lock() = now(),
            }
        }
    }

    fn add(&self, name: &'static str) -> Arc<Mutex<Instant>> {
        let last = Arc::new(Mutex::new(now()));
        self.0.lock().push(Task { name, last: Arc::downgrade(&last) });
        last
    }

    /// Tasks that have not had their turn for too long, one sentence each.
    pub fn wedged(&self) -> Vec<String> {
        let wedged = self.without_turn_for(LIMIT);
        wedged.into_iter().map(|name| format!("{name}: no turn for {LIMIT:?}")).collect()
    }

    fn without_turn_for(&self, limit: Duration) -> Vec<&'static str> {
        let now = now();
        let mut tasks = self.0.lock();
        tasks.retain(|task| task.last.strong_count() > 0);
        let last = |task: &Task| task.last.upgrade().map(|last| *last.lock());
        let late = |task: &&Task| last(task).is_some_and(|at| is_late(at, now, limit));
        tasks.iter().filter(late).map(|task| task.name).collect()
    }

    /// Starts a thread of its own, which goes on when no task does: once for each time that tasks lose their turn, it
    /// writes to standard error what all threads do. Nothing else explains it when the process is gone.
    pub fn write_down_stalls(&self) {
        let watchdog = self.clone();
        let watch = move || {
            let mut known = Vec::new();
            loop {
                std::thread::sleep(BEAT);
                let late = watchdog.without_turn_for(SUSPICIOUS);
                if !late.is_empty() && late != known {
                    eprintln!(
                        "no turn for {SUSPICIOUS:?}: {}\n{}",
                        late.join(", "),
                        threads::report()
                    );
                }
                known = late;
            }
        };
        if let Err(error) = std::thread::Builder::new().name("watchdog".to_owned()).spawn(watch) {
            tracing::warn!(%error, "Cannot start the watchdog's thread");
        }
    }

    /// Runs the tasks of an accumulator under supervision.
    pub fn tasks(&self, tracker: TaskTracker) -> impl Tasks + use<> {
        Supervised { watchdog: self.clone(), tracker }
    }
}

struct Supervised {
    watchdog: Watchdog,
    tracker: TaskTracker,
}

impl Tasks for Supervised {
    fn run(&self, name: &'static str, task: BoxFuture<'static, ()>) {
        self.tracker.spawn(self.watchdog.clone().supervise(name, task));
    }
}

fn is_late(last: Instant, now: Instant, limit: Duration) -> bool {
    now.saturating_duration_since(last) >= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_wedged_after_the_limit() {
        let last = Instant::now();
        let just = LIMIT.saturating_sub(Duration::from_millis(1));
        assert!(!is_late(last, last + just, LIMIT));
        assert!(is_late(last, last + LIMIT, LIMIT));
        assert!(!is_late(last + LIMIT, last, LIMIT), "time does not run backwards");
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_waits_is_well() {
        let watchdog = Watchdog::default();
        tokio::spawn(watchdog.clone().supervise("waits", std::future::pending()));
        tokio::time::sleep(LIMIT * 10).await;
        assert_eq!(watchdog.wedged(), Vec::<String>::new());
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_without_a_turn_is_named_until_it_ends() {
        let watchdog = Watchdog::default();
        let mut task = Box::pin(watchdog.clone().supervise("stuck", std::future::pending()));
        assert!(futures::poll!(task.as_mut()).is_pending());
        // It is not polled any more, as if its thread were blocked.
        tokio::time::advance(LIMIT).await;
        assert_eq!(watchdog.wedged(), ["stuck: no turn for 60s"]);
        assert!(futures::poll!(task.as_mut()).is_pending());
        assert_eq!(watchdog.wedged(), Vec::<String>::new(), "it goes on");
        tokio::time::advance(LIMIT).await;
        drop(task);
        assert_eq!(watchdog.wedged(), Vec::<String>::new(), "it has ended");
    }
}
