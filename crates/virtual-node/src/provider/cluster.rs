//! A provider that runs Pods in the cluster of an API server, in namespaces of their own: that of an executor, or the same one.

use std::collections::BTreeMap;

use fleet_api::offload::{OffloadTerms, PodExportSpec, RemoteStatus};
use fleet_api::{ObjectName, ResourceKind, kinds};
use jiff::Timestamp;
use serde_json::Value;

use super::backend::{Provider, ProviderError};
use super::write::{Write, WriteAction};
use crate::executor::{
    Gone, changes, config_documents, observe, pod_document, spec_hash_of, waits_for_configs,
};
use crate::life::ExportState;
use crate::pod::check;

/// Pods that run in a cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterProvider {
    /// What is accepted.
    pub terms: OffloadTerms,
    /// What was asked for, by the uid of the Pod.
    pub specs: BTreeMap<String, PodExportSpec>,
    /// The Pods in that cluster, by the uid of the Pod that they stand for; `None` before they have been listed.
    pub pods: Option<BTreeMap<String, Value>>,
    /// What was reported last: a Pod that was lost stays so.
    pub reported: BTreeMap<String, RemoteStatus>,
    /// The time at which Pods are looked at.
    pub now: Timestamp,
}

impl ClusterProvider {
    fn pods(&self) -> Result<&BTreeMap<String, Value>, ProviderError> {
        self.pods.as_ref().ok_or(ProviderError::Unavailable { retry_after: None })
    }

    /// Whether there was a Pod: another one for the same uid would not be the same. Its origin remembers it if the hub does not.
    fn had_one(&self, uid: &str) -> bool {
        self.reported.get(uid).is_some_and(|last| last.pod.is_some())
            || self.specs.get(uid).is_some_and(|spec| spec.resumed)
    }
}

impl Provider for ClusterProvider {
    fn ensure(&self, pod: &PodExportSpec) -> Result<Vec<Write>, ProviderError> {
        let present = self.pods()?.get(&pod.origin.uid);
        let is_current = |present: &&Value| {
            spec_hash_of(present) == Some(&*pod.spec_hash) && !waits_for_configs(present)
        };
        match present {
            Some(present) if is_deleting(present) => return Err(ProviderError::Conflict),
            // What runs goes on, whatever is accepted now.
            Some(present) if is_current(&present) => return Ok(Vec::new()),
            None if pod.resumed || self.had_one(&pod.origin.uid) => {
                return Err(ProviderError::Conflict);
            }
            _ => {}
        }
        check(pod, &pod.origin.cluster, &self.terms).map_err(ProviderError::Rejected)?;
        let wanted = pod_document(pod);
        let Some(present) = present else { return Ok(vec![create(wanted)]) };
        // Config maps and Secrets belong to the Pod and go with it, so that there has to be a Pod before them.
        let configs = config_documents(pod, present).into_iter().map(apply);
        let patch = WriteAction::Patch(changes(present, &wanted));
        Ok(configs.chain([write(present, kinds::POD, patch)]).collect())
    }

    fn stop(&self, uid: &str, grace_seconds: i64) -> Result<Vec<Write>, ProviderError> {
        let present = self.pods()?.get(uid).ok_or(ProviderError::NotFound)?;
        Ok(stop(present, grace_seconds).into_iter().collect())
    }

    fn observed(&self) -> BTreeMap<String, ExportState> {
        let Some(pods) = &self.pods else { return BTreeMap::new() };
        let uids = self.specs.keys().chain(pods.keys()).chain(self.reported.keys());
        uids.map(|uid| (uid.clone(), self.state(uid, pods.get(uid)))).collect()
    }
}

impl ClusterProvider {
    fn state(&self, uid: &str, pod: Option<&Value>) -> ExportState {
        let spec = self.specs.get(uid).cloned().unwrap_or_default();
        let gone = if self.had_one(uid) { Gone::Deleted } else { Gone::NotMade };
        let last = self.reported.get(uid);
        let stopped = spec.stop_grace_seconds.is_some();
        let gone = if stopped { Gone::NotMade } else { gone };
        let remote = observe(pod, gone, last, &spec.spec_hash, self.now);
        ExportState {
            deleting: stopped || pod.is_some_and(is_deleting),
            accepted: pod.is_some() || last.is_some() || spec.resumed,
            rejected: None,
            released: stopped && pod.is_none(),
            remote: (pod.is_some() || last.is_some() || spec.resumed).then_some(remote),
            spec,
        }
    }
}

/// The write by which a Pod ends within this time; `None` if it does already.
pub(crate) fn stop(pod: &Value, grace_seconds: i64) -> Option<Write> {
    let asked = pod["metadata"]["deletionGracePeriodSeconds"].as_i64();
    if is_deleting(pod) && asked.is_some_and(|asked| asked <= grace_seconds) {
        return None;
    }
    let grace_seconds = Some(grace_seconds.max(0));
    Some(write(pod, kinds::POD, WriteAction::Delete { grace_seconds }))
}

fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

fn create(pod: Value) -> Write {
    write(&pod.clone(), kinds::POD, WriteAction::Create(pod))
}

fn apply(config: Value) -> Write {
    let is_secret = config["kind"] == "Secret";
    let kind = if is_secret { kinds::SECRET } else { kinds::CONFIG_MAP };
    write(&config.clone(), kind, WriteAction::Apply(config))
}

fn write(object: &Value, kind: ResourceKind, action: WriteAction) -> Write {
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    Write { kind, name: ObjectName::new(text("namespace"), text("name")), action }
}
