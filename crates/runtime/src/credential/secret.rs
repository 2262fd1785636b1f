//! The Secret that holds a token.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A key of a Secret, written `namespace/name` or `namespace/name/key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretKey {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The key.
    pub key: String,
}

impl SecretKey {
    /// The key if none is named.
    pub const DEFAULT_KEY: &str = "token";

    /// The path of the Secret.
    pub(super) fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/secrets/{}", self.namespace, self.name)
    }

    /// The token in a Secret.
    pub(super) fn token_in(&self, secret: &Value) -> Option<String> {
        let data = STANDARD.decode(secret["data"][&self.key].as_str()?).ok()?;
        Some(String::from_utf8(data).ok()?.trim().to_owned()).filter(|token| !token.is_empty())
    }

    /// The Secret with another token. Everything else stays, and its version makes the API server reject it if another party
    /// has changed it meanwhile.
    pub(super) fn with_token(&self, mut secret: Value, token: &str) -> Value {
        secret["data"][&self.key] = json!(STANDARD.encode(token));
        secret
    }
}

impl fmt::Display for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.namespace, self.name, self.key)
    }
}

impl FromStr for SecretKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, '/').map(str::to_owned);
        let parts = [parts.next(), parts.next(), parts.next()];
        let [Some(namespace), Some(name), key] = parts else {
            return Err("write it as namespace/name or namespace/name/key".to_owned());
        };
        let key = key.unwrap_or_else(|| Self::DEFAULT_KEY.to_owned());
        let plain = |text: &str| {
            let may = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            !text.is_empty() && !text.starts_with('.') && text.bytes().all(may)
        };
        for part in [&namespace, &name, &key] {
            if !plain(part) {
                return Err(format!("{part:?} is no name"));
            }
        }
        Ok(Self { namespace, name, key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_with_its_secret() {
        let key: SecretKey = "fleet-system/hub".parse().unwrap();
        assert_eq!(key.to_string(), "fleet-system/hub/token");
        assert_eq!("a/b/c.d".parse::<SecretKey>().unwrap().key, "c.d");
        for wrong in ["", "hub", "/hub", "a/", "a/b/", "a/b/c/d", "a/../b", "a/b?x", "a/b c"] {
            assert!(wrong.parse::<SecretKey>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_the_token_of_a_secret_changes() {
        let key: SecretKey = "a/b".parse().unwrap();
        let secret = json!({
            "metadata": { "name": "b", "resourceVersion": "7", "labels": { "x": "y" } },
            "data": { "token": STANDARD.encode("old\n"), "other": "eA==" },
        });
        assert_eq!(key.token_in(&secret).as_deref(), Some("old"));
        let changed = key.with_token(secret.clone(), "new");
        assert_eq!(key.token_in(&changed).as_deref(), Some("new"));
        assert_eq!(changed["metadata"], secret["metadata"]);
        assert_eq!(changed["data"]["other"], "eA==");
        for without in [json!({}), json!({ "data": null }), json!({ "data": { "token": "%" } })] {
            assert_eq!(key.token_in(&without), None);
        }
    }
}
