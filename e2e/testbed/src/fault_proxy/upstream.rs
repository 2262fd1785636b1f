//! The API server behind a proxy.

use anyhow::{Context, Result};
use fleet_runtime::clients;
use http::Request;
use http::header::CONTENT_TYPE;
use kube::config::AuthInfo;
use kube::{Client, Config};
use serde_json::json;

use super::request::Seen;

/// The annotation that [`Fault::Race`](super::Fault::Race) changes an object by.
pub const RACED: &str = "fault-proxy.test/raced";

/// The API server behind the proxy.
pub(super) struct Upstream {
    /// For the requests that pass, with whatever credential they bring.
    pub(super) client: Client,
    /// Another user's, with rights of its own.
    other: Client,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Upstream")
    }
}

impl Upstream {
    pub(super) async fn new(config: &Config) -> Result<Self> {
        // The agents' own stack: nothing is tried twice, and nothing waits for acknowledgements.
        let mut nobody = config.clone();
        nobody.auth_info = AuthInfo::default();
        let client = clients::from_config("upstream", nobody).await?.write;
        Ok(Self { client, other: crate::client::client(config).await? })
    }

    /// Changes the object that a request is about.
    pub(super) async fn race(&self, seen: &Seen) -> Result<()> {
        let (resource, _) = seen.resource.split_once('/').unwrap_or((&seen.resource, ""));
        let name = seen.name.as_deref().context("there is no object yet to change")?;
        let object = format!("/{resource}/{name}");
        let end = seen.path.find(&object).context("the path names its object")? + object.len();
        let change = json!({ "metadata": { "annotations": { RACED: seen.verb.to_string() } } });
        let request = Request::patch(&seen.path[..end])
            .header(CONTENT_TYPE, "application/merge-patch+json")
            .body(serde_json::to_vec(&change)?)?;
        let _: serde_json::Value = self.other.request(request).await?;
        Ok(())
    }
}
