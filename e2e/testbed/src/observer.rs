//! Watching the fleet from outside: what appears, changes and goes, in which cluster, and when it was seen.
//!
//! Times are those of this process's clock at the arrival of the watch event, so hops across clusters can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fleet_api::ResourceKind;
use fleet_api::kinds::{kinds_of_hub, kinds_of_member};
use futures::StreamExt;
use kube::Api;
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::cluster::Cluster;
use crate::fleet::Fleet;
use crate::objects::api;

/// How long the first lists may take.
const LIST_DEADLINE: Duration = Duration::from_mins(2);

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It was not there before.
    Appeared,
    /// It was written.
    Changed,
    /// It is gone.
    Gone,
}

/// One event.
#[derive(Clone, Debug)]
pub struct Observation {
    /// When the event arrived.
    pub at: Instant,
    /// The cluster's name.
    pub cluster: String,
    /// The object's kind.
    pub kind: ResourceKind,
    /// What happened.
    pub what: What,
    /// The object after it, or its last state if it is gone.
    pub object: DynamicObject,
}

impl Observation {
    /// `namespace/name`.
    pub fn name(&self) -> String {
        key(&self.object)
    }

    /// Whether it is about an object of this kind in this cluster.
    pub fn is(&self, cluster: &str, kind: ResourceKind, what: What) -> bool {
        self.cluster == cluster && self.kind == kind && self.what == what
    }
}

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            What::Appeared => "appeared",
            What::Changed => "changed",
            What::Gone => "is gone",
        };
        write!(f, "{}: {} {} {what}", self.cluster, self.kind.kind, self.name())
    }
}

/// Watches the kinds of the fleet, and Services and EndpointSlices on members. Dropping it ends the watches.
#[derive(Debug)]
pub struct Observer {
    observations: mpsc::UnboundedReceiver<Observation>,
    _watches: JoinSet<()>,
}

impl Observer {
    /// Starts all watches and returns when each has listed what is there; that much is not reported.
    pub async fn start(fleet: &Fleet) -> Result<Self> {
        let hub = kinds_of_hub().map(|kind| (fleet.hub(), kind));
        let members = fleet.members().iter();
        let members = members.flat_map(|member| kinds_of_member().map(move |kind| (member, kind)));
        Self::start_for(hub.chain(members)).await
    }

    /// Like [`Self::start`], for chosen kinds of chosen clusters.
    pub async fn start_for(
        targets: impl IntoIterator<Item = (&Cluster, ResourceKind)>,
    ) -> Result<Self> {
        let (sender, observations) = mpsc::unbounded_channel();
        let (listed, mut lists) = mpsc::unbounded_channel();
        let mut watches = JoinSet::new();
        for (cluster, kind) in targets {
            let state = Watched {
                cluster: cluster.name().to_owned(),
                kind,
                known: BTreeMap::new(),
                listing: None,
                sender: sender.clone(),
            };
            watches.spawn(state.run(api(cluster.client(), kind, None), listed.clone()));
        }
        for _ in 0..watches.len() {
            tokio::time::timeout(LIST_DEADLINE, lists.recv())
                .await
                .context("a watch has not listed in time")?;
        }
        Ok(Self { observations, _watches: watches })
    }

    /// The next event; waits for it.
    pub async fn next(&mut self) -> Result<Observation> {
        self.observations.recv().await.context("all watches have ended")
    }

    /// Takes events until one fits, and returns all taken ones, the fitting one last.
    pub async fn until(
        &mut self,
        what: &str,
        deadline: Duration,
        mut fits: impl FnMut(&Observation) -> bool,
    ) -> Result<Vec<Observation>> {
        let mut taken: Vec<Observation> = Vec::new();
        let begin = Instant::now();
        loop {
            let left = deadline.saturating_sub(begin.elapsed());
            let Ok(next) = tokio::time::timeout(left, self.next()).await else {
                let seen: Vec<String> = taken.iter().map(ToString::to_string).collect();
                bail!("not within {deadline:?}: {what}; seen:\n{}", seen.join("\n"));
            };
            let next = next?;
            let done = fits(&next);
            taken.push(next);
            if done {
                return Ok(taken);
            }
        }
    }

    /// Every event that has arrived, without waiting.
    pub fn take(&mut self) -> Vec<Observation> {
        std::iter::from_fn(|| self.observations.try_recv().ok()).collect()
    }

    /// Which objects whose names contain `part` have gone, without waiting. Takes all events that have arrived.
    pub fn take_gone(&mut self, part: &str) -> Vec<Observation> {
        let mut seen = self.take();
        seen.retain(|seen| seen.what == What::Gone && seen.name().contains(part));
        seen
    }
}

