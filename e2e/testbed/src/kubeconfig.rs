//! Kubeconfig files that stand alone: certificates and tokens are inside, so a file can be copied anywhere.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::pki::Identity;

/// How the file's user proves who it is.
#[derive(Clone, Copy, Debug)]
pub enum Credential<'a> {
    /// A client certificate.
    Certificate(&'a Identity),
    /// A bearer token.
    Token(&'a str),
}

/// A kubeconfig with one cluster, one user and one context, all named as given.
pub fn render(
    cluster: &str,
    server: &str,
    ca_pem: Option<&str>,
    user: &str,
    credential: Credential<'_>,
) -> Value {
    let credential = match credential {
        Credential::Certificate(identity) => json!({
            "client-certificate-data": STANDARD.encode(&identity.certificate),
            "client-key-data": STANDARD.encode(&identity.key),
        }),
        Credential::Token(token) => json!({ "token": token }),
    };
    let mut target = json!({ "server": server });
    if let Some(pem) = ca_pem {
        target["certificate-authority-data"] = STANDARD.encode(pem).into();
    }
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": cluster, "cluster": target }],
        "users": [{ "name": user, "user": credential }],
        "contexts": [{ "name": cluster, "context": { "cluster": cluster, "user": user } }],
        "current-context": cluster,
    })
}

/// Writes a copy whose clusters are reached at another address.
pub fn copy_for(path: &Path, copy: &Path, server: &str) -> Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let mut value: Value = serde_saphyr::from_str(&text).context("read a kubeconfig")?;
    for cluster in value["clusters"].as_array_mut().into_iter().flatten() {
        cluster["cluster"]["server"] = server.into();
    }
    write(copy, &value)
}

/// Writes a kubeconfig as YAML.
pub fn write(path: &Path, kubeconfig: &Value) -> Result<()> {
    write_secret(path, &serde_saphyr::to_string(kubeconfig).context("render a kubeconfig")?)
}

/// Writes a file that only this user may read. A concurrent reader sees the old or the new text, never half.
pub fn write_secret(path: &Path, text: &str) -> Result<()> {
    let partial = path.with_extension("partial");
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&partial)
        .with_context(|| format!("write {}", partial.display()))?;
    file.write_all(text.as_bytes())?;
    std::fs::rename(&partial, path).with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_kubeconfig_is_read_back_by_kube() {
        let value =
            render("hub", "https://127.0.0.1:1", Some("pem"), "agent", Credential::Token("t"));
        let text = serde_saphyr::to_string(&value).unwrap();
        let config = kube::config::Kubeconfig::from_yaml(&text).unwrap();
        assert_eq!(config.current_context.as_deref(), Some("hub"));
        let data = config.clusters[0].cluster.as_ref().unwrap().certificate_authority_data.clone();
        assert_eq!(data, Some(STANDARD.encode("pem")));
    }
}
