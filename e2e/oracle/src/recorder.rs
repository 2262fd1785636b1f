//! Recording the watch history of every cluster of a fleet.
//!
//! Each watch goes on where it was after a cut, so that no version is missed; where a server has forgotten the past,
//! the difference to a new list stands for it.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use fleet_api::ResourceKind;
use fleet_api::kinds::{self, kinds_of_hub, kinds_of_member};
use fleet_runtime::clock::Clock;
use futures::{StreamExt, TryStreamExt};
use kube::Api;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use super::kind::{OF_STANDARD_HUB, OF_STANDARD_MEMBER};
use super::record::{END, Event, Line, Mark, What};
use fleet_testbed::client;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::objects::api;

/// File name of the history, in the folder of the run.
pub const HISTORY: &str = "history.jsonl";
/// File name of an audit log, in the folder of its cluster.
pub const AUDIT_LOG: &str = "audit.jsonl";

/// Pause before a watch is tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// The same where the kind is not served: not every member knows external workloads.
const ABSENCE: Duration = Duration::from_secs(1);

/// Kinds beside those that the agents make, on the hub.
const MEMBERSHIP: [ResourceKind; 3] =
    [kinds::INTERNAL_MEMBER_CLUSTER, kinds::MEMBER_CLUSTER, kinds::NAMESPACE];

/// Watches everything until it is stopped.
#[derive(Debug)]
pub struct Recorder {
    lines: mpsc::UnboundedSender<Line>,
    clock: Clock,
    path: PathBuf,
    watches: JoinSet<()>,
    file: JoinHandle<Result<()>>,
}

impl Recorder {
    /// Starts watching everything, and returns when every kind was listed. The history goes into the folder of the run.
    pub async fn start(fleet: &Fleet) -> Result<Self> {
        let path = fleet.run_path().join(HISTORY);
        let (lines, received) = mpsc::unbounded_channel();
        let file = tokio::spawn(write(path.clone(), received));
        let (clock, mut watches) = (Clock::system(), JoinSet::new());
        let (listed, mut lists) = mpsc::unbounded_channel();
        let further = [kinds::NAMESPACE, kinds::EXTERNAL_WORKLOAD];
        let of_hub: Vec<_> = kinds_of_hub().chain(MEMBERSHIP).chain(OF_STANDARD_HUB).collect();
        let of_member: Vec<_> =
            kinds_of_member().chain(further).chain(OF_STANDARD_MEMBER).collect();
        let members = fleet.members().iter().map(|member| (member, &of_member));
        for (cluster, kinds) in iter::once((fleet.hub(), &of_hub)).chain(members) {
            let client = client::without_retry(cluster.config()).await?;
            for kind in kinds {
                let watch = Watch {
                    cluster: cluster.name().to_owned(),
                    kind: *kind,
                    api: api(client.clone(), *kind, None),
                    known: BTreeMap::new(),
                    lines: lines.clone(),
                    clock: clock.clone(),
                };
                watches.spawn(watch.run(listed.clone()));
            }
        }
        for _ in 0..watches.len() {
            lists.recv().await.context("a watch of the recorder has ended")?;
        }
        Ok(Self { lines, clock, path, watches, file })
    }

    /// Writes a mark.
    pub fn mark(&self, mark: impl Into<String>) {
        let mark = Mark { at: self.clock.now().as_microsecond(), mark: mark.into() };
        // The writer ends only after this.
        let _ = self.lines.send(Line::Mark(mark));
    }

    /// Stops watching, and returns where the whole history is.
    pub async fn stop(mut self) -> Result<PathBuf> {
        self.watches.shutdown().await;
        self.mark(END);
        drop(self.lines);
        self.file.await.context("the history's writer")??;
        Ok(self.path)
    }
}

async fn write(path: PathBuf, mut lines: mpsc::UnboundedReceiver<Line>) -> Result<()> {
    let file = std::fs::File::create(&path).with_context(|| format!("write {}", path.display()))?;
    let mut file = BufWriter::new(file);
    while let Some(line) = lines.recv().await {
        serde_json::to_writer(&mut file, &line)?;
        file.write_all(b"\n")?;
        if lines.is_empty() {
            file.flush()?;
        }
    }
    Ok(file.flush()?)
}

