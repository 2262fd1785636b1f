//! The clients of one API server.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::one_line;
use http::Uri;
use kube::Client;
use kube::config::Config;
use secrecy::{ExposeSecret, SecretString};

use super::address::{require_encryption, shown};
use super::connect;
use super::credential::Credential;
use super::error::ClientError;
use super::token::{TokenFile, bearer};

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
    /// For questions each of which has a connection of its own: nothing else is sent here.
    pub fresh: Client,
    /// The server, for messages.
    pub url: String,
    /// Whether its certificate is verified; a flag or a kubeconfig may rule that out.
    pub is_verified: bool,
    /// What all of them send, and what the server thinks of it.
    pub credential: Credential,
}

impl ClientSet {
    pub(super) fn new(
        cluster: &'static str,
        config: &Config,
        token: Option<Arc<TokenFile>>,
    ) -> Result<Self, ClientError> {
        let url = shown(&config.cluster_url.to_string());
        let credential = Credential::new(token);
        let build = || {
            connect::client(config, &credential)
                .map_err(|error| ClientError::Settings { cluster, reason: one_line(&error) })
        };
        Ok(Self {
            watch: build()?,
            write: build()?,
            lease: build()?,
            fresh: build()?,
            url,
            is_verified: !config.accept_invalid_certs,
            credential,
        })
    }

    /// These clients, if their requests are encrypted.
    ///
    /// # Errors
    /// One line with the URL.
    pub fn encrypted(self) -> Result<Self, ClientError> {
        let url = self.url.parse().unwrap_or_default();
        let failed = |reason| ClientError::Settings { cluster: "hub", reason };
        require_encryption(&url).map_err(failed)?;
        Ok(self)
    }

    /// The server's address; `None` if the URL has a name instead.
    pub fn address(&self) -> Option<IpAddr> {
        address(&self.url)
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

fn address(url: &str) -> Option<IpAddr> {
    let url: Uri = url.parse().ok()?;
    url.host()?.trim_matches(['[', ']']).parse().ok()
}

/// Clients from a configuration of the library, as tests and tools have one.
///
/// # Errors
/// One line with the reason.
pub async fn from_config(
    cluster: &'static str,
    mut config: Config,
) -> Result<ClientSet, ClientError> {
    let settings = |reason| ClientError::Settings { cluster, reason };
    let token = config.auth_info.token.as_ref().map(sendable).transpose();
    config.auth_info.token = token.map_err(settings)?;
    // Ours is better than the library's: see the module.
    let path = config.auth_info.token_file.take();
    let token = match &path {
        Some(path) => {
            let called = "tokenFile of the kubeconfig".to_owned();
            Some(TokenFile::open_as(Path::new(path), called).await)
        }
        None => None,
    };
    ClientSet::new(cluster, &config, token)
}

/// The token of a kubeconfig as it is sent, without the line feed that YAML may add to it. The library panics where one cannot be
/// sent.
fn sendable(token: &SecretString) -> Result<SecretString, String> {
    let text = token.expose_secret().trim();
    bearer(text)?;
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by `e2e/fuzz`.
    #[tokio::test]
    async fn a_token_that_cannot_be_sent_is_refused_and_not_repeated() {
        let with = |token: &str| {
            let mut config = Config::new(Uri::from_static("https://hub.example"));
            config.auth_info.token = Some(token.into());
            from_config("hub", config)
        };
        assert!(with("secret\n").await.is_ok(), "a block of YAML ends in a line feed");
        for token in ["sec\nret", "secret\0x", "\u{7f}secret"] {
            let error = with(token).await.err().unwrap().to_string();
            assert!(error.contains("hub") && !error.contains("secret"), "{error}");
        }
    }

    /// What else the process does goes on meanwhile.
    #[tokio::test(start_paused = true)]
    async fn a_missing_token_file_lets_requests_fail_and_the_start_go_on() {
        let mut config = Config::new(Uri::from_static("https://127.0.0.1:1"));
        config.auth_info.token_file = Some("secret/token".to_owned());
        let clients = from_config("hub", config).await.unwrap();
        let error = clients.check().await.unwrap_err().to_string();
        assert!(error.contains("no token yet in tokenFile of the kubeconfig: "), "{error}");
        assert!(!error.contains("secret"), "it may be the token itself: {error}");
        assert!(clients.credential.is_awaited() && clients.credential.token().is_none());
        clients.credential.replace("another");
        assert_eq!(clients.credential.token().as_deref(), Some("another"));
        assert!(!clients.credential.is_awaited());
    }

    #[test]
    fn a_url_has_an_address_or_a_name() {
        let address = |url: &str| address(url).map(|address| address.to_string());
        assert_eq!(address("https://10.96.0.1/").as_deref(), Some("10.96.0.1"));
        assert_eq!(address("https://[fd00::1]:6443/").as_deref(), Some("fd00::1"));
        assert_eq!(address("https://api.example.com:6443/"), None);
        assert_eq!(address(""), None);
    }

    #[tokio::test]
    async fn a_kubeconfig_that_verifies_nothing_is_noticed() {
        for skips in [false, true] {
            let mut config = Config::new("https://hub.example/".parse().unwrap());
            config.accept_invalid_certs = skips;
            assert_eq!(from_config("hub", config).await.unwrap().is_verified, !skips);
        }
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
