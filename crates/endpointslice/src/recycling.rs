//! Reuses slices that would be deleted for new content: one write instead of two, and no time without endpoints.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::changes::Update;
use crate::ownership;

/// Turns creates, beginning with the last, into updates of slices to delete, beginning with the first.
///
/// An update drops annotations and other metadata of the old slice. It carries the old uid and resource version, so that
/// it replaces only the version that was read.
pub(crate) fn recycle<'a>(
    service: &Service,
    creates: &mut Vec<EndpointSlice>,
    updates: &mut Vec<Update<'a>>,
    deletes: &mut Vec<&'a EndpointSlice>,
) {
    deletes.retain(|&doomed| {
        if !ownership::owns(service, doomed) {
            return true;
        }
        let Some(mut slice) = creates.pop() else {
            return true;
        };
        let old = &doomed.metadata;
        slice.metadata.name.clone_from(&old.name);
        slice.metadata.uid.clone_from(&old.uid);
        slice.metadata.resource_version.clone_from(&old.resource_version);
        updates.push(Update { slice, of: doomed, recycled: true });
        false
    });
}