/// Copies the record of a run, history and audit logs, to a place that outlives the run.
pub fn keep(run: &Path, target: &Path) -> Result<()> {
    let copy = |name: &Path| -> Result<()> {
        let to = target.join(name);
        std::fs::create_dir_all(to.parent().unwrap_or(target))?;
        std::fs::copy(run.join(name), to).with_context(|| format!("keep {}", name.display()))?;
        Ok(())
    };
    copy(Path::new(HISTORY))?;
    for entry in std::fs::read_dir(run)? {
        let log = Path::new(&entry?.file_name()).join(AUDIT_LOG);
        if run.join(&log).exists() {
            copy(&log)?;
        }
    }
    Ok(())
}

struct Watch {
    cluster: String,
    kind: ResourceKind,
    api: Api<DynamicObject>,
    /// Objects by `namespace/name`.
    known: BTreeMap<String, DynamicObject>,
    lines: mpsc::UnboundedSender<Line>,
    clock: Clock,
}

impl Watch {
    async fn run(mut self, listed: mpsc::UnboundedSender<()>) {
        let mut first = true;
        loop {
            let list = self.api.list(&ListParams::default()).await;
            let absent = matches!(&list, Err(kube::Error::Api(status)) if status.code == 404);
            if let Ok(list) = list {
                let version = list.metadata.resource_version.unwrap_or_default();
                self.take_list(list.items, std::mem::take(&mut first));
                let _ = listed.send(());
                self.follow(version).await;
            } else if absent && std::mem::take(&mut first) {
                let _ = listed.send(());
            }
            tokio::time::sleep(if absent { ABSENCE } else { PAUSE }).await;
        }
    }

    /// Follows the watch from a version on, until the server has forgotten it.
    async fn follow(&mut self, mut version: String) {
        loop {
            let events = self.api.watch(&WatchParams::default().timeout(290), &version).await;
            let mut events = match events {
                Ok(events) => events.boxed(),
                Err(kube::Error::Api(status)) if status.code == 410 => return,
                Err(_) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            while let Ok(Some(event)) = events.try_next().await {
                match event {
                    WatchEvent::Added(object) => self.tell(What::Added, object, &mut version),
                    WatchEvent::Modified(object) => self.tell(What::Changed, object, &mut version),
                    WatchEvent::Deleted(object) => self.tell(What::Gone, object, &mut version),
                    WatchEvent::Bookmark(bookmark) => {
                        version = bookmark.metadata.resource_version;
                    }
                    WatchEvent::Error(status) if status.code == 410 => return,
                    WatchEvent::Error(_) => break,
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn take_list(&mut self, objects: Vec<DynamicObject>, first: bool) {
        let mut gone = std::mem::take(&mut self.known);
        for object in objects {
            let before = gone.remove(&key(&object));
            let same = before.as_ref().is_some_and(|before| {
                before.metadata.resource_version == object.metadata.resource_version
            });
            let what = match before {
                None if first => What::Found,
                None => What::Added,
                Some(_) => What::Changed,
            };
            self.known.insert(key(&object), object.clone());
            if !same {
                self.send(what, object);
            }
        }
        for object in gone.into_values() {
            self.send(What::Gone, object);
        }
    }

    fn tell(&mut self, what: What, object: DynamicObject, version: &mut String) {
        version.clone_from(object.metadata.resource_version.as_ref().unwrap_or(&String::new()));
        if what == What::Gone {
            self.known.remove(&key(&object));
        } else {
            self.known.insert(key(&object), object.clone());
        }
        self.send(what, object);
    }

    fn send(&self, what: What, mut object: DynamicObject) {
        object.metadata.managed_fields = None;
        let event = Event {
            at: self.clock.now().as_microsecond(),
            cluster: self.cluster.clone(),
            kind: self.kind.kind.to_owned(),
            what,
            object: serde_json::to_value(&object).unwrap_or(Value::Null),
        };
        // The writer ends only after the watches.
        let _ = self.lines.send(Line::Event(event));
    }
}

fn key(object: &DynamicObject) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    format!("{}/{}", part(&object.metadata.namespace), part(&object.metadata.name))
}
