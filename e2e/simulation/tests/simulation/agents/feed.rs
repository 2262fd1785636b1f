//! The watches of an agent, each with a valve by which a test makes it slow, or forgetful.

use std::collections::BTreeMap;

use fleet_accumulator::{Discovered, Events, Feed, ReadOptions, ResourceVersion, WatchItem};
use fleet_api::{ObjectName, ResourceKind};
use fleet_model_server::ApiServer;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

/// How a watch behaves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Valve {
    /// A list gets stuck half-way.
    pub(crate) list_stuck: bool,
    /// Changes do not come through.
    pub(crate) changes_stuck: bool,
    /// So many objects are missing in lists.
    pub(crate) omitted: usize,
    /// Lists that were asked for beside those that the agent makes itself.
    pub(crate) lists: u32,
}

/// Watches one kind of an [`ApiServer`].
pub(crate) struct ModelFeed {
    pub(crate) kind: ResourceKind,
    pub(crate) api: ApiServer,
    pub(crate) namespace: Option<String>,
    pub(crate) valve: watch::Receiver<Valve>,
}

type Objects = BTreeMap<ObjectName, Value>;

impl<W: DeserializeOwned + Send + 'static> Feed<W> for ModelFeed {
    fn open(&mut self, _: &ReadOptions, _: Option<&ResourceVersion>) -> Events<W> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let watching = Watching {
            kind: self.kind,
            api: self.api.clone(),
            namespace: self.namespace.clone(),
            valve: self.valve.clone(),
            known: Objects::new(),
            sender,
        };
        tokio::spawn(watching.run());
        let events = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|item| (item, receiver))
        });
        events.boxed()
    }

    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        Box::pin(std::future::ready(Ok(Discovered::Served)))
    }
}

struct Watching<W> {
    kind: ResourceKind,
    api: ApiServer,
    namespace: Option<String>,
    valve: watch::Receiver<Valve>,
    /// What the agent has received.
    known: Objects,
    sender: mpsc::UnboundedSender<WatchItem<W>>,
}

impl<W: DeserializeOwned> Watching<W> {
    /// Ends without a receiver, or when the agent is gone with its valves.
    async fn run(mut self) {
        let mut changes = self.api.changes();
        while let Some(lists) = self.list().await {
            while self.valve.borrow().lists == lists {
                if !self.valve.borrow().changes_stuck {
                    self.tell_changes();
                }
                let sender = self.sender.clone();
                tokio::select! {
                    _ = changes.changed() => {}
                    open = self.valve.changed() => if open.is_err() { return },
                    () = sender.closed() => return,
                }
            }
        }
    }

    /// A whole list; returns the number of lists that were asked for by then.
    async fn list(&mut self) -> Option<u32> {
        self.tell(WatchItem::ListStarted);
        // A server that has forgotten objects does not remember them in its watch either.
        self.known.clear();
        self.known = self.changed();
        let listed = self.known.len() - self.valve.borrow().omitted.min(self.known.len());
        let objects: Vec<Value> = self.known.values().take(listed).cloned().collect();
        for (at, object) in objects.iter().enumerate() {
            if at == listed / 2 {
                self.valve.wait_for(|valve| !valve.list_stuck).await.ok()?;
            }
            self.tell(WatchItem::Listed(wire(object)));
        }
        let lists = self.valve.wait_for(|valve| !valve.list_stuck).await.ok()?.lists;
        self.tell(WatchItem::ListCompleted("1".into()));
        Some(lists)
    }

    fn tell_changes(&mut self) {
        for (name, object) in self.changed() {
            self.tell(WatchItem::Applied(wire(&object)));
            self.known.insert(name, object);
        }
        let gone: Vec<ObjectName> = self.api.read(|model| {
            let gone = |name: &&ObjectName| model.get(self.kind, name).is_none();
            self.known.keys().filter(gone).cloned().collect()
        });
        for name in gone {
            if let Some(last) = self.known.remove(&name) {
                self.tell(WatchItem::Deleted(wire(&last)));
            }
        }
    }

    /// Objects that the agent has not received, or not in this version.
    fn changed(&self) -> Objects {
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        self.api.read(|model| {
            let names = model.names(self.kind).into_iter().filter(|name| {
                self.namespace.as_ref().is_none_or(|namespace| *name.namespace == **namespace)
            });
            let objects = names.map(|name| (name.clone(), model.get(self.kind, &name).unwrap()));
            objects
                .filter(|(name, object)| self.known.get(name).map(version) != Some(version(object)))
                .map(|(name, object)| (name, object.clone()))
                .collect()
        })
    }

    fn tell(&self, item: WatchItem<W>) {
        // A stream that was replaced by another has no receiver.
        self.sender.send(item).ok();
    }
}

fn wire<W: DeserializeOwned>(object: &Value) -> W {
    serde_json::from_value(object.clone()).unwrap()
}
