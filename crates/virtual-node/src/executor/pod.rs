//! The remote Pod.

use std::collections::BTreeMap;

use fleet_api::labels::{OFFLOAD_ORIGIN, OFFLOAD_ORIGIN_UID};
use fleet_api::offload::{ConfigCopy, ConfigKind, PodExportSpec};
use serde_json::{Map, Value, json};

use crate::names;
use crate::pod::rename;

/// Annotation of a remote Pod: hash of the spec that it was made or updated for.
pub(super) const SPEC_HASH: &str = "offload.networking.fleet.azure.com/spec-hash";

/// ServiceAccount of all Pods of origins: without rights, and without a token.
pub(super) const SERVICE_ACCOUNT: &str = "offloaded";

/// The Pod of an import, which was checked before.
pub fn pod_document(export: &PodExportSpec) -> Value {
    let origin = &export.origin;
    let mut spec = export.pod.0.clone();
    rename(&mut spec, &|kind, name| names::config(kind, name, &origin.uid));
    spec.extend(fixed());
    if !export.hostname.is_empty() {
        spec.insert("hostname".to_owned(), export.hostname.clone().into());
    }
    let mut metadata = metadata(export, &names::pod(&origin.name, &origin.uid));
    metadata["labels"] = with(&export.labels, own_labels(export));
    metadata["annotations"] = with(&export.annotations, [(SPEC_HASH, &*export.spec_hash)]);
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

/// The config maps and Secrets of an import. They belong to one Pod, get the present content of their source, and are deleted with
/// the Pod. One whose source is immutable is so, too.
pub fn config_documents(export: &PodExportSpec) -> Vec<Value> {
    export.configs.iter().map(|copy| config_document(export, copy)).collect()
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
