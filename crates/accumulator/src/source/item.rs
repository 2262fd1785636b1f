//! From a watch event to what the state machine takes.

use fleet_api::ObjectName;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher;

use super::error::Failure;
use super::feed::WatchItem;
use crate::shared::shared_text;
use crate::wire::defect;
use crate::{ResourceVersion, Tracked, Uid};

/// One object of an event: identity, and content where it could be read.
#[derive(Debug)]
pub(crate) struct Item<T> {
    pub(crate) name: ObjectName,
    pub(crate) uid: Uid,
    pub(crate) version: ResourceVersion,
    /// Deletion was asked for.
    pub(crate) terminating: bool,
    /// The content, or why it cannot be read.
    pub(crate) content: Result<T, String>,
}

/// One event of a watch, decoded.
#[derive(Debug)]
pub(crate) enum Input<T> {
    /// A list starts.
    Init,
    /// An object of the list.
    Listed(Item<T>),
    /// The list is complete.
    InitDone,
    /// An object was added or changed.
    Applied(Item<T>),
    /// An object is gone.
    Deleted { name: ObjectName, uid: Uid },
    /// A request is on its way.
    Requested,
    /// The API server has accepted a watch.
    WatchStarted,
    /// Something went wrong.
    Failed(Failure),
}

impl<T: Tracked> Input<T> {
    /// Reads an event and drops what is not kept of it.
    pub(crate) fn read(heard: WatchItem<T::Wire>) -> Self {
        let event = match heard {
            WatchItem::Event(event) => event,
            WatchItem::Requested => return Self::Requested,
            WatchItem::WatchStarted => return Self::WatchStarted,
        };
        match event {
            Ok(watcher::Event::Init) => Self::Init,
            Ok(watcher::Event::InitApply(wire)) => Self::Listed(item(wire)),
            Ok(watcher::Event::InitDone) => Self::InitDone,
            Ok(watcher::Event::Apply(wire)) => Self::Applied(item(wire)),
            Ok(watcher::Event::Delete(wire)) => {
                let (name, uid, _) = identity(kube::Resource::meta(&wire));
                Self::Deleted { name, uid }
            }
            Err(error) => Self::Failed(Failure::from(&error)),
        }
    }

    /// Label value.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Listed(_) => "listed",
            Self::InitDone => "init_done",
            Self::Applied(_) => "applied",
            Self::Deleted { .. } => "deleted",
            Self::Requested => "asked",
            Self::WatchStarted => "watch_started",
            Self::Failed(_) => "failed",
        }
    }
}

fn identity<'a>(meta: &'a ObjectMeta) -> (ObjectName, Uid, ResourceVersion) {
    let field = |field: &'a Option<String>| field.as_deref().unwrap_or_default();
    let name = ObjectName::new(shared_text(field(&meta.namespace)), shared_text(field(&meta.name)));
    (name, field(&meta.uid).into(), field(&meta.resource_version).into())
}

fn item<T: Tracked>(wire: T::Wire) -> Item<T> {
    let meta = kube::Resource::meta(&wire);
    let (name, uid, version) = identity(meta);
    let terminating = meta.deletion_timestamp.is_some();
    let content = match defect(meta) {
        Some(defect) => Err(defect.to_owned()),
        None => T::project(wire),
    };
    Item { name, uid, version, terminating, content }
}
