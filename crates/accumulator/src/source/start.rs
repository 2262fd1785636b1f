//! Starting the task of one source.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::course::Course;
use super::feed::Feed;
use super::mass_deletion::MassDeletionGuard;
use super::refresh::Refresh;
use super::task::Task;
use super::typed::{Source, Typed};
use super::update::Update;
use crate::config::{Config, MassDeletionLimits};
use crate::metrics::SourceMetrics;
use crate::{SourceInfo, Tasks, Tracked, View};

/// How many deletions by watch events are believed. No definition takes objects of a built-in kind with it: where many go, as while a
/// node is drained, none has to wait for an answer of the API server.
fn limits(source: &SourceInfo, config: &Config) -> MassDeletionLimits {
    let limits = config.mass_deletion;
    if source.kind.is_built_in() {
        MassDeletionLimits { fraction: 0.0, ..limits }
    } else if source.optional {
        limits.none_allowed()
    } else {
        limits
    }
}

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
        let guard = MassDeletionGuard::new(limits(source, config));
        let course = Course::new(config.clone(), metrics.clone(), guard, cautious_for, newest);
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

#[cfg(test)]
mod tests {
    use fleet_api::{ResourceKind, kinds};

    use super::*;
    use crate::{ClusterId, SourceId};

    /// How many of a hundred objects that go at once are believed.
    fn believed(kind: ResourceKind, optional: bool) -> usize {
        let (id, field, cluster) = (SourceId::new(0), "all", ClusterId::Local);
        let limits = limits(&SourceInfo { id, field, cluster, kind, optional }, &Config::default());
        (0..=100).take_while(|lost| !limits.exceeded_by(*lost, 100)).count() - 1
    }

    #[test]
    fn only_the_definition_of_a_kind_takes_its_objects_with_it() {
        assert_eq!(believed(kinds::POD, false), 100);
        assert_eq!(believed(kinds::SERVICE_CIDR, true), 100);
        assert_eq!(believed(kinds::SERVICE_EXPORT, false), 30);
        assert_eq!(believed(kinds::MCS_SERVICE_EXPORT, true), 0);
    }
}
