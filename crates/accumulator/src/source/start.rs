//! Starting the task of one source.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::course::Course;
use super::feed::Feed;
use super::refresh::Refresh;
use super::task::Task;
use super::typed::{Source, Typed};
use super::update::Update;
use crate::config::Config;
use crate::metrics::SourceMetrics;
use crate::{SourceInfo, Tasks, Tracked, View};

/// What the task of a source needs to start.
#[doc(hidden)]
pub struct Start<'a, S> {
    pub(crate) config: &'a Config,
    pub(crate) metrics: SourceMetrics,
    pub(crate) outbox: mpsc::Sender<Update<S>>,
    pub(crate) refresh: Refresh,
    pub(crate) token: &'a CancellationToken,
    pub(crate) tasks: &'a dyn Tasks,
}

impl<S: 'static> Start<'_, S> {
    /// Starts the task of the source whose view `view` finds in the snapshot.
    pub fn source<T: Tracked>(
        self,
        source: &SourceInfo,
        feed: Box<dyn Feed<T::Wire>>,
        view: fn(&mut S) -> &mut View<T>,
    ) {
        let (config, metrics) = (self.config, &self.metrics);
        let cautious_for = config.cautious.contains(source.id).then_some(config.cautious_for);
        let newest = config.reached.of(source);
        let course =
            Course::new(config.clone(), metrics.clone(), source.optional, cautious_for, newest);
        self.run(source, Box::new(Typed::new(view, feed, course)));
    }

    /// Starts the task, whatever the kind.
    fn run(self, source: &SourceInfo, typed: Box<dyn Source<S>>) {
        let Self { config, metrics, outbox, refresh, token, tasks } = self;
        let task = Task::new(*source, typed, config.clone(), metrics, outbox, refresh);
        let token = token.clone();
        let run = async move {
            token.run_until_cancelled(task.run()).await;
        };
        tasks.run(source.field, Box::pin(run));
    }
}
