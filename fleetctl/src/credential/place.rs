//! Where a member agent has its credential from, by its Deployment. Pure.

use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_runtime::credential::SecretKey;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, Volume};

/// The Secret that `fleetctl join` writes by default.
pub(super) const SECRET: &str = "hub-kubeconfig-secret";
/// The chart's volume with the credential.
const VOLUME: &str = "hub";
/// Variable with the Secret in which the agent renews its token.
const RENEWED_IN: &str = "HUB_TOKEN_SECRET";

/// Where a credential comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A token in a Secret, and whether the agent renews it there.
    Secret { key: SecretKey, renews: bool },
    /// A kubeconfig, which the agent does not change.
    Kubeconfig,
    /// A token that the kubelet renews.
    Projected,
}

impl Place {
    /// The place that a Deployment names; without one, that of an agent which `fleetctl join` has made a Secret for.
    pub(crate) fn of(deployment: Option<&Deployment>) -> Self {
        let namespace = deployment.and_then(|it| it.metadata.namespace.as_deref());
        let namespace = namespace.unwrap_or(SYSTEM_NAMESPACE);
        let pod = deployment.and_then(|it| it.spec.as_ref()?.template.spec.as_ref());
        let container = pod.and_then(|pod| pod.containers.first());
        if let Some(key) = container.and_then(renewed_in) {
            return Self::Secret { key, renews: true };
        }
        let mut volumes = pod.and_then(|pod| pod.volumes.as_ref()).into_iter().flatten();
        match volumes.find(|volume| volume.name == VOLUME) {
            Some(volume) => mounted(volume, namespace),
            None => {
                Self::Secret { key: key(namespace, SECRET, SecretKey::DEFAULT_KEY), renews: false }
            }
        }
    }

    /// The Secret with the token, if it is one.
    pub(super) fn secret(self) -> Option<SecretKey> {
        match self {
            Self::Secret { key, .. } => Some(key),
            Self::Kubeconfig | Self::Projected => None,
        }
    }
}

fn key(namespace: &str, name: &str, key: &str) -> SecretKey {
    SecretKey { namespace: namespace.to_owned(), name: name.to_owned(), key: key.to_owned() }
}

fn renewed_in(container: &Container) -> Option<SecretKey> {
    let mut variables = container.env.as_ref()?.iter();
    variables.find(|variable| variable.name == RENEWED_IN)?.value.as_ref()?.parse().ok()
}

fn mounted(volume: &Volume, namespace: &str) -> Place {
    let Some(secret) = &volume.secret else { return Place::Projected };
    let item = secret.items.as_ref().and_then(|items| items.first());
    if item.is_some_and(|item| item.path == "kubeconfig") {
        return Place::Kubeconfig;
    }
    let name = secret.secret_name.as_deref().unwrap_or(SECRET);
    let of = item.map_or(SecretKey::DEFAULT_KEY, |item| item.key.as_str());
    Place::Secret { key: key(namespace, name, of), renews: false }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn place(volume: &Value, env: &Value) -> Place {
        let deployment = json!({
            "metadata": { "name": "member-agent", "namespace": "agents" },
            "spec": { "selector": {}, "template": { "spec": {
                "containers": [{ "name": "agent", "env": env }], "volumes": [volume],
            } } },
        });
        Place::of(Some(&serde_json::from_value(deployment).unwrap()))
    }

    fn secret(text: &str, renews: bool) -> Place {
        Place::Secret { key: text.parse().unwrap(), renews }
    }

    #[test]
    fn the_deployment_names_the_secret() {
        let volume = json!({ "name": "hub", "secret": {
            "secretName": "mine", "items": [{ "key": "jwt", "path": "token" }],
        } });
        assert_eq!(place(&volume, &json!([])), secret("agents/mine/jwt", false));
        let env = json!([{ "name": "HUB_TOKEN_SECRET", "value": "agents/other" }]);
        assert_eq!(place(&volume, &env), secret("agents/other/token", true));
        assert_eq!(Place::of(None), secret("fleet-system/hub-kubeconfig-secret", false));
        let other: SecretKey = "agents/other".parse().unwrap();
        assert_eq!(place(&volume, &env).secret(), Some(other));
    }

    #[test]
    fn other_credentials_are_known_by_their_volume() {
        let kubeconfig = json!({ "name": "hub", "secret": {
            "secretName": "mine", "items": [{ "key": "kubeconfig", "path": "kubeconfig" }],
        } });
        assert_eq!(place(&kubeconfig, &json!([])), Place::Kubeconfig);
        let projected = json!({ "name": "hub", "projected": { "sources": [] } });
        assert_eq!(place(&projected, &json!([])), Place::Projected);
        assert!(
            [Place::Kubeconfig, Place::Projected].map(Place::secret).iter().all(Option::is_none)
        );
    }
}
