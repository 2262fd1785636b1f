//! Lists that one part of the agent asks all sources of a cluster for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use crate::ClusterId;
use crate::time::now;

/// The requests for lists, by cluster. Clones share them.
#[derive(Clone)]
pub(crate) struct Refreshes(Arc<BTreeMap<ClusterId, watch::Sender<Instant>>>);

impl Refreshes {
    /// Nothing is asked for that is listed from now on.
    pub(crate) fn new() -> Self {
        let begin = now();
        let clusters = [ClusterId::Local, ClusterId::Hub];
        Self(Arc::new(clusters.map(|cluster| (cluster, watch::Sender::new(begin))).into()))
    }

    /// What the sources of a cluster follow.
    pub(crate) fn of(&self, cluster: ClusterId) -> Refresh {
        let sender = self.0[&cluster].clone();
        Refresh { asked: sender.subscribe(), sender }
    }

    /// Lists of all clusters that were begun before `since` are to be repeated.
    pub(crate) fn demand_all(&self, since: Instant) {
        self.0.values().for_each(|sender| demand(sender, since));
    }

    /// Lists of one cluster that were begun before `since` are to be repeated.
    pub(crate) fn demand(&self, cluster: ClusterId, since: Instant) {
        demand(&self.0[&cluster], since);
    }
}

fn demand(sender: &watch::Sender<Instant>, since: Instant) {
    sender.send_if_modified(|asked| {
        let later = *asked < since;
        *asked = since.max(*asked);
        later
    });
}

/// The requests for lists of one cluster.
pub(crate) struct Refresh {
    asked: watch::Receiver<Instant>,
    sender: watch::Sender<Instant>,
}

impl Refresh {
    /// Lists that were begun earlier are to be repeated.
    pub(super) fn since(&mut self) -> Instant {
        *self.asked.borrow_and_update()
    }

    /// Waits until later lists are asked for. Cancel safe.
    pub(super) async fn changed(&mut self) -> Instant {
        // This holds a sender, so it cannot fail.
        let _ = self.asked.changed().await;
        self.since()
    }

    /// Asks all sources of the cluster for lists begun at `since` or later.
    pub(super) fn demand(&self, since: Instant) {
        demand(&self.sender, since);
    }
}
