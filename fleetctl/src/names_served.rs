//! Whether a cluster serves ServiceImports in the version that CoreDNS reads.

use fleet_api::kinds;
use kube::Client;

/// CoreDNS lists this version, and answers for clusterset.local once it can.
const VERSION: &str = "v1alpha1";

/// Asks the API server; `None` if it does not answer that.
pub(crate) async fn ask(client: &Client) -> Option<bool> {
    let kind = kinds::MCS_SERVICE_IMPORT;
    let served = client.list_api_group_resources(&format!("{}/{VERSION}", kind.group)).await;
    match served {
        Ok(list) => Some(list.resources.iter().any(|resource| resource.name == kind.plural)),
        Err(kube::Error::Api(status)) if status.code == 404 => Some(false),
        Err(_) => None,
    }
}
