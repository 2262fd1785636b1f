//! What members may do on a hub, as its administrator lists it.

use anyhow::Result;
use kube::Client;
use serde_json::json;

use crate::apply::apply;

/// Name of the ConfigMap in the namespace of a member.
pub const NAME: &str = "member-policy";

/// Lists everything, as `fleetctl join` does.
pub async fn allow_all(hub: &Client, member_namespace: &str) -> Result<()> {
    allow(hub, member_namespace, "0.0.0.0/0,::/0", ("*", "*")).await
}

/// Lists ranges of addresses, exports and imports, separated by commas.
pub async fn allow(
    hub: &Client,
    member_namespace: &str,
    cidrs: &str,
    (exports, imports): (&str, &str),
) -> Result<()> {
    let policy = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": NAME, "namespace": member_namespace },
        "data": { "cidrs": cidrs, "exports": exports, "imports": imports },
    });
    apply(hub, policy).await
}
