//! One selection, and what was read of it.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::ObjectName;
use futures::stream::AbortHandle;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::ResourceVersion;
use crate::source::feed::WatchItem;
use crate::source::server::Server;

/// Objects that a source reads among others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selection {
    /// Their namespace; all if `None`.
    pub namespace: Option<String>,
    /// A field selector.
    pub fields: String,
}

impl Selection {
    /// The object of one name. Who may read that one alone may read this.
    pub fn named(name: &ObjectName) -> Self {
        let namespace = (!name.namespace.is_empty()).then(|| name.namespace.to_string());
        Self { namespace, fields: format!("metadata.name={}", name.name) }
    }

    /// The Pods of one node.
    pub fn of_node(node: &str) -> Self {
        Self { namespace: None, fields: format!("spec.nodeName={node}") }
    }

    /// Name of the object that is in the view while the selection was read and is followed. No object of a namespace has it.
    pub fn marker(&self) -> ObjectName {
        let Self { namespace, fields } = self;
        ObjectName::cluster(match namespace {
            Some(namespace) => format!("{namespace}/{fields}"),
            None => fields.clone(),
        })
    }
}

/// What was read of one selection.
pub(super) struct Branch {
    /// Ends the stream.
    pub(super) abort: AbortHandle,
    /// Distinguishes its stream from earlier ones.
    pub(super) stream: u64,
    /// What the view has of it: name and uid.
    known: BTreeMap<ObjectName, String>,
    /// What the list that is being read has shown.
    listing: Option<BTreeSet<ObjectName>>,
    /// From where its watch continues.
    pub(super) version: Option<ResourceVersion>,
    /// Whether its marker is in the view.
    pub(super) is_marked: bool,
    /// What has answered its requests so far.
    pub(super) server: Server,
}

impl Branch {
    pub(super) fn new(abort: AbortHandle, stream: u64, server: Server) -> Self {
        let (known, listing, version) = (BTreeMap::new(), None, None);
        Self { abort, stream, known, listing, version, is_marked: false, server }
    }

    pub(super) fn begin_list(&mut self) {
        self.listing = Some(BTreeSet::new());
    }

    /// Takes note of an object that was listed or has changed.
    pub(super) fn shows<W: Resource<DynamicType = ()>>(&mut self, object: &W) {
        let name = name_of(object);
        if let Some(listing) = &mut self.listing {
            listing.insert(name.clone());
        } else {
            self.version = object.meta().resource_version.as_deref().map(Into::into);
        }
        self.known.insert(name, object.meta().uid.clone().unwrap_or_default());
    }

    /// Takes note of an object that is gone.
    pub(super) fn loses<W: Resource<DynamicType = ()>>(&mut self, object: &W) {
        self.version = object.meta().resource_version.as_deref().map(Into::into);
        self.known.remove(&name_of(object));
    }

    /// The list is complete. Returns what was known and is not in it.
    pub(super) fn end_list(&mut self, version: &ResourceVersion) -> Vec<(ObjectName, String)> {
        self.version = Some(version.clone());
        let Some(seen) = self.listing.take() else { return Vec::new() };
        let gone = self.known.extract_if(.., |name, _| !seen.contains(name));
        gone.collect()
    }

    /// All that was known.
    pub(super) fn into_known(self) -> impl Iterator<Item = (ObjectName, String)> {
        self.known.into_iter()
    }

    pub(super) fn knows(&self, name: &ObjectName) -> bool {
        self.known.contains_key(name)
    }
}

fn name_of<W: Resource<DynamicType = ()>>(object: &W) -> ObjectName {
    let meta = object.meta();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    ObjectName::new(text(&meta.namespace), text(&meta.name))
}

/// An object with a name and nothing else; `None` for a kind that cannot be without more.
pub(super) fn bare<W: DeserializeOwned>(
    name: &ObjectName,
    uid: &str,
    version: &ResourceVersion,
) -> Option<W> {
    let mut metadata = json!({
        "name": *name.name, "uid": uid, "resourceVersion": version.to_string(),
    });
    if !name.namespace.is_empty() {
        metadata["namespace"] = (*name.namespace).into();
    }
    serde_json::from_value(json!({ "metadata": metadata })).ok()
}

/// That an object is gone.
pub(super) fn gone<W: DeserializeOwned>(
    name: &ObjectName,
    uid: &str,
    version: &ResourceVersion,
) -> Option<WatchItem<W>> {
    bare(name, uid, version).map(WatchItem::Deleted)
}
