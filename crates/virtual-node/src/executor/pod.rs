//! The remote Pod.

use std::collections::BTreeMap;

use fleet_api::labels::{OFFLOAD_ORIGIN, OFFLOAD_ORIGIN_UID};
use fleet_api::offload::{ConfigCopy, ConfigKind, PodExportSpec};
use serde_json::{Map, Value, json};

use crate::names;
use crate::pod::rename;

/// Annotation of a remote Pod: hash of the spec that it was made or updated for.
pub(super) const SPEC_HASH: &str = "offload.networking.fleet.azure.com/spec-hash";

/// Annotation of a remote Pod: seconds without the hub after which it ends, as agreed with its origin. It is on the Pod, since a process
/// that starts while the hub is out of reach has no import of it.
pub(super) const STOP_AFTER: &str = "offload.networking.fleet.azure.com/stop-after";

/// Value of that annotation where nothing was agreed: no origin can set it.
const NEVER: &str = "never";

/// Gate of a remote Pod whose config maps and Secrets are not there yet: they belong to it, so it comes first.
pub(super) const CONFIG_GATE: &str = "offload.networking.fleet.azure.com/configs";

/// ServiceAccount of all Pods of origins: without rights, and without a token.
pub(super) const SERVICE_ACCOUNT: &str = "offloaded";

/// The Pod of an import, which was checked before.
pub fn pod_document(export: &PodExportSpec) -> Value {
    let origin = &export.origin;
    let mut spec = export.pod.0.clone();
    rename(&mut spec, &|kind, name| names::config(kind, name, &origin.uid));
    spec.extend(fixed());
    if !export.configs.is_empty() {
        spec.insert("schedulingGates".to_owned(), json!([{ "name": CONFIG_GATE }]));
    }
    if !export.hostname.is_empty() {
        spec.insert("hostname".to_owned(), export.hostname.clone().into());
    }
    let mut metadata = metadata(export, &names::pod(&origin.name, &origin.uid));
    metadata["labels"] = with(&export.labels, own_labels(export));
    let stop_after = export.disconnect.stop_after().map(|seconds| seconds.to_string());
    let stop_after = stop_after.as_deref().unwrap_or(NEVER);
    let own = [(SPEC_HASH, &*export.spec_hash), (STOP_AFTER, stop_after)];
    metadata["annotations"] = with(&export.annotations, own);
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec })
}

/// What crosses, and what the executor sets, whatever crosses.
fn with<const N: usize>(crossing: &BTreeMap<String, String>, own: [(&str, &str); N]) -> Value {
    let crossing = crossing.iter().map(|(key, value)| (&**key, &**value));
    json!(crossing.chain(own).collect::<BTreeMap<_, _>>())
}

/// What no origin decides.
fn fixed() -> Map<String, Value> {
    let fixed = [
        ("serviceAccountName", Value::from(SERVICE_ACCOUNT)),
        ("automountServiceAccountToken", false.into()),
        ("enableServiceLinks", false.into()),
        ("hostNetwork", false.into()),
        ("hostPID", false.into()),
        ("hostIPC", false.into()),
    ];
    fixed.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn metadata(export: &PodExportSpec, name: &str) -> Value {
    let origin = &export.origin;
    let namespace = names::namespace(&origin.cluster, &origin.namespace);
    let labels: BTreeMap<_, _> = own_labels(export).into_iter().collect();
    json!({ "namespace": namespace, "name": name, "labels": labels })
}

fn own_labels(export: &PodExportSpec) -> [(&str, &str); 2] {
    let origin = &export.origin;
    [(OFFLOAD_ORIGIN, &origin.cluster), (OFFLOAD_ORIGIN_UID, &origin.uid)]
}

/// Whether a remote Pod waits for its config maps and Secrets.
pub fn waits_for_configs(pod: &Value) -> bool {
    let gates = pod["spec"]["schedulingGates"].as_array();
    gates.into_iter().flatten().any(|gate| gate["name"] == CONFIG_GATE)
}

/// The config maps and Secrets of an import. They belong to its Pod, get the present content of their source, and are deleted with the
/// Pod. One whose source is immutable is so, too.
pub fn config_documents(export: &PodExportSpec, pod: &Value) -> Vec<Value> {
    let metadata = &pod["metadata"];
    let owner = json!({
        "apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"],
    });
    let with_owner = |copy: &ConfigCopy| {
        let mut document = config_document(export, copy);
        document["metadata"]["ownerReferences"] = json!([owner]);
        document
    };
    export.configs.iter().map(with_owner).collect()
}

fn config_document(export: &PodExportSpec, copy: &ConfigCopy) -> Value {
    let name = names::config(copy.kind, &copy.name, &export.origin.uid);
    let mut document = json!({
        "apiVersion": "v1",
        "kind": copy.kind.as_str(),
        "metadata": metadata(export, &name),
    });
    if copy.immutable {
        document["immutable"] = true.into();
    }
    match copy.kind {
        ConfigKind::ConfigMap => {
            document["data"] = json!(copy.data);
            document["binaryData"] = json!(copy.binary_data);
        }
        ConfigKind::Secret => {
            document["data"] = json!(copy.binary_data);
            document["type"] = json!(copy.type_.as_deref().unwrap_or("Opaque"));
        }
    }
    document
}
