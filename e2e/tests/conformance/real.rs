//! The API server's side.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind};
use fleet_plan::{Precondition, Step};
use fleet_runtime::metrics::Metrics;
use fleet_runtime::writer::{Class, WriteGate, Writer, WriterSettings};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::join;
use fleet_testbed::objects::api;
use futures::{StreamExt, TryStreamExt};
use kube::Client;
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};
use tokio_util::sync::CancellationToken;

use crate::kinds::{KINDS, content};
use crate::operations::Operation;
use crate::transcript::{Change, Versions, normal};

/// Begin of the names of namespaces whose objects are made last: a watch that shows them has shown everything before.
const LAST: &str = "last";
const DEADLINE: Duration = Duration::from_mins(2);

/// A real API server, and what its watches have shown of each namespace.
pub(super) struct Real {
    client: Client,
    writer: Writer,
    /// The versions up to which they have.
    begin: BTreeMap<ResourceKind, String>,
    shown: BTreeMap<String, Versions>,
    looks: usize,
}

impl Real {
    pub(super) async fn connect(cluster: &Cluster) -> Result<Self> {
        let client = cluster.client();
        let metrics = Metrics::new("conformance", "0")?.writer();
        let settings = WriterSettings::new("conformance");
        let clients = [(ClusterId::Hub, client.clone())];
        let writer = Writer::new(clients, settings, WriteGate::open(), metrics);
        let mut begin = BTreeMap::new();
        for kind in KINDS {
            let list = api(client.clone(), kind, None).list(&ListParams::default()).await?;
            begin.insert(kind, list.metadata.resource_version.context("a list has a version")?);
        }
        Ok(Self { client, writer, begin, shown: BTreeMap::new(), looks: 0 })
    }

    /// Plays a sequence in a new namespace, and returns the answers.
    pub(super) async fn play(
        &self,
        namespace: &str,
        sequence: &[Operation],
    ) -> Result<Vec<Option<Class>>> {
        join::namespace(&self.client, namespace).await?;
        let mut seen: BTreeMap<_, Vec<Precondition>> = BTreeMap::new();
        let mut answers = Vec::new();
        for operation in sequence {
            let seen = seen.entry((operation.kind, operation.name)).or_default();
            answers.push(self.send(operation.step(namespace, seen)).await?);
            let name = ObjectName::new(namespace, operation.name);
            let now = self.writer.get(ClusterId::Hub, &operation.kind, &name).await;
            let now = now.map_err(anyhow::Error::msg)?;
            seen.extend(now.filter(|now| seen.last() != Some(now)));
        }
        Ok(answers)
    }

    /// A server that has just started may forbid or put off anything.
    async fn send(&self, step: Step) -> Result<Option<Class>> {
        let steps = [step];
        let outcome = self.writer.execute(&steps, &CancellationToken::new()).await;
        match outcome.failures.first() {
            None => Ok(None),
            Some(failure) => match failure.class {
                Class::Transient | Class::Throttled | Class::Forbidden | Class::KindMissing => {
                    bail!("{}: {}", failure.class, failure.message)
                }
                class => Ok(Some(class)),
            },
        }
    }

    /// What the watches have shown of each namespace.
    pub(super) fn versions(self) -> BTreeMap<String, Versions> {
        self.shown
    }

    /// Reads what the watches show of all that was played since the last look. An API server keeps what they begin from for a minute
    /// only, so this is due before that is over.
    pub(super) async fn look(&mut self) -> Result<()> {
        self.looks += 1;
        let last = format!("{LAST}-{}", self.looks);
        join::namespace(&self.client, &last).await?;
        for kind in KINDS {
            let mut object = content(kind, 0);
            object["metadata"] = serde_json::json!({ "name": LAST });
            object["apiVersion"] = kind.api_version().into();
            object["kind"] = kind.kind.into();
            let object = serde_json::from_value(object)?;
            let home = api(self.client.clone(), kind, Some(&last));
            home.create(&PostParams::default(), &object).await?;
            let shown = tokio::time::timeout(DEADLINE, self.watch(kind, &last)).await;
            let version = shown.with_context(|| format!("the watch of {}", kind.plural))??;
            self.begin.insert(kind, version);
        }
        Ok(())
    }

    /// Follows the watch of a kind until it shows the object of the last namespace, and returns its version.
    async fn watch(&mut self, kind: ResourceKind, last: &str) -> Result<String> {
        let everywhere = api(self.client.clone(), kind, None);
        let mut events =
            everywhere.watch(&WatchParams::default(), &self.begin[&kind]).await?.boxed();
        while let Some(event) = events.try_next().await? {
            let (change, object) = match event {
                WatchEvent::Added(object) => (Change::Added as fn(_) -> _, object),
                WatchEvent::Modified(object) => (Change::Written as fn(_) -> _, object),
                WatchEvent::Deleted(object) => ((|_| Change::Gone) as fn(_) -> _, object),
                WatchEvent::Bookmark(_) => continue,
                WatchEvent::Error(status) => bail!("{status:?}"),
            };
            let namespace = object.metadata.namespace.clone().unwrap_or_default();
            let name = object.metadata.name.clone().unwrap_or_default();
            if namespace == last {
                return object.metadata.resource_version.context("an object has a version");
            }
            let value = serde_json::to_value(&object)?;
            let versions = self.shown.entry(namespace).or_default();
            let changes = versions.entry((kind.kind, name)).or_default();
            changes.push(change(normal(kind.kind, &value)));
        }
        bail!("it ended early")
    }
}
