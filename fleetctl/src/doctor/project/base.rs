//! What agents stand on, in objects of the clusters. Pure; what an object lacks is empty.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_runtime::credential::SecretKey;
use serde_json::Value;

use crate::credential::CredentialStatus;
use crate::deployments::RELEASE;
use crate::doctor::fields::{containers, name_of, object_name, plain_setting, text, texts};
use crate::doctor::seen::{Install, Policy, Proxy, Token};
use crate::yaml;

/// The container that charts run the agent in.
const CONTAINER: &str = "agent";
/// Labels that charts set.
const NAME: &str = "app.kubernetes.io/name";
const VERSION: &str = "app.kubernetes.io/version";
/// The flags of the namespaces that an agent writes into, and their variables.
const OWN_NAMESPACE: (&str, &str) = ("--fleet-system-namespace", "FLEET_SYSTEM_NAMESPACE");
const LEASES: (&str, &str) = ("--leader-election-namespace", "LEADER_ELECTION_NAMESPACE");

fn label(object: &Value, key: &str) -> Option<String> {
    text(&object["metadata"]["labels"][key])
}

/// The release that a Deployment of an agent is of; those that run come first.
pub(in crate::doctor) fn install(deployments: &[Value]) -> Option<Install> {
    let runs = |deployment: &&Value| deployment["spec"]["replicas"].as_i64() != Some(0);
    let deployment = deployments.iter().find(runs).or_else(|| deployments.first())?;
    let spec = &deployment["spec"]["template"]["spec"];
    let release = label(deployment, RELEASE);
    let agent = containers(deployment).find(|it| it["name"] == CONTAINER);
    let namespace =
        |names| plain_setting(deployment, names).unwrap_or_else(|| SYSTEM_NAMESPACE.to_owned());
    Some(Install {
        is_of_chart: release.is_some(),
        release: release.unwrap_or_default(),
        system_namespace: namespace(OWN_NAMESPACE),
        lease_namespace: namespace(LEASES),
        version: label(deployment, VERSION).unwrap_or_default(),
        repository: agent.and_then(|it| repository(it["image"].as_str()?)),
        namespace: object_name(deployment).namespace.to_string(),
        account: text(&spec["serviceAccountName"]).unwrap_or_else(|| "default".to_owned()),
    })
}

/// The admission policies, and whether bindings put them in force.
pub(in crate::doctor) fn policies(policies: &[Value], bindings: &[Value]) -> Vec<Policy> {
    let bound: BTreeSet<_> =
        bindings.iter().filter_map(|it| it["spec"]["policyName"].as_str()).collect();
    let policy = |object: &Value| {
        let name = name_of(object);
        Policy {
            is_bound: bound.contains(name.as_str()),
            chart: label(object, NAME).unwrap_or_default(),
            version: label(object, VERSION).unwrap_or_default(),
            name,
        }
    };
    policies.iter().map(policy).collect()
}

/// The kube-proxy that a `DaemonSet` and its configuration show.
pub(in crate::doctor) fn proxy(daemon_set: &Value, config: Option<&Value>) -> Proxy {
    let mut images = containers(daemon_set).filter_map(|it| it["image"].as_str());
    let config = config.and_then(|it| text(&it["data"]["config.conf"])).unwrap_or_default();
    Proxy::read(images.find(|image| image.contains("kube-proxy")), &config)
}

impl Proxy {
    /// What its image, such as `registry:5000/kube-proxy:v1.34.1-eks@sha256:...`, and its configuration in YAML have.
    pub fn read(image: Option<&str>, config: &str) -> Self {
        let config: Value = yaml::read(config).unwrap_or_default();
        Self {
            mode: text(&config["mode"]).filter(|mode| !mode.is_empty()),
            version: image.and_then(minor),
        }
    }
}

/// Major and minor in the tag of an image.
fn minor(image: &str) -> Option<(u64, u64)> {
    let (_, tag) = without_digest(image).rsplit_once(':')?;
    numbers(tag)
}

/// Where an image is from, if its name is one that the charts accept: it becomes a part of commands.
fn repository(image: &str) -> Option<String> {
    let image = without_digest(image);
    // A colon before a slash is that of a port.
    let tagged = image.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
    let repository = tagged.map_or(image, |(repository, _)| repository);
    let is_plain =
        |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'/' | b':');
    let is_plain = !repository.is_empty() && repository.bytes().all(is_plain);
    (is_plain && !repository.starts_with('-')).then(|| repository.to_owned())
}

fn without_digest(image: &str) -> &str {
    image.split_once('@').map_or(image, |(image, _)| image)
}

