//! Clients for the two API servers of an agent.
//!
//! The stack differs from the library's default in four ways, all of them measured or burnt in:
//! `TCP_NODELAY` is set (without it the first request with a body on each new connection takes 45 ms
//! instead of 4), there is no hidden retry (a throttled write could sit for minutes), there is no
//! read timeout (it kills idle watches; the [writer](crate::writer) bounds each request itself),
//! and a token file is re-read when it changes and when the server refuses the token.

mod access;
mod connect;
mod dynamic;
mod error;
mod gated;
mod headers;
mod pem;
mod token;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use http::Uri;
use http::header::{HeaderName, HeaderValue};
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

pub use access::HubAccess;
pub use dynamic::dynamic;
pub use error::{ClientError, one_line};
pub use pem::certificates_to_pem;
pub use token::TokenFile;

/// Environment variable with the base URL of the hub's API server.
pub const HUB_SERVER_URL: &str = "HUB_SERVER_URL";
/// Environment variable with the path of the file that holds the hub's bearer token.
pub const CONFIG_PATH: &str = "CONFIG_PATH";
/// Environment variable with the hub's CA: PEM, then base64. System roots if absent.
pub const HUB_CERTIFICATE_AUTHORITY: &str = "HUB_CERTIFICATE_AUTHORITY";
/// Environment variable with header lines for each request to the hub.
pub const HUB_KUBE_HEADER: &str = "HUB_KUBE_HEADER";

/// How long [`ClientSet::check`] waits for an answer.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// The clients of one API server. They share credentials, not connections.
#[derive(Clone)]
pub struct ClientSet {
    /// For lists and watches.
    pub watch: Client,
    /// For the writer: nothing long-lived stands in its way.
    pub write: Client,
    /// For the lease: many writes do not delay its renewal.
    pub lease: Client,
    /// The server, for messages.
    pub url: String,
}

impl ClientSet {
    fn new(
        cluster: &'static str,
        config: &Config,
        token: Option<&Arc<TokenFile>>,
    ) -> Result<Self, ClientError> {
        let url = config.cluster_url.to_string();
        let build = || {
            connect::client(config, token)
                .map_err(|error| ClientError::Settings { cluster, reason: one_line(&error) })
        };
        Ok(Self { watch: build()?, write: build()?, lease: build()?, url })
    }

    /// Asks the server for its version: the first request that shows a wrong address, a wrong CA or
    /// a refused token.
    ///
    /// # Errors
    /// One line with the URL and the innermost reason.
    pub async fn check(&self) -> Result<String, ClientError> {
        let unreachable = |reason| ClientError::Unreachable { url: self.url.clone(), reason };
        match tokio::time::timeout(CHECK_TIMEOUT, self.write.apiserver_version()).await {
            Ok(Ok(version)) => Ok(version.git_version),
            Ok(Err(error)) => Err(unreachable(one_line(&error))),
            Err(_) => Err(unreachable(format!("no answer within {} s", CHECK_TIMEOUT.as_secs()))),
        }
    }
}

/// Where the hub is and who we are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSettings {
    /// Base URL of its API server.
    pub url: String,
    /// File with the bearer token.
    pub token_path: PathBuf,
    /// CA as base64 of PEM; system roots if absent.
    pub ca_pem_base64: Option<String>,
    /// Headers of each request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Accept any server certificate; the CA does not matter then.
    pub insecure: bool,
}

impl HubSettings {
    fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ClientError> {
        let get = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        let required = |variable| get(variable).ok_or(ClientError::Missing { variable });
        Ok(Self {
            headers: user_headers(&lookup)?,
            insecure: false,
            url: required(HUB_SERVER_URL)?,
            token_path: required(CONFIG_PATH)?.into(),
            ca_pem_base64: get(HUB_CERTIFICATE_AUTHORITY),
        })
    }

    fn config(&self) -> Result<Config, ClientError> {
        let invalid = |variable, reason| ClientError::Invalid { variable, reason };
        let url: Uri = (self.url.trim().parse())
            .map_err(|error| invalid(HUB_SERVER_URL, format!("{:?}: {error}", self.url)))?;
        if !matches!(url.scheme_str(), Some("http" | "https")) || url.host().is_none() {
            let reason = format!("{:?} is not of the form https://host:port", self.url);
            return Err(invalid(HUB_SERVER_URL, reason));
        }
        let mut config = Config::new(url);
        config.headers.clone_from(&self.headers);
        config.accept_invalid_certs = self.insecure;
        if let Some(encoded) = self.ca_pem_base64.as_ref().filter(|_| !self.insecure) {
            let roots =
                roots(encoded).map_err(|reason| invalid(HUB_CERTIFICATE_AUTHORITY, reason))?;
            config.root_cert = Some(roots);
        }
        Ok(config)
    }
}

