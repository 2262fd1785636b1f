//! References in the form in which the agents keep them: what plans read, with the parts that many of them share.

use std::sync::Arc;

use fleet_accumulator::{Object, Uid, shared_name, shared_text};
use fleet_api::{ExportedObjectReference, ObjectName};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// A reference from an object on the hub to the member's object that it represents; see [`ExportedObjectReference`].
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Name of the member cluster.
    pub cluster_id: Arc<str>,
    /// Uid of the object.
    pub uid: Uid,
    /// When, by the exporting member's clock, this generation was first seen.
    pub exported_since: Option<Time>,
    /// Name of the object; the text of `namespacedName` where the other fields contradict it.
    object: Result<ObjectName, Box<str>>,
}

impl Reference {
    /// The object referred to; `None` if namespace, name and `namespacedName` contradict each other.
    pub fn object(&self) -> Option<&ObjectName> {
        self.object.as_ref().ok()
    }

    /// `namespacedName` as it is written, even if other fields contradict it.
    pub fn namespaced_name(&self) -> String {
        self.object.as_ref().map_or_else(ToString::to_string, ToString::to_string)
    }

    /// Whether it names `object` of this cluster, as [`reference::refers`](crate::reference::refers) does for
    /// references on the wire.
    pub fn refers<T>(&self, cluster: &str, object: &Object<T>) -> bool {
        *self.cluster_id == *cluster
            && self.uid == object.uid
            && self.object() == Some(&object.name)
    }
}

impl From<&ExportedObjectReference> for Reference {
    fn from(reference: &ExportedObjectReference) -> Self {
        let object = reference.object().as_ref().map(shared_name);
        Self {
            cluster_id: shared_text(&reference.cluster_id),
            uid: reference.uid.as_str().into(),
            exported_since: reference.exported_since.clone(),
            object: object.ok_or_else(|| reference.namespaced_name.as_str().into()),
        }
    }
}
