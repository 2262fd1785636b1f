//! The tests' own clients.

use std::path::Path;

use anyhow::{Context, Result};
use fleet_runtime::clients;
use kube::client::retry::RetryPolicy;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder};

/// The agents' HTTP stack: it closes idle connections before the server does, while the library's own client waits
/// the same 90 s, so that a request may meet the closing. As that one, it tries again what the server was too busy
/// for. Needs a tokio runtime around it.
pub async fn client(config: &Config) -> Result<Client> {
    let once = without_retry(config).await?;
    let send = move |request| {
        let once = once.clone();
        async move { once.send(request).await.map_err(BoxError::from) }
    };
    let retry = RetryLayer::new(RetryPolicy::server_retry());
    let service = ServiceBuilder::new().layer(retry).service_fn(send);
    Ok(Client::new(service, config.default_namespace.clone()))
}

/// The same without trying again: a server that is too busy asks for seconds of patience, in which a watch would miss what
/// the server then forgets.
pub async fn without_retry(config: &Config) -> Result<Client> {
    Ok(clients::from_config("testbed", config.clone()).await?.write)
}

/// Reads a kubeconfig file.
pub async fn load(kubeconfig: &Path) -> Result<Config> {
    let file = Kubeconfig::read_from(kubeconfig)
        .with_context(|| format!("read {}", kubeconfig.display()))?;
    Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .with_context(|| format!("use {}", kubeconfig.display()))
}

/// A client for the user of the kubeconfig file.
pub async fn client_from_file(kubeconfig: &Path) -> Result<Client> {
    client(&load(kubeconfig).await?).await
}
