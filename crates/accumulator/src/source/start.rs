//! Starting the task of one source.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use super::refresh::Refresh;
use super::task::Task;
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
        let Self { config, metrics, outbox, refresh, token, tasks } = self;
        let task = Task::new(*source, view, config.clone(), feed, metrics, outbox, refresh);
        let token = token.clone();
        let run = async move {
            token.run_until_cancelled(task.run()).await;
        };
        tasks.run(source.field, Box::pin(run));
    }
}
