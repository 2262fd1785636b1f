//! The provider of the fleet: Pods run in another member, through the hub.

use std::collections::BTreeMap;

use fleet_api::offload::PodExportSpec;
use fleet_api::{ObjectName, finalizers, kinds, names};
use serde_json::{Value, json};

use super::backend::{Provider, ProviderError};
use super::write::{Write, WriteAction};
use crate::life::ExportState;

/// Pods that run in another member.
#[derive(Clone, Debug, Default)]
pub struct HubProvider {
    /// Name of this member: its exports are in its namespace on the hub.
    pub cluster: String,
    /// The exports for one executor, by the uid of their Pods; `None` before they have been listed.
    pub exports: Option<BTreeMap<String, ExportState>>,
}

impl HubProvider {
    fn exports(&self) -> Result<&BTreeMap<String, ExportState>, ProviderError> {
        self.exports.as_ref().ok_or(ProviderError::Unavailable { retry_after: None })
    }

    fn write(&self, uid: &str, action: WriteAction) -> Write {
        let name = ObjectName::new(names::member_namespace(&self.cluster), uid);
        Write { kind: kinds::POD_EXPORT, name, action }
    }

    /// The finalizer is set by who creates an object, for who has to undo its effect.
    fn object(&self, spec: &PodExportSpec) -> Value {
        json!({
            "apiVersion": kinds::POD_EXPORT.api_version(),
            "kind": kinds::POD_EXPORT.kind,
            "metadata": {
                "namespace": names::member_namespace(&self.cluster),
                "name": spec.origin.uid,
                "finalizers": [finalizers::POD_EXPORT],
            },
            "spec": spec,
        })
    }
}

/// Whether an executor does the same about both. That a Pod runs is no part of the hash, and news for a hub that does not know it.
fn is_same(export: &PodExportSpec, wanted: &PodExportSpec) -> bool {
    export.spec_hash == wanted.spec_hash && (export.resumed || !wanted.resumed)
}

impl Provider for HubProvider {
    fn ensure(&self, pod: &PodExportSpec) -> Result<Vec<Write>, ProviderError> {
        let uid = &pod.origin.uid;
        match self.exports()?.get(uid) {
            None => Ok(vec![self.write(uid, WriteAction::Create(self.object(pod)))]),
            Some(export) if export.deleting => Err(ProviderError::Conflict),
            Some(export) if is_same(&export.spec, pod) => Ok(Vec::new()),
            Some(_) => {
                let replace = json!({ "op": "replace", "path": "/spec", "value": pod });
                Ok(vec![self.write(uid, WriteAction::Patch(vec![replace]))])
            }
        }
    }

    fn stop(&self, uid: &str, grace_seconds: i64) -> Result<Vec<Write>, ProviderError> {
        let export = self.exports()?.get(uid).ok_or(ProviderError::NotFound)?;
        let mut writes = Vec::new();
        if export.spec.stop_grace_seconds.is_none_or(|asked| asked > grace_seconds) {
            let set =
                json!({ "op": "add", "path": "/spec/stopGraceSeconds", "value": grace_seconds });
            writes.push(self.write(uid, WriteAction::Patch(vec![set])));
        }
        if !export.deleting {
            writes.push(self.write(uid, WriteAction::Delete { grace_seconds: None }));
        }
        Ok(writes)
    }

    fn observed(&self) -> BTreeMap<String, ExportState> {
        self.exports.clone().unwrap_or_default()
    }
}
