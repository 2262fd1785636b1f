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

/// Namespace of the objects that are made last: a watch that shows them has shown everything.
const LAST: &str = "last";
const DEADLINE: Duration = Duration::from_mins(2);

/// A real API server, and the versions from which its watches start.
pub(super) struct Real {
    client: Client,
    writer: Writer,
    begin: BTreeMap<ResourceKind, String>,
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
        Ok(Self { client, writer, begin })
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

    /// What the watches show of each namespace, once all sequences are played.
    pub(super) async fn versions(&self) -> Result<BTreeMap<String, Versions>> {
        join::namespace(&self.client, LAST).await?;
        let mut all: BTreeMap<String, Versions> = BTreeMap::new();
        for kind in KINDS {
            let mut object = content(kind, 0);
            object["metadata"] = serde_json::json!({ "name": LAST });
            object["apiVersion"] = kind.api_version().into();
            object["kind"] = kind.kind.into();
            let object = serde_json::from_value(object)?;
            let home = api(self.client.clone(), kind, Some(LAST));
            home.create(&PostParams::default(), &object).await?;
            let shown = tokio::time::timeout(DEADLINE, self.watch(kind, &mut all)).await;
            shown.with_context(|| format!("the watch of {}", kind.plural))??;
        }
        Ok(all)
    }

    async fn watch(&self, kind: ResourceKind, all: &mut BTreeMap<String, Versions>) -> Result<()> {
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
            if namespace == LAST {
                return Ok(());
            }
            let value = serde_json::to_value(&object)?;
            let versions = all.entry(namespace).or_default();
            let changes = versions.entry((kind.kind, name)).or_default();
            changes.push(change(normal(kind.kind, &value)));
        }
        bail!("it ended early")
    }
}