/// The headers in `HUB_KUBE_HEADER`.
fn user_headers(
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(HeaderName, HeaderValue)>, ClientError> {
    let invalid = |reason| ClientError::Invalid { variable: HUB_KUBE_HEADER, reason };
    headers::parse(&lookup(HUB_KUBE_HEADER).unwrap_or_default()).map_err(invalid)
}

/// The DER certificates in base64 of PEM.
fn roots(encoded: &str) -> Result<Vec<Vec<u8>>, String> {
    let compact: String = encoded.split_whitespace().collect();
    let pem = base64::engine::general_purpose::STANDARD
        .decode(compact)
        .map_err(|error| format!("not base64: {error}"))?;
    let roots = CertificateDer::pem_slice_iter(&pem)
        .map(|cert| cert.map(|der| der.to_vec()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("not PEM: {error}"))?;
    if roots.is_empty() {
        return Err("no certificate in it".to_owned());
    }
    Ok(roots)
}

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

/// Clients for the hub. Waits until the token file exists and holds a token.
///
/// # Errors
/// One line that names the variable and the reason.
async fn hub_from_env(settings: HubSettings) -> Result<ClientSet, ClientError> {
    let config = settings.config()?;
    let token = TokenFile::open(&settings.token_path).await;
    ClientSet::new("hub", &config, Some(&token))
}

/// Clients from a configuration of the library, as tests and tools have one.
///
/// # Errors
/// One line with the reason.
pub async fn from_config(
    cluster: &'static str,
    mut config: Config,
) -> Result<ClientSet, ClientError> {
    // Ours is better than the library's: see the module.
    let path = config.auth_info.token_file.take();
    let token = match &path {
        Some(path) => Some(TokenFile::open(Path::new(path)).await),
        None => None,
    };
    ClientSet::new(cluster, &config, token.as_ref())
}

/// A client for a server that is no API server and asks for nothing.
pub(crate) fn without_credentials(server: Uri) -> Result<Client, kube::Error> {
    connect::client(&Config::new(server), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str, ca: Option<&str>) -> HubSettings {
        HubSettings {
            url: url.to_owned(),
            token_path: "/nonexistent".into(),
            ca_pem_base64: ca.map(str::to_owned),
            headers: Vec::new(),
            insecure: false,
        }
    }

    #[test]
    fn headers_are_read_from_their_variable() {
        let env = |header: &'static str| {
            move |name: &str| match name {
                HUB_KUBE_HEADER => Some(header.to_owned()),
                HUB_CERTIFICATE_AUTHORITY => None,
                _ => Some("https://hub".to_owned()),
            }
        };
        let settings = HubSettings::from_lookup(env("X-Gateway: east")).unwrap();
        assert_eq!(settings.config().unwrap().headers.len(), 1);
        let error = HubSettings::from_lookup(env("X-Gateway")).unwrap_err().to_string();
        assert!(error.starts_with("HUB_KUBE_HEADER: "), "{error}");
    }

    #[test]
    fn an_insecure_link_asks_for_no_ca() {
        let insecure = HubSettings { insecure: true, ..settings("https://hub", Some("%%%")) };
        let config = insecure.config().unwrap();
        assert!(config.accept_invalid_certs && config.root_cert.is_none());
        assert!(!settings("https://hub", None).config().unwrap().accept_invalid_certs);
    }

    #[test]
    fn missing_variables_are_named() {
        let env = |missing: &'static str| {
            move |name: &str| (name != missing).then(|| "https://hub".to_owned())
        };
        for variable in [HUB_SERVER_URL, CONFIG_PATH] {
            let error = HubSettings::from_lookup(env(variable)).unwrap_err();
            assert_eq!(error.to_string(), format!("{variable} is not set"));
        }
        let settings = HubSettings::from_lookup(env(HUB_CERTIFICATE_AUTHORITY)).unwrap();
        assert_eq!(settings.ca_pem_base64, None);
    }

    #[test]
    fn an_empty_variable_is_a_missing_one() {
        let error = HubSettings::from_lookup(|_| Some(" ".to_owned())).unwrap_err();
        assert_eq!(error.to_string(), "HUB_SERVER_URL is not set");
    }

    #[test]
    fn a_url_without_a_host_is_refused() {
        for url in ["hub", "ftp://hub", "/path", "https://", "https://a b"] {
            let error = settings(url, None).config().unwrap_err().to_string();
            assert!(error.starts_with("HUB_SERVER_URL: "), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_bad_ca_is_refused_with_the_reason() {
        let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        for (ca, reason) in [
            ("%%%".to_owned(), "not base64"),
            (base64("hello"), "no certificate"),
            (base64("-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----\n"), "not PEM"),
        ] {
            let error = settings("https://hub", Some(&ca)).config().unwrap_err().to_string();
            assert!(error.starts_with("HUB_CERTIFICATE_AUTHORITY: "), "{error}");
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_ca_is_decoded_with_line_breaks_in_it() {
        let pem = "-----BEGIN CERTIFICATE-----\nAAEC\n-----END CERTIFICATE-----\n";
        let mut encoded = base64::engine::general_purpose::STANDARD.encode(pem.repeat(2));
        encoded.insert(10, '\n');
        assert_eq!(roots(&encoded), Ok(vec![vec![0, 1, 2], vec![0, 1, 2]]));
    }

    #[tokio::test]
    async fn an_unreachable_server_is_named_with_the_innermost_reason() {
        // A port that was free a moment ago.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        drop(listener);

        let config = Config::new(url.parse().unwrap());
        let error = from_config("hub", config).await.unwrap().check().await.unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(&format!("cannot talk to {url}: ")), "{text}");
        assert!(text.contains("Connection refused"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }
}