/// Major and minor of a version, such as `v1.36.1-gke.100`.
pub(in crate::doctor) fn numbers(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.trim_start_matches('v').split('.').map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// The ranges of Pods of a node.
pub(in crate::doctor) fn pod_ranges(node: &Value) -> Vec<String> {
    texts(&node["spec"]["podCIDRs"]).map(str::to_owned).collect()
}

/// The namespace of the Service that an InternalServiceExport is about.
pub(in crate::doctor) fn exported_namespace(export: &Value) -> Option<String> {
    text(&export["spec"]["serviceReference"]["namespace"])
}

/// How often each is there.
pub(in crate::doctor) fn counted(names: Vec<String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

/// A token, how long it is good for, and the Secret that the agent has it from.
pub(in crate::doctor) fn token(
    status: &CredentialStatus,
    secret: Option<SecretKey>,
    now: jiff::Timestamp,
) -> Token {
    let expires = status.expires.as_ref().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    Token {
        state: status.state.to_owned(),
        says: status.says.clone(),
        remaining: expires.map(|expires| expires.as_second().saturating_sub(now.as_second())),
        secret,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_install_is_read_from_labels() {
        let deployment = json!({
            "metadata": {
                "namespace": "net", "name": "a", "labels": { RELEASE: "mine", VERSION: "0.2.0" },
            },
            "spec": { "template": { "spec": {
                "serviceAccountName": "agent",
                "containers": [
                    { "name": "proxy", "image": "mesh/proxy:1" },
                    {
                        "name": "agent", "image": "r.io:5000/fleet/hub-agent:0.2.0@sha256:00",
                        "args": ["--leader-election-namespace=locks"],
                    },
                ],
            } } },
        });
        let found = install(&[json!({ "spec": { "replicas": 0 } }), deployment]).unwrap();
        assert_eq!((found.release.as_str(), found.namespace.as_str()), ("mine", "net"));
        assert!(found.is_of_chart && found.account == "agent");
        let namespaces = (found.system_namespace.as_str(), found.lease_namespace.as_str());
        assert_eq!(namespaces, ("fleet-system", "locks"));
        assert_eq!(found.version, "0.2.0");
        assert_eq!(found.repository.as_deref(), Some("r.io:5000/fleet/hub-agent"));
        let bare = install(&[json!({ "metadata": { "namespace": "net" } })]).unwrap();
        assert!(!bare.is_of_chart && bare.account == "default");
        assert_eq!(install(&[]), None);
    }

    /// It becomes a value of a command.
    #[test]
    fn only_a_plain_name_is_a_repository() {
        for (image, expected) in [
            ("hub-agent", Some("hub-agent")),
            ("localhost:5000/hub-agent", Some("localhost:5000/hub-agent")),
            ("a/b:1", Some("a/b")),
            ("a/b@sha256:00", Some("a/b")),
            ("a,policies.strict=false:1", None),
            ("--version:1", None),
            ("", None),
        ] {
            assert_eq!(repository(image).as_deref(), expected, "{image}");
        }
    }

    #[test]
    fn a_policy_is_in_force_by_its_binding() {
        let policy = |name: &str| {
            let labels = json!({ NAME: "hub-agent", VERSION: "0.1.0" });
            json!({ "metadata": { "name": name, "labels": labels } })
        };
        let binding = json!({ "spec": { "policyName": "a" } });
        let found = policies(&[policy("a"), policy("b")], &[binding]);
        assert_eq!(found.iter().map(|it| it.is_bound).collect::<Vec<_>>(), [true, false]);
        assert_eq!((found[0].chart.as_str(), found[0].version.as_str()), ("hub-agent", "0.1.0"));
    }

    #[test]
    fn mode_and_version_of_kube_proxy_are_read() {
        let image = |image: &str| json!({ "spec": { "template": { "spec": { "containers": [{ "image": image }] } } } });
        let config =
            json!({ "data": { "config.conf": "kind: KubeProxyConfiguration\nmode: nftables\n" } });
        let found = proxy(&image("r:5000/kube-proxy:v1.34.1-eks@sha256:00"), Some(&config));
        assert_eq!((found.mode.as_deref(), found.version), (Some("nftables"), Some((1, 34))));
        let found = proxy(&image("kube-proxy:latest"), None);
        assert_eq!((found.mode, found.version), (None, None));
        let usual = json!({ "data": { "config.conf": "mode: \"\"\n" } });
        assert_eq!(proxy(&image("x"), Some(&usual)).mode, None);
    }

    #[test]
    fn exports_are_counted_by_namespace() {
        let export =
            |namespace: &str| json!({ "spec": { "serviceReference": { "namespace": namespace } } });
        let exports = [export("shop"), export("shop"), export("a"), json!({})];
        let found = counted(exports.iter().filter_map(exported_namespace).collect());
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("a".to_owned(), 1), ("shop".to_owned(), 2)]
        );
    }

    #[test]
    fn the_time_that_a_token_has_left_is_counted() {
        let now: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let status = |expires: Option<&str>| CredentialStatus {
            state: "kept",
            expires: expires.map(str::to_owned),
            says: None,
        };
        let remaining = |expires| token(&status(expires), None, now).remaining;
        assert_eq!(remaining(Some("2026-01-01T00:01:00Z")), Some(60));
        assert_eq!(remaining(None), None);
    }
}
