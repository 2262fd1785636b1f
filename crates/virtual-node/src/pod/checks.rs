//! What a Pod that was translated has to meet beside the table: the terms of its executor.

use fleet_api::offload::{ConfigCopy, ConfigKind, OffloadTerms, Refusal};
use serde_json::{Map, Value};

use super::profile;
use super::references::{CONFIGS, references};
use super::rejection::Rejection;

/// Bytes of a config map or Secret.
const CONFIG: usize = 64 << 10;
/// Types of Secrets that cross. With others Kubernetes would do something: it puts tokens into some.
const SECRET_TYPES: [&str; 6] = [
    "Opaque",
    "kubernetes.io/basic-auth",
    "kubernetes.io/dockercfg",
    "kubernetes.io/dockerconfigjson",
    "kubernetes.io/ssh-auth",
    "kubernetes.io/tls",
];
/// Resources that every executor offers.
const RESOURCES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Bytes of them all.
const ALL_CONFIGS: usize = 512 << 10;

/// Whether Pods of a namespace cross on these terms.
pub fn accepts(terms: &OffloadTerms, namespace_: &str) -> bool {
    namespace(namespace_, terms).is_ok()
}

/// Whether a namespace is among those that the executor accepts.
pub(super) fn namespace(namespace: &str, terms: &OffloadTerms) -> Result<(), Rejection> {
    let accepted = terms.namespaces.iter().any(|name| name == "*" || name == namespace);
    // They belong to Kubernetes and to the fleet in all clusters.
    let system = namespace.starts_with("kube-") || namespace.starts_with("fleet-");
    require(accepted && !system, Refusal::NamespaceNotOffered, "metadata.namespace")
}

/// Whether the spec of a Pod of a namespace meets the terms.
pub(super) fn spec(
    pod: &Map<String, Value>,
    namespace: &str,
    terms: &OffloadTerms,
) -> Result<(), Rejection> {
    let containers = pod.get("containers").and_then(Value::as_array);
    let some = containers.is_some_and(|containers| !containers.is_empty());
    require(some, Refusal::InvalidValue, "spec.containers")?;
    size(pod, terms)?;
    profile::check(pod, terms.policy_profile)?;
    dns(pod, terms)?;
    volumes(pod)?;
    resources(pod, terms)?;
    configs(pod, namespace, terms)
}

fn size(pod: &Map<String, Value>, terms: &OffloadTerms) -> Result<(), Rejection> {
    let bytes = serde_json::to_string(pod).map_or(usize::MAX, |text| text.len());
    let most = usize::try_from(terms.max_pod_object_bytes).unwrap_or_default();
    require(bytes <= most, Refusal::LimitExceeded, "spec")
}

fn dns(pod: &Map<String, Value>, terms: &OffloadTerms) -> Result<(), Rejection> {
    if terms.origin_dns {
        return Ok(());
    }
    let refusal = Refusal::DnsNotOffered;
    require(pod.get("dnsPolicy") != Some(&Value::from("None")), refusal, "spec.dnsPolicy")?;
    let servers = pod.get("dnsConfig").and_then(|config| config["nameservers"].as_array());
    require(servers.is_none_or(Vec::is_empty), refusal, "spec.dnsConfig.nameservers")
}

/// A local volume without a limit could fill the disk of a node of the executor.
fn volumes(pod: &Map<String, Value>) -> Result<(), Rejection> {
    let volumes = pod.get("volumes").and_then(Value::as_array).into_iter().flatten();
    for (at, volume) in volumes.enumerate() {
        let unlimited = volume["emptyDir"].is_object() && volume["emptyDir"]["sizeLimit"].is_null();
        let field = format!("spec.volumes[{at}].emptyDir.sizeLimit");
        require(!unlimited, Refusal::NotTranslated, &field)?;
        let kinds = volume.as_object().map_or(0, serde_json::Map::len);
        require(kinds == 2, Refusal::UnsupportedVolume, &format!("spec.volumes[{at}]"))?;
    }
    Ok(())
}

/// A quota limits only what it names, so others could be used without a limit.
fn resources(pod: &Map<String, Value>, terms: &OffloadTerms) -> Result<(), Rejection> {
    let offered =
        |name: &str| RESOURCES.contains(&name) || terms.resources.iter().any(|other| other == name);
    for list in ["containers", "initContainers"] {
        let containers = pod.get(list).and_then(Value::as_array).into_iter().flatten();
        for (at, container) in containers.enumerate() {
            for amounts in ["requests", "limits"] {
                let names = container["resources"][amounts].as_object().into_iter().flatten();
                let field = format!("spec.{list}[{at}].resources.{amounts}");
                let all = names.map(|(name, _)| name).all(|name| offered(name));
                require(all, Refusal::NotOffered, &field)?;
            }
        }
    }
    Ok(())
}

fn configs(
    pod: &Map<String, Value>,
    namespace: &str,
    terms: &OffloadTerms,
) -> Result<(), Rejection> {
    let references = references(pod);
    for reference in references.keys().filter(|reference| reference.kind == ConfigKind::Secret) {
        let listed = format!("{namespace}/{}", reference.name);
        let field = format!("Secret {}", reference.name);
        require(terms.secrets.contains(&listed), Refusal::SecretNotAllowed, &field)?;
    }
    require(references.len() <= CONFIGS, Refusal::LimitExceeded, "config maps and Secrets of spec")
}

/// Whether the contents that cross are within the bounds, and all of them are referred to.
pub(crate) fn contents(pod: &Map<String, Value>, copies: &[ConfigCopy]) -> Result<(), Rejection> {
    let references = references(pod);
    for copy in copies {
        let field = format!("{} {}", copy.kind.as_str(), copy.name);
        let mut names = references.keys();
        let wanted = names.any(|one| one.kind == copy.kind && one.name == copy.name);
        require(wanted, Refusal::NotTranslated, &field)?;
        let type_ = copy.type_.as_deref().unwrap_or(SECRET_TYPES[0]);
        require(SECRET_TYPES.contains(&type_), Refusal::InvalidValue, &format!("type of {field}"))?;
        require(copy.size() <= CONFIG, Refusal::LimitExceeded, &field)?;
    }
    let all: usize = copies.iter().map(ConfigCopy::size).sum();
    let field = "config maps and Secrets of spec";
    require(all <= ALL_CONFIGS && copies.len() <= CONFIGS, Refusal::LimitExceeded, field)
}

fn require(met: bool, reason: Refusal, field: &str) -> Result<(), Rejection> {
    if met { Ok(()) } else { Err(Rejection::new(reason, field)) }
}
