//! The HTTP stack below a client.

use std::io;
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

use super::address::shown;
use super::credential::Credential;
use super::gated::Gated;

/// Limit of DNS, TCP and TLS together: a server that accepts and then sends nothing would hold a
/// watch for ever otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Limit of TCP, divided among the addresses of a name: a dead one leaves time for the others, and these for TLS.
const TCP_TIMEOUT: Duration = Duration::from_secs(6);

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
pub(super) fn client(config: &Config, credential: &Credential) -> Result<Client, kube::Error> {
    if let Some(proxy) = &config.proxy_url {
        // It may have a password.
        let proxy = shown(&proxy.to_string());
        tracing::warn!(proxy, "Proxies are not supported, connecting directly");
    }

    let tcp = configured(HttpConnector::new());
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
        .option_layer(credential.token_layer())
        .option_layer(config.auth_layer()?)
        .layer(credential.answers_layer())
        .layer(agent.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace.clone()))
}

/// How connections are made and kept.
fn configured<R>(mut tcp: HttpConnector<R>) -> HttpConnector<R> {
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(TCP_TIMEOUT));
    tcp.set_keepalive(Some(KEEPALIVE_IDLE));
    tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(KEEPALIVE_PROBES));
    tcp
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::time::Instant;

    use hyper_util::client::legacy::connect::dns::Name;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    use tower::Service as _;

    use super::*;

    /// Any authority, valid for a hundred years.
    const AUTHORITY: &str = "\
-----BEGIN CERTIFICATE-----
MIIBdjCCAR2gAwIBAgIUKO5U3oM1SrvRv4cJJjq5LwTm8C8wCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFZmxlZXQwIBcNMjYxMTIzMDU0NzE3WhgPMjEyNjEwMzAwNTQ3
MTdaMBAxDjAMBgNVBAMMBWZsZWV0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
9CNLQ8k1ozf2VyKWLhJtayVhLjve9NnA8gieqbEVxD56rtXIXdy1DRJrAjLW1DPZ
lQasVAWmTIt/QbIMu/nRhqNTMFEwHQYDVR0OBBYEFJXADObziBkLFYTgLTu544/4
o7ZQMB8GA1UdIwQYMBaAFJXADObziBkLFYTgLTu544/4o7ZQMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgRB/FLrOEEHDM1AEnv08UaB3R5Ek2Rizg
FawhwLbMMvYCID5aq38fL3c3QEcl0bG0p/5Ht3ubOWxn8uol2CLrkyWw
-----END CERTIFICATE-----
";

    /// A listener that takes no further connections: its queue is full, and what comes is not answered.
    fn dead(listener: &TcpListener) -> Vec<TcpStream> {
        let address = listener.local_addr().unwrap();
        let brief = Duration::from_millis(200);
        let connect = |_| TcpStream::connect_timeout(&address, brief).ok();
        (0..10_000).map_while(connect).collect()
    }

    /// A Pod's CA can change while the agent runs: the library reads the file again, at most once a minute, and keeps the
    /// last CA while it cannot be read. At the start the file has to be there.
    #[tokio::test]
    async fn the_ca_of_a_pod_comes_from_its_file() {
        let path = std::env::temp_dir().join(format!("fleet-ca-{}", std::process::id()));
        let mut config = Config::new("https://own.example".parse().unwrap());
        let authority = CertificateDer::from_pem_slice(AUTHORITY.as_bytes()).unwrap();
        config.root_cert = Some(vec![authority.to_vec()]);
        config.root_cert_file = Some(path.clone());
        assert!(client(&config, &Credential::default()).is_err(), "there is no such file");
        std::fs::write(&path, AUTHORITY).unwrap();
        let made = client(&config, &Credential::default());
        std::fs::remove_file(&path).unwrap();
        assert!(made.is_ok(), "{:?}", made.err());
    }

    #[tokio::test]
    async fn a_dead_address_leaves_time_for_the_others() {
        let live = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = live.local_addr().unwrap().port();
        let full = TcpListener::bind(("127.0.0.2", port)).unwrap();
        let waiting = dead(&full);
        let addresses = [full.local_addr().unwrap(), live.local_addr().unwrap()];
        let resolver = tower::service_fn(move |_: Name| {
            std::future::ready(Ok::<_, Infallible>(Vec::<SocketAddr>::from(addresses).into_iter()))
        });
        let mut tcp = configured(HttpConnector::new_with_resolver(resolver));
        let begin = Instant::now();
        let url = format!("https://hub.example:{port}").parse().unwrap();
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, tcp.call(url)).await.unwrap();
        assert!(connected.is_ok(), "{:?}", connected.err());
        assert!(begin.elapsed() >= TCP_TIMEOUT / 2, "the first address was not dead");
        drop(waiting);
    }
}
