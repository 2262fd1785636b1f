//! Addresses of API servers: encrypted, and shown without what is secret in them.

use http::Uri;
use http::uri::Scheme;

/// An address for messages: without user, password and query. It need not be a valid one.
pub fn shown(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    // A password may contain anything, so what ends with the last @ is left out.
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{rest}")
}

/// Rejects an address whose requests others on the way could read, with the credentials in them.
///
/// # Errors
/// The address and the reason.
pub fn require_encryption(address: &Uri) -> Result<(), String> {
    if address.scheme() == Some(&Scheme::HTTPS) {
        return Ok(());
    }
    let address = shown(&address.to_string());
    Err(format!("{address} is not encrypted, so others could read the credentials: use https://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_what_is_secret() {
        for (address, expected) in [
            ("https://hub:6443", "https://hub:6443"),
            ("https://hub/path", "https://hub/path"),
            ("http://user:s3cret@proxy:3128", "http://proxy:3128"),
            ("http://user:s3/c@ret@proxy", "http://proxy"),
            ("https://hub/?token=s3cret#s3cret", "https://hub/"),
            ("s3cret@hub", "hub"),
            ("", ""),
        ] {
            assert_eq!(shown(address), expected);
        }
    }

    #[test]
    fn only_https_is_encrypted() {
        let check = |address: &str| require_encryption(&address.parse().unwrap());
        assert_eq!(check("https://hub:6443"), Ok(()));
        assert_eq!(check("HTTPS://hub"), Ok(()));
        for address in ["http://hub", "http://127.0.0.1:8001", "http://localhost", "/path", "hub"] {
            let error = check(address).unwrap_err();
            assert!(error.contains("is not encrypted"), "{error}");
        }
        let error = check("http://user:s3cret@hub").unwrap_err();
        assert!(error.starts_with("http://hub/ is not encrypted"), "{error}");
    }
}
