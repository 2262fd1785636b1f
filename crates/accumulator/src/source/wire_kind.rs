//! What requests name a kind by. What asks and reads in its name is compiled once, and not for each kind.

use kube::Resource;
use kube::core::Request;

use super::spec::SourceSpec;

/// A kind on an API server.
#[derive(Clone, Debug)]
pub(super) struct WireKind {
    /// Where discovery lists the kinds of its group and version.
    pub(super) group_path: String,
    pub(super) plural: String,
    /// The path of its objects, in a namespace or in all of them.
    path: fn(Option<&str>) -> String,
    /// Whether only the metadata of its objects is read.
    pub(super) is_metadata: bool,
}

impl WireKind {
    pub(super) fn of<W: Resource<DynamicType = ()>>() -> Self {
        let root = if W::group(&()).is_empty() { "api" } else { "apis" };
        Self {
            group_path: format!("/{root}/{}", W::api_version(&())),
            plural: W::plural(&()).into_owned(),
            path: |namespace| W::url_path(&(), namespace),
            is_metadata: W::metadata_api(),
        }
    }

    /// Makes requests for the objects of a source.
    pub(super) fn request(&self, spec: &SourceSpec) -> Request {
        self.request_in(spec.namespace.as_deref())
    }

    /// Makes requests for the objects of a namespace, or of all of them.
    pub(super) fn request_in(&self, namespace: Option<&str>) -> Request {
        Request::new((self.path)(namespace))
    }
}
