//! What clusters show, followed through their watches.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures::future::join;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::history::History;
use super::lags::Lags;
use super::shown::Shown;
use crate::access::Access;
use crate::credential::CredentialStatus;
use crate::gather::Watched;
use crate::recorded::{FleetObjects, Reader};
use crate::status::status;
use crate::view::view;

/// Time between two looks at what the watches have.
const LOOK: Duration = Duration::from_millis(200);
/// Time after which ages are computed anew although nothing has changed.
const AGES: Duration = Duration::from_secs(5);
/// Time between two looks at what is not watched: credentials and releases of agents.
const SLOW: Duration = Duration::from_mins(1);
/// Time after which members are connected to that could not be reached.
const AGAIN: Duration = Duration::from_secs(5);

/// Clusters, and what was seen of them.
pub(super) struct Live {
    watched: Watched,
    access: Access,
    history: Mutex<History>,
    newest: watch::Sender<usize>,
    reader: tokio::sync::Mutex<Option<Reader>>,
}

/// What is not watched.
#[derive(Default)]
struct Slow {
    credentials: BTreeMap<String, CredentialStatus>,
    versions: BTreeMap<String, String>,
}

impl Live {
    /// Connects to all clusters, and lists what the agents would.
    ///
    /// # Errors
    /// If the hub cannot be reached.
    pub(super) async fn start(access: &Access) -> Result<Arc<Self>> {
        let watched = Watched::start(access).await?;
        let (history, newest) = (Mutex::default(), watch::Sender::new(0));
        let (access, reader) = (access.clone(), tokio::sync::Mutex::default());
        let live = Arc::new(Self { watched, access, history, newest, reader });
        live.look(Lags::default(), &Arc::default()).await?;
        Ok(live)
    }

    /// Follows the clusters, for as long as it is polled.
    pub(super) async fn follow(self: Arc<Self>) -> Result<()> {
        let (newest, slow) = watch::channel(Arc::default());
        // A cluster that is lost does not answer, and that is when users look.
        tokio::select! {
            ended = self.looks(slow) => ended,
            never = self.read_slow(&newest) => match never {},
            never = self.rejoin() => match never {},
        }
    }

    async fn looks(self: &Arc<Self>, mut slow: watch::Receiver<Arc<Slow>>) -> Result<()> {
        let (mut lags, mut looked, mut version) = (Lags::default(), Instant::now(), None);
        loop {
            let now = self.watched.version();
            let is_new = version != Some(now) || slow.has_changed()?;
            if is_new || looked.elapsed() >= AGES {
                (version, looked) = (Some(now), Instant::now());
                let slow = Arc::clone(&slow.borrow_and_update());
                lags = self.look(lags, &slow).await?;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn read_slow(&self, newest: &watch::Sender<Arc<Slow>>) -> Infallible {
        loop {
            newest.send_replace(Arc::new(self.slow().await));
            tokio::time::sleep(SLOW).await;
        }
    }

    /// Connects to members that were not reached, or that have joined since.
    async fn rejoin(&self) -> Infallible {
        loop {
            tokio::time::sleep(AGAIN).await;
            self.watched.rejoin(&self.access).await;
        }
    }

    async fn slow(&self) -> Slow {
        let (credentials, versions) =
            join(self.watched.credentials(), self.watched.agent_versions()).await;
        Slow { credentials, versions }
    }

    /// A large fleet takes a while, and answers are not to wait for it.
    async fn look(self: &Arc<Self>, mut lags: Lags, slow: &Arc<Slow>) -> Result<Lags> {
        let (live, slow) = (Arc::clone(self), Arc::clone(slow));
        let look = move || {
            live.add(&mut lags, &slow);
            lags
        };
        Ok(tokio::task::spawn_blocking(look).await?)
    }

    fn add(&self, lags: &mut Lags, slow: &Slow) {
        let picture = self.watched.picture();
        lags.observe(&picture);
        let found = view(&picture, status(&picture), &[]).with_credentials(&slow.credentials);
        let mut found = found.with_agent_versions(slow.versions.clone());
        lags.complete(&mut found);
        let mut history = self.history.lock();
        if history.add(found)
            && let Some((_, last)) = history.range()
        {
            self.newest.send_replace(last);
        }
    }

    /// The number of the newest frame, as it changes.
    pub(super) fn changes(&self) -> watch::Receiver<usize> {
        self.newest.subscribe()
    }

    /// A frame, or the nearest one that there is.
    pub(super) fn shown(&self, at: Option<usize>) -> Result<Shown> {
        let history = self.history.lock();
        let (first, last) = history.range().context("nothing was seen yet")?;
        let number = at.unwrap_or(last).clamp(first, last);
        let frame = |number| history.get(number).context("nothing was seen yet");
        let times = (frame(first)?.at, frame(last)?.at);
        let frame = frame(number)?.clone();
        let (moments, what_if) = (history.moments(), None);
        Ok(Shown { frame, number, first, last, times, moments, is_replay: false, what_if })
    }

    /// All objects of all clusters, as they are now.
    pub(super) async fn read(&self) -> Result<FleetObjects> {
        let mut reader = self.reader.lock().await;
        if reader.is_none() {
            *reader = Some(Reader::connect(&self.access).await?);
        }
        reader.as_mut().context("no connection")?.read().await
    }
}
