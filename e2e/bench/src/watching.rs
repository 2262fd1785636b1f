//! Watches of the bench, one task each.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How long the first lists may take.
const LIST_DEADLINE: Duration = Duration::from_secs(30);

/// What is done with the events of a watch.
pub(super) trait Listener<K>: Send + 'static {
    /// The object is there, new, changed or repeated.
    fn applied(&mut self, object: K) -> impl Future<Output = Result<()>> + Send;

    /// The object is gone.
    fn deleted(&mut self, _name: String) {}
}

/// Watches that end when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Watches {
    tasks: JoinSet<Result<()>>,
}

impl Watches {
    /// Starts a watch and waits until it has listed.
    pub(super) async fn start<K>(&mut self, api: Api<K>, listener: impl Listener<K>) -> Result<()>
    where
        K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
    {
        self.start_narrow((api, watcher::Config::default()), listener).await
    }

    /// [`Self::start`] of the objects that a selector selects.
    pub(super) async fn start_narrow<K>(
        &mut self,
        what: (Api<K>, watcher::Config),
        listener: impl Listener<K>,
    ) -> Result<()>
    where
        K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
    {
        let (listed, mut list) = mpsc::channel(1);
        self.tasks.spawn(run(what, listener, listed));
        match tokio::time::timeout(LIST_DEADLINE, list.recv()).await {
            Ok(Some(())) => Ok(()),
            Ok(None) => self.check().and_then(|()| bail!("a watch has ended")),
            Err(_) => bail!("a watch has not listed within {LIST_DEADLINE:?}"),
        }
    }

    /// The error that ended a watch, if any has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        match self.tasks.try_join_next() {
            None => Ok(()),
            Some(ended) => ended.context("a watch has panicked")?.context("a watch has ended"),
        }
    }
}

async fn run<K>(
    (api, config): (Api<K>, watcher::Config),
    mut listener: impl Listener<K>,
    listed: mpsc::Sender<()>,
) -> Result<()>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let mut events = std::pin::pin!(watcher(api, config));
    while let Some(event) = events.next().await {
        // Servers are not restarted under a bench, so a failing watch is not waited for.
        match event? {
            Event::Init => {}
            Event::InitApply(object) | Event::Apply(object) => listener.applied(object).await?,
            Event::InitDone => drop(listed.try_send(())),
            Event::Delete(object) => listener.deleted(object.name_any()),
        }
    }
    Ok(())
}
