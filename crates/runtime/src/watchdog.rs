//! Whether the tasks of the process still get their turn: what `/livez` asks.
//!
//! Only what a restart helps against. A task that waits is well, however long an API server lets it
//! wait; one that holds its thread and never gives it back is not.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::time::MissedTickBehavior;

use crate::clock::monotonic as now;

/// How often a task shows that it gets its turn.
const BEAT: Duration = Duration::from_secs(5);
/// Longer than any honest work keeps a thread, on a machine that is short of time, too.
const LIMIT: Duration = Duration::from_mins(1);

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
        let now = now();
        let mut tasks = self.0.lock();
        tasks.retain(|task| task.last.strong_count() > 0);
        let last = |task: &Task| task.last.upgrade().map(|last| *last.lock());
        let wedged = tasks.iter().filter(|task| last(task).is_some_and(|at| is_wedged(at, now)));
        wedged.map(|task| format!("{}: no turn for {LIMIT:?}", task.name)).collect()
    }
}

fn is_wedged(last: Instant, now: Instant) -> bool {
    now.saturating_duration_since(last) >= LIMIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_wedged_after_the_limit() {
        let last = Instant::now();
        assert!(!is_wedged(last, last + LIMIT.saturating_sub(Duration::from_millis(1))));
        assert!(is_wedged(last, last + LIMIT));
        assert!(!is_wedged(last + LIMIT, last), "time does not run backwards");
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
