//! How far an API server is, and one object, from the smallest list that there is.

use fleet_api::ObjectName;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::ListParams;
use serde::Deserialize;

use super::feed::Newest;
use super::request::{decode, send_headed};
use super::server::{Request, Server};
use super::spec::SourceSpec;
use super::wire_kind::WireKind;

/// An object of the kind may be as large as the API server allows.
const BYTES: u64 = 8 << 20;

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(default)]
    items: Option<Vec<Part>>,
}

#[derive(Deserialize)]
struct Part {
    metadata: Identity,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    name: String,
    uid: String,
    resource_version: String,
}

/// Asks for an object of the source, or else for any; `None` if the answer has no version.
pub(super) async fn newest(
    spec: &SourceSpec,
    kind: &WireKind,
    server: &Server,
    object: Option<&ObjectName>,
) -> kube::Result<Option<Newest>> {
    let own = spec.namespace.as_deref();
    let namespace = object.map(|object| &*object.namespace).filter(|name| !name.is_empty()).or(own);
    let request = kind.request_in(namespace);
    // An API server reads one object for that, and not the whole kind.
    let name = object.map(|object| format!("metadata.name={}", object.name));
    let fields: Vec<_> = name.into_iter().chain(spec.fields.clone()).collect();
    let params = ListParams {
        label_selector: spec.labels.clone(),
        field_selector: (!fields.is_empty()).then(|| fields.join(",")),
        limit: Some(1),
        ..ListParams::default()
    };
    // The metadata of an object is enough, and less of it.
    let (headers, answer) = send_headed(&spec.client, request.list_metadata(&params)).await?;
    let page: Page = decode(answer, BYTES).await?;
    let version = page.metadata.resource_version.filter(|version| !version.is_empty());
    let Some(version) = version else { return Ok(None) };
    // Administrators may order requests by namespace: only one for the same place as the lists can be compared. It is noted when the
    // answer is whole, since it is reported once.
    let is_another = namespace == own && server.is_another(Request::List, &headers);
    let mut items = page.items.unwrap_or_default().into_iter().map(|part| part.metadata);
    let found = items.find(|found| object.is_some_and(|object| found.name == *object.name));
    let object = found.map(|found| (found.uid.as_str().into(), found.resource_version.into()));
    Ok(Some(Newest { version: version.into(), object, is_another }))
}
