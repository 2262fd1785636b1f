//! Where the tasks of an accumulator run.

use futures::future::BoxFuture;
use tokio_util::task::TaskTracker;

/// Runs the tasks of an accumulator. A process that supervises its tasks implements it, so that a source whose task
/// dies or no longer gets its turn does not go unnoticed.
pub trait Tasks {
    /// Runs a task. Its name is for logs and probes.
    fn run(&self, name: &'static str, task: BoxFuture<'static, ()>);
}

/// Runs tasks without supervision.
impl Tasks for TaskTracker {
    fn run(&self, _: &'static str, task: BoxFuture<'static, ()>) {
        self.spawn(task);
    }
}
