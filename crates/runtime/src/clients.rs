//! Clients for the two API servers of an agent.
//!
//! The stack differs from the library's default in four ways, all of them measured or burnt in:
//! `TCP_NODELAY` is set (without it the first request with a body on each new connection takes 45 ms
//! instead of 4), there is no hidden retry (a throttled write could sit for minutes), there is no
//! read timeout (it kills idle watches; the [writer](crate::writer) bounds each request itself),
//! and a token file is re-read when it changes and when the server refuses the token.

mod access;
mod address;
mod answers;
mod client_set;
mod connect;
mod credential;
mod dynamic;
mod error;
mod gated;
mod headers;
mod hub;
mod pem;
mod token;

use std::path::Path;

use fleet_accumulator::one_line;
use http::Uri;
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};

pub use access::HubAccess;
pub use address::{require_encryption, shown};
pub use client_set::{ClientSet, from_config};
pub use credential::Credential;
pub use dynamic::dynamic;
pub use error::ClientError;
pub use hub::{
    CONFIG_PATH, HUB_CERTIFICATE_AUTHORITY, HUB_KUBE_HEADER, HUB_SERVER_URL, HubSettings,
};
pub use pem::{certificates_from_pem, certificates_to_pem};
pub use token::TokenFile;

/// Clients for the own cluster: `kubeconfig` (the flag), else as [`local`].
///
/// # Errors
/// One line that names what was tried.
pub async fn own(kubeconfig: Option<&Path>) -> Result<ClientSet, ClientError> {
    let Some(path) = kubeconfig else { return local().await };
    let invalid = |reason| ClientError::Invalid { variable: "--kubeconfig", reason };
    let file = Kubeconfig::read_from(path)
        .map_err(|error| invalid(format!("{}: {}", path.display(), one_line(&error))))?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    from_config("own", config.map_err(|error| invalid(one_line(&error)))?).await
}

/// Clients for the own cluster: `KUBECONFIG`, else the Pod's service account, else `~/.kube/config`.
///
/// # Errors
/// One line that names what was tried.
pub async fn local() -> Result<ClientSet, ClientError> {
    let explicit = std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty());
    let in_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let config = if explicit {
        Config::from_kubeconfig(&KubeConfigOptions::default()).await.map_err(|error| {
            ClientError::Invalid { variable: "KUBECONFIG", reason: one_line(&error) }
        })?
    } else if in_pod {
        Config::incluster()
            .map_err(|error| ClientError::Settings { cluster: "local", reason: one_line(&error) })?
    } else {
        Config::from_kubeconfig(&KubeConfigOptions::default())
            .await
            .map_err(|error| ClientError::NoCluster { reason: one_line(&error) })?
    };
    from_config("local", config).await
}

/// A client for a server that is no API server and asks for nothing.
pub(crate) fn without_credentials(server: Uri) -> Result<Client, kube::Error> {
    connect::client(&Config::new(server), &Credential::default())
}