/// One watch and what it has seen.
struct Watched {
    cluster: String,
    kind: ResourceKind,
    known: BTreeMap<String, DynamicObject>,
    /// Names seen in the list that is running, if one is.
    listing: Option<BTreeSet<String>>,
    sender: mpsc::UnboundedSender<Observation>,
}

impl Watched {
    async fn run(mut self, api: Api<DynamicObject>, listed: mpsc::UnboundedSender<()>) {
        let mut first = true;
        let events = watch(api, watcher::Config::default()).default_backoff();
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            // A server that restarts is no news; the watch comes back by itself.
            let Ok(event) = event else { continue };
            let done = matches!(event, Event::InitDone);
            self.take(event, first);
            if done && std::mem::take(&mut first) {
                let _ = listed.send(());
            }
        }
    }

    fn take(&mut self, event: Event<DynamicObject>, first: bool) {
        match event {
            Event::Init => self.listing = Some(BTreeSet::new()),
            Event::InitApply(object) => {
                if let Some(listing) = &mut self.listing {
                    listing.insert(key(&object));
                }
                self.apply(object, first);
            }
            Event::InitDone => {
                let listing = self.listing.take().unwrap_or_default();
                let gone: Vec<String> =
                    self.known.keys().filter(|name| !listing.contains(*name)).cloned().collect();
                for name in gone {
                    if let Some(object) = self.known.remove(&name) {
                        self.tell(What::Gone, object);
                    }
                }
            }
            Event::Apply(object) => self.apply(object, false),
            Event::Delete(object) => {
                self.known.remove(&key(&object));
                self.tell(What::Gone, object);
            }
        }
    }

    fn apply(&mut self, mut object: DynamicObject, silent: bool) {
        object.metadata.managed_fields = None;
        let version = object.metadata.resource_version.clone();
        let before = self.known.insert(key(&object), object.clone());
        let what = match before {
            None => What::Appeared,
            // A new list repeats what is known.
            Some(before) if before.metadata.resource_version == version => return,
            Some(_) => What::Changed,
        };
        if !silent {
            self.tell(what, object);
        }
    }

    fn tell(&self, what: What, object: DynamicObject) {
        let (at, cluster, kind) = (Instant::now(), self.cluster.clone(), self.kind);
        // Without a receiver, the observer is being dropped.
        let _ = self.sender.send(Observation { at, cluster, kind, what, object });
    }
}

fn key(object: &DynamicObject) -> String {
    let metadata = &object.metadata;
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{}/{}", part(&metadata.namespace), part(&metadata.name))
}

#[cfg(test)]
mod tests {
    use fleet_api::kinds;
    use serde_json::json;

    use super::*;

    fn object(name: &str, version: &str) -> DynamicObject {
        let metadata = json!({ "namespace": "n", "name": name, "resourceVersion": version });
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    fn watched() -> (Watched, mpsc::UnboundedReceiver<Observation>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let kind = kinds::SERVICE;
        let cluster = "hub".to_owned();
        (Watched { cluster, kind, known: BTreeMap::new(), listing: None, sender }, receiver)
    }

    fn told(receiver: &mut mpsc::UnboundedReceiver<Observation>) -> Vec<String> {
        std::iter::from_fn(|| receiver.try_recv().ok()).map(|seen| seen.to_string()).collect()
    }

    #[test]
    fn the_first_list_is_silent_and_a_later_one_tells_the_difference() {
        let (mut watched, mut receiver) = watched();
        for event in [
            Event::Init,
            Event::InitApply(object("a", "1")),
            Event::InitApply(object("b", "2")),
            Event::InitDone,
        ] {
            watched.take(event, true);
        }
        assert!(told(&mut receiver).is_empty());
        for event in [
            Event::Init,
            Event::InitApply(object("b", "2")),
            Event::InitApply(object("c", "3")),
            Event::InitDone,
        ] {
            watched.take(event, false);
        }
        assert_eq!(told(&mut receiver), ["hub: Service n/c appeared", "hub: Service n/a is gone"]);
    }

    #[test]
    fn a_change_and_a_deletion_are_told_apart() {
        let (mut watched, mut receiver) = watched();
        watched.take(Event::Apply(object("a", "1")), false);
        watched.take(Event::Apply(object("a", "2")), false);
        watched.take(Event::Delete(object("a", "3")), false);
        assert_eq!(
            told(&mut receiver),
            ["hub: Service n/a appeared", "hub: Service n/a changed", "hub: Service n/a is gone"]
        );
    }
}
