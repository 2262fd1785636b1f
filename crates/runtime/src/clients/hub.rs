//! The hub as the original's member agents name it: by environment variables.

use std::path::PathBuf;

use base64::Engine;
use http::Uri;
use http::header::{HeaderName, HeaderValue};
use kube::config::Config;

use super::address::{require_encryption, shown};
use super::error::ClientError;
use super::headers;
use super::pem::certificates_from_pem;

/// Environment variable with the base URL of the hub's API server.
pub const HUB_SERVER_URL: &str = "HUB_SERVER_URL";
/// Environment variable with the path of the file that holds the hub's bearer token.
pub const CONFIG_PATH: &str = "CONFIG_PATH";
/// Environment variable with the hub's CA: PEM, then base64. System roots if absent.
pub const HUB_CERTIFICATE_AUTHORITY: &str = "HUB_CERTIFICATE_AUTHORITY";
/// Environment variable with header lines for each request to the hub.
pub const HUB_KUBE_HEADER: &str = "HUB_KUBE_HEADER";

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
    pub(super) fn from_lookup(
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ClientError> {
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

    pub(super) fn config(&self) -> Result<Config, ClientError> {
        let invalid = |variable, reason| ClientError::Invalid { variable, reason };
        let url: Uri = (self.url.trim().parse())
            .map_err(|error| invalid(HUB_SERVER_URL, format!("{:?}: {error}", shown(&self.url))))?;
        if !matches!(url.scheme_str(), Some("http" | "https")) || url.host().is_none() {
            let reason = format!("{:?} is not of the form https://host:port", shown(&self.url));
            return Err(invalid(HUB_SERVER_URL, reason));
        }
        require_encryption(&url).map_err(|reason| invalid(HUB_SERVER_URL, reason))?;
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
pub(super) fn user_headers(
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
    certificates_from_pem(&pem)
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
    fn an_address_that_is_not_encrypted_is_refused_without_its_password() {
        for url in ["http://hub:6443", "http://127.0.0.1:1", "http://user:s3cret@hub"] {
            let error = settings(url, None).config().unwrap_err().to_string();
            assert!(error.starts_with("HUB_SERVER_URL: http://"), "{error}");
            assert!(error.contains("is not encrypted") && !error.contains("s3cret"), "{error}");
        }
        let error = settings("ftp://user:s3cret@hub", None).config().unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
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
}
