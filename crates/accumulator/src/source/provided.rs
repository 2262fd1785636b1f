//! Objects that this process provides: what it finds out itself and decides on like on anything that a server shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt as _};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;
use tokio::sync::watch;

use super::feed::{Discovered, Events, Feed, ReadOptions, WatchItem};
use super::openapi::Document;
use crate::ResourceVersion;

/// Objects without a namespace, by their names.
pub type Provided = Arc<BTreeMap<String, Value>>;

/// Provides other objects than before; the same ones wake no reader.
pub fn provide(to: &watch::Sender<Provided>, objects: BTreeMap<String, Value>) {
    to.send_if_modified(|known| {
        let is_new = **known != objects;
        if is_new {
            *known = Arc::new(objects);
        }
        is_new
    });
}

/// The objects that this process provides; without a sender, no list is ever complete.
pub struct ProvidedFeed {
    objects: Option<watch::Receiver<Provided>>,
    /// Counts what was shown.
    version: u64,
}

impl ProvidedFeed {
    /// Shows what is provided.
    pub fn new(objects: Option<watch::Receiver<Provided>>) -> Self {
        Self { objects, version: 0 }
    }
}

impl Feed<Document> for ProvidedFeed {
    /// It always lists: that costs nothing.
    fn open(&mut self, _: &ReadOptions, _: Option<&ResourceVersion>) -> Events<Document> {
        let Some(mut objects) = self.objects.clone() else { return stream::pending().boxed() };
        let shown = Arc::clone(&objects.borrow_and_update());
        // Greater than what any earlier stream can have reached.
        self.version += 1 << 32;
        let version = self.version;
        let listed = shown.iter().map(|(name, value)| document(name, value, version));
        let listed: Vec<_> = listed.map(WatchItem::Listed).collect();
        let list = [WatchItem::ListStarted].into_iter().chain(listed).chain([
            WatchItem::ListCompleted(version.to_string().as_str().into()),
            WatchItem::WatchStarted,
        ]);
        let changes = stream::unfold((objects, shown, version), async |mut state| {
            let (objects, shown, version) = &mut state;
            if objects.changed().await.is_err() {
                // The sender has ended, and the process is about to.
                std::future::pending::<()>().await;
            }
            let new = Arc::clone(&objects.borrow_and_update());
            *version += 1;
            let changes = changes(shown, &new, *version);
            *shown = new;
            Some((changes, state))
        });
        stream::iter(list).chain(changes.flat_map(stream::iter)).boxed()
    }

    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        Box::pin(std::future::ready(Ok(Discovered::Served)))
    }
}

fn changes(old: &Provided, new: &Provided, version: u64) -> Vec<WatchItem<Document>> {
    let applied = new.iter().filter(|(name, value)| old.get(*name) != Some(value));
    let applied = applied.map(|(name, value)| WatchItem::Applied(document(name, value, version)));
    let gone = old.iter().filter(|(name, _)| !new.contains_key(*name));
    let gone = gone.map(|(name, value)| WatchItem::Deleted(document(name, value, version)));
    applied.chain(gone).collect()
}

fn document(name: &str, value: &Value, version: u64) -> Document {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        uid: Some(name.to_owned()),
        resource_version: Some(version.to_string()),
        ..ObjectMeta::default()
    };
    Document { metadata, document: value.clone() }
}

#[cfg(test)]
mod tests {
    use prometheus::{Histogram, HistogramOpts};
    use serde_json::json;

    use super::*;

    fn provided<const N: usize>(objects: [(&str, u64); N]) -> Provided {
        Arc::new(objects.map(|(name, value)| (name.to_owned(), json!(value))).into())
    }

    async fn next(events: &mut Events<Document>) -> String {
        let name = |object: &Document| object.metadata.name.clone().unwrap_or_default();
        match events.next().await.unwrap() {
            WatchItem::ListStarted => "list".to_owned(),
            WatchItem::Listed(object) => format!("listed {} {}", name(&object), object.document),
            WatchItem::ListCompleted(_) => "complete".to_owned(),
            WatchItem::WatchStarted => "watch".to_owned(),
            WatchItem::Applied(object) => format!("applied {} {}", name(&object), object.document),
            WatchItem::Deleted(object) => format!("deleted {}", name(&object)),
            other => panic!("unexpected: {other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_provided_is_listed_and_then_followed() {
        let (sender, receiver) = watch::channel(provided([("a", 1), ("b", 1)]));
        let decoding = Histogram::with_opts(HistogramOpts::new("decoding", "unused")).unwrap();
        let options = ReadOptions { page_size: 1, decoding };
        let mut feed = ProvidedFeed::new(Some(receiver));
        let mut events = feed.open(&options, None);
        for expected in ["list", "listed a 1", "listed b 1", "complete", "watch"] {
            assert_eq!(next(&mut events).await, expected);
        }
        sender.send_replace(provided([("b", 2), ("c", 1)]));
        for expected in ["applied b 2", "applied c 1", "deleted a"] {
            assert_eq!(next(&mut events).await, expected);
        }
        let mut again = feed.open(&options, Some(&"7".into()));
        for expected in ["list", "listed b 2", "listed c 1", "complete", "watch"] {
            assert_eq!(next(&mut again).await, expected);
        }
    }
}
