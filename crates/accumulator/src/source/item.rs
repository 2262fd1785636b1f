//! From a watch event to what the state machine takes.

use fleet_api::ObjectName;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

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
    /// Whether a part of the content did not decode and was left out.
    pub(crate) is_partial: bool,
}

/// One event of a watch, decoded.
#[derive(Debug)]
pub(crate) enum Input<T> {
    /// A part of an answer has arrived.
    Progress,
    /// A list starts.
    ListStarted,
    /// An object of the list.
    Listed(Item<T>),
    /// The list is complete, and shows the kind at this version.
    ListCompleted(ResourceVersion),
    /// An object was added or changed.
    Applied(Item<T>),
    /// An object is gone.
    Deleted { name: ObjectName, uid: Uid, version: ResourceVersion },
    /// Nothing else has changed up to this version.
    Bookmark(ResourceVersion),
    /// A request is on its way.
    Requested,
    /// The API server has accepted a watch.
    WatchStarted,
    /// Another API server answers than before.
    ServerChanged,
    /// Something went wrong.
    Failed(Failure),
}

impl<T: Tracked> Input<T> {
    /// Reads an event and drops what is not kept of it.
    pub(crate) fn read(read: WatchItem<T::Wire>) -> Self {
        match read {
            WatchItem::Requested => Self::Requested,
            WatchItem::Progress => Self::Progress,
            WatchItem::ListStarted => Self::ListStarted,
            WatchItem::Listed(wire) => Self::Listed(item(wire)),
            WatchItem::ListCompleted(version) => Self::ListCompleted(version),
            WatchItem::WatchStarted => Self::WatchStarted,
            WatchItem::ServerChanged => Self::ServerChanged,
            WatchItem::Applied(wire) => Self::Applied(item(wire)),
            WatchItem::Deleted(wire) => {
                let (name, uid, version) = identity(kube::Resource::meta(&wire));
                Self::Deleted { name, uid, version }
            }
            WatchItem::Bookmark(version) => Self::Bookmark(version),
            WatchItem::Failed(error) => Self::Failed(Failure::from(&error)),
        }
    }

    /// Label value.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Progress => "progress",
            Self::ListStarted => "init",
            Self::Listed(_) => "listed",
            Self::ListCompleted(_) => "init_done",
            Self::Applied(_) => "applied",
            Self::Deleted { .. } => "deleted",
            Self::Bookmark(_) => "bookmark",
            Self::Requested => "asked",
            Self::WatchStarted => "watch_started",
            Self::ServerChanged => "server_changed",
            Self::Failed(_) => "failed",
        }
    }
}

fn identity<'a>(meta: &'a ObjectMeta) -> (ObjectName, Uid, ResourceVersion) {
    let field = |field: &'a Option<String>| field.as_deref().unwrap_or_default();
    let name = ObjectName::new(shared_text(field(&meta.namespace)), shared_text(field(&meta.name)));
    (name, field(&meta.uid).into(), field(&meta.resource_version).into())
}

/// Reads an object of which a field may not have decoded.
pub(crate) fn item<T: Tracked>(wire: T::Wire) -> Item<T> {
    let meta = kube::Resource::meta(&wire);
    let (name, uid, version) = identity(meta);
    let terminating = meta.deletion_timestamp.is_some();
    let defect = defect(meta).map(str::to_owned);
    let content = match &defect {
        Some(defect) => T::salvage(wire, defect),
        None => T::project(wire),
    };
    if let Some(reason) = content.as_ref().err().or(defect.as_ref()) {
        let (kind, namespace, id) = (T::KIND.label(), &*name.namespace, &*name.name);
        tracing::debug!(kind, namespace, name = id, error = %reason, "Cannot decode object");
    }
    let is_partial = content.is_ok() && defect.is_some();
    Item { name, uid, version, terminating, content, is_partial }
}
