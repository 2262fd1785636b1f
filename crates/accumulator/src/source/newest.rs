//! The newest version of a kind, from the smallest list that there is.

use kube::api::ListParams;

use super::page::Head;
use super::request::read;
use super::spec::SourceSpec;
use super::wire_kind::WireKind;
use crate::ResourceVersion;

/// An object of the kind may be as large as the API server allows.
const BYTES: u64 = 8 << 20;

/// Asks for one object, and reads the version of the list alone; `None` if it has none.
pub(super) async fn newest(
    spec: &SourceSpec,
    kind: &WireKind,
) -> kube::Result<Option<ResourceVersion>> {
    let request = kind.request(spec);
    let params = ListParams {
        label_selector: spec.labels.clone(),
        field_selector: spec.fields.clone(),
        limit: Some(1),
        ..ListParams::default()
    };
    // The metadata of an object is enough, and less of it.
    let head: Head = read(&spec.client, request.list_metadata(&params), BYTES).await?;
    let version = head.metadata.resource_version.filter(|version| !version.is_empty());
    Ok(version.map(ResourceVersion::from))
}
