//! What a member's agent has to know of the hub, in the forms in which it is taken. Pure.

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::yaml;

/// Where the hub is, and who the member is there.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub(crate) member: String,
    pub(crate) url: String,
    /// Certificates of the hub, PEM; none if the system's roots do.
    pub(crate) authority: Option<String>,
    pub(crate) token: String,
    /// How the chart's agent is to renew it, if not as by default.
    pub(crate) renewed: Option<Value>,
    pub(crate) secret: String,
    pub(crate) secret_namespace: String,
}

impl Credentials {
    /// Values for the member-agent chart. The token is not among them.
    pub(crate) fn values(&self) -> Result<String> {
        let authority = self.authority.as_ref().map(|pem| STANDARD.encode(pem)).unwrap_or_default();
        let mut values = json!({
            "config": {
                "memberClusterName": self.member,
                "hubURL": self.url,
                "hubCA": authority,
                "provider": "secret",
            },
            "secret": { "name": self.secret },
        });
        if let Some(renewed) = &self.renewed {
            values["token"] = renewed.clone();
        }
        Ok(yaml::write(&values)?)
    }

    /// A Secret for the member's own cluster.
    pub(crate) fn secret(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": { "name": self.secret, "namespace": self.secret_namespace },
            "stringData": { "token": self.token },
        })
    }

    /// A kubeconfig that stands alone.
    pub(crate) fn kubeconfig(&self) -> Value {
        let mut cluster = json!({ "server": self.url });
        if let Some(pem) = &self.authority {
            cluster["certificate-authority-data"] = STANDARD.encode(pem).into();
        }
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "hub",
            "clusters": [{ "name": "hub", "cluster": cluster }],
            "users": [{ "name": self.member, "user": { "token": self.token } }],
            "contexts": [{ "name": "hub", "context": { "cluster": "hub", "user": self.member } }],
        })
    }
}

#[cfg(test)]
mod tests {
    use fleet_runtime::clients::certificates_to_pem;
    use kube::config::Kubeconfig;

    use super::*;

    fn credentials() -> Credentials {
        Credentials {
            member: "east".to_owned(),
            url: "https://hub:6443".to_owned(),
            authority: Some(certificates_to_pem(&[[0; 60]])),
            token: "t0k3n".to_owned(),
            renewed: None,
            secret: "hub".to_owned(),
            secret_namespace: "fleet-system".to_owned(),
        }
    }

    #[test]
    fn the_kubeconfig_is_read_back() {
        let text = yaml::write(&credentials().kubeconfig()).unwrap();
        let file = Kubeconfig::from_yaml(&text).unwrap();
        assert_eq!(file.current_context.as_deref(), Some("hub"));
        let data = file.clusters[0].cluster.as_ref().unwrap().certificate_authority_data.clone();
        let pem = STANDARD.decode(data.unwrap()).unwrap();
        let lines: Vec<_> = std::str::from_utf8(&pem).unwrap().lines().map(str::len).collect();
        assert_eq!(lines, [27, 64, 16, 25]);
    }

    /// kubectl 1.32 reads what begins with `{` as JSON.
    #[test]
    fn what_is_printed_is_block_yaml() {
        let of = credentials();
        for (text, first) in [
            (of.values().unwrap(), "config:\n"),
            (yaml::write(&of.secret()).unwrap(), "apiVersion: v1\n"),
            (yaml::write(&of.kubeconfig()).unwrap(), "apiVersion: v1\n"),
        ] {
            assert!(text.starts_with(first), "{text}");
            assert!(!text.contains('{'), "{text}");
        }
    }

    #[test]
    fn values_hold_no_token() {
        let values = credentials().values().unwrap();
        assert!(!values.contains("t0k3n"), "{values}");
        let read: Value = serde_saphyr::from_str(&values).unwrap();
        assert_eq!(read["config"]["memberClusterName"], "east");
        assert_eq!(read["secret"]["name"], "hub");
        assert!(read["token"].is_null());
        let renewed = Some(json!({ "lifetime": "1h" }));
        let values = Credentials { renewed, ..credentials() }.values().unwrap();
        let read: Value = serde_saphyr::from_str(&values).unwrap();
        assert_eq!(read["token"]["lifetime"], "1h");
    }
}
