//! What the sources of a cluster ask of each other, and other parts of the agent of all of them: lists, and to look for kinds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::ClusterId;
use crate::time::now;

/// The shortest time between two times that a source is woken because another one gets through.
const WOKEN_AGAIN: Duration = Duration::from_secs(1);
/// Sources that are woken ask within so long, each at a time of its own: agents of many members find the same API server.
const WOKEN_OVER: Duration = Duration::from_secs(2);

/// The requests by cluster. Clones share them.
#[derive(Clone)]
pub(crate) struct Refreshes(Arc<BTreeMap<ClusterId, Requests>>);

/// The requests to the sources of one cluster.
#[derive(Clone)]
struct Requests {
    /// Lists that were begun earlier are to be repeated.
    lists: watch::Sender<Instant>,
    /// When a source got through that had not for a while.
    found: watch::Sender<()>,
}

impl Refreshes {
    /// Nothing is asked for that is listed from now on.
    pub(crate) fn new() -> Self {
        let begin = now();
        let clusters = [ClusterId::Local, ClusterId::Hub];
        let requests =
            || Requests { lists: watch::Sender::new(begin), found: watch::Sender::new(()) };
        Self(Arc::new(clusters.map(|cluster| (cluster, requests())).into()))
    }

    /// What the sources of a cluster follow.
    pub(crate) fn of(&self, cluster: ClusterId) -> Refresh {
        let sender = self.0[&cluster].clone();
        Refresh {
            asked: sender.lists.subscribe(),
            found: sender.found.subscribe(),
            woken: None,
            sender,
        }
    }

    /// Lists of all clusters that were begun before `since` are to be repeated.
    pub(crate) fn demand_all(&self, since: Instant) {
        self.0.values().for_each(|sender| demand(&sender.lists, since));
    }

    /// Lists of one cluster that were begun before `since` are to be repeated.
    pub(crate) fn demand(&self, cluster: ClusterId, since: Instant) {
        demand(&self.0[&cluster].lists, since);
    }
}

fn demand(sender: &watch::Sender<Instant>, since: Instant) {
    sender.send_if_modified(|asked| {
        let later = *asked < since;
        *asked = since.max(*asked);
        later
    });
}

/// The requests to one source of a cluster, and from it.
pub(crate) struct Refresh {
    asked: watch::Receiver<Instant>,
    found: watch::Receiver<()>,
    /// When it was woken last because another source got through.
    woken: Option<Instant>,
    sender: Requests,
}

impl Refresh {
    /// Lists that were begun earlier are to be repeated.
    pub(super) fn since(&mut self) -> Instant {
        *self.asked.borrow_and_update()
    }

    /// The same, without taking note of it: who waits for later ones is woken all the same.
    pub(super) fn latest(&self) -> Instant {
        *self.asked.borrow()
    }

    /// Waits until later lists are asked for. Cancel safe.
    pub(super) async fn changed(&mut self) -> Instant {
        // This holds a sender, so it cannot fail.
        let _ = self.asked.changed().await;
        self.since()
    }

    /// Asks all sources of the cluster for lists begun at `since` or later.
    pub(super) fn demand(&self, since: Instant) {
        demand(&self.sender.lists, since);
    }

    /// Wakes the sources of the cluster that wait before they try again: one gets through, so others may, too, as where a hub is back, or
    /// one that was rebuilt serves its kinds and has given its rights.
    pub(super) fn find(&mut self) {
        self.sender.found.send_replace(());
        self.tries();
    }

    /// The source tries again: what others have found until now is no news.
    pub(super) fn tries(&mut self) {
        self.found.mark_unchanged();
    }

    /// Waits until lists are asked for, or another source gets through; the latter at most once a second, since of several API servers
    /// behind one address, one may answer and one not. If it is cancelled, what was found may be lost.
    pub(super) async fn asked(&mut self) {
        let Self { asked, found, woken, .. } = self;
        // This holds the senders, so neither can fail.
        tokio::select! {
            _ = asked.changed() => {}
            () = news(found, *woken) => *woken = Some(now()),
        }
    }
}

/// Waits until another source gets through, and then for a time of its own.
async fn news(found: &mut watch::Receiver<()>, woken: Option<Instant>) {
    let _ = found.changed().await;
    let rest = woken.map(|woken| (woken + WOKEN_AGAIN).saturating_duration_since(now()));
    let apart = WOKEN_OVER.mul_f64(fastrand::f64());
    tokio::time::sleep(rest.unwrap_or_default() + apart).await;
}
