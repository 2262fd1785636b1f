//! References in the form in which the agents keep them: what plans read, with the parts that many of them share.

use std::sync::Arc;

use fleet_accumulator::{Object, Uid, shared_name, shared_text};
use fleet_api::{ExportedObjectReference, ObjectName};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The object of a member cluster that something on the hub stands for; see [`ExportedObjectReference`].
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Name of the member cluster.
    pub cluster_id: Arc<str>,
    /// Incarnation of the object.
    pub uid: Uid,
    /// When, by the exporting member's clock, this generation was first seen.
    pub exported_since: Option<Time>,
    /// The text that says which object it is, where the rest contradicts it.
    object: Result<ObjectName, Box<str>>,
}

impl Reference {
    /// The object referred to; `None` if what is said of it does not agree.
    pub fn object(&self) -> Option<&ObjectName> {
        self.object.as_ref().ok()
    }

    /// What it says of which object it is, true or not.
    pub fn namespaced_name(&self) -> String {
        self.object.as_ref().map_or_else(ToString::to_string, ToString::to_string)
    }

    /// Whether it names `object` of this cluster, as [`reference::refers`](crate::reference::refers) tells of what is
    /// not kept in this form.
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
