//! Gives new content to slices that would be deleted: one write instead of two, and no moment without endpoints.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::changes::Update;
use crate::ownership;

/// Turns creates, the last first, into updates of doomed slices, the first first.
///
/// The result is a new slice under an old name: annotations and foreign metadata of the old one go. It carries uid and
/// resource version of the old one, so that it replaces no other version than the one that was looked at.
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
