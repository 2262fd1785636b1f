//! Whether a kind is served, as discovery lists it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;

use super::feed::Discovered;
use super::request::get;
use super::wire_kind::WireKind;

/// A group has a few kinds; this is enough for thousands.
const BYTES: u64 = 8 << 20;

/// Asks for the kinds of a group. Unlike kube's own request, this one keeps what the API server asks for with
/// `Retry-After`, and ends with an answer that is too large.
pub(super) async fn discover(client: &Client, kind: &WireKind) -> kube::Result<Discovered> {
    let list: APIResourceList = match get(client, &kind.group_path, BYTES).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Discovered::Absent),
        answer => answer?,
    };
    let found = list.resources.iter().find(|resource| resource.name == kind.plural);
    Ok(match found {
        None => Discovered::Absent,
        Some(resource) if resource.verbs.iter().any(|verb| verb == "create") => Discovered::Served,
        Some(_) => Discovered::Terminating,
    })
}
