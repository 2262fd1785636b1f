//! The HTTP stack below a client.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use http::HeaderValue;
use http::header::USER_AGENT;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::Client;
use kube::client::ConfigExt;
use kube::config::Config;
use tower::{BoxError, ServiceBuilder, ServiceExt};

use super::gated::Gated;
use super::token::{TokenFile, TokenLayer};

/// Limit of DNS, TCP and TLS together: a server that accepts and then sends nothing would hold a
/// watch for ever otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Shorter than the 90 s after which an API server closes an idle connection, so that it does not
/// close one that is just being used.
const IDLE_TIMEOUT: Duration = Duration::from_secs(80);

/// TCP keep-alive: a dead link is noticed after about a minute without traffic.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 3;

/// Name in the server's audit log.
const WHO: &str = concat!("fleet-networking/", env!("CARGO_PKG_VERSION"));

/// A client for `config`. Needs a tokio runtime around it.
pub(super) fn client(
    config: &Config,
    token: Option<&Arc<TokenFile>>,
) -> Result<Client, kube::Error> {
    if let Some(proxy) = &config.proxy_url {
        tracing::warn!(%proxy, "Proxies are not supported, connecting directly");
    }

    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEPALIVE_IDLE));
    tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(KEEPALIVE_PROBES));

    let tls = config.rustls_https_connector_with_connector(tcp)?.map_future(|connect| {
        async move {
            match tokio::time::timeout(CONNECT_TIMEOUT, connect).await {
                Ok(connected) => connected,
                Err(_) => Err(BoxError::from(io::Error::from(io::ErrorKind::TimedOut))),
            }
        }
        .boxed()
    });

    let http = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_timer(TokioTimer::new())
        .build::<_, Gated>(tls)
        .map_request(Gated::request);

    let mut agent = config.clone();
    // Headers that users want on each request of the hub belong here too.
    agent.headers.push((USER_AGENT, HeaderValue::from_static(WHO)));
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(token.cloned().map(TokenLayer))
        .option_layer(config.auth_layer()?)
        .layer(agent.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace.clone()))
}
