//! Pods that wait on the way to their executor, counted by what for. The hub shows those that were exported.

use std::collections::BTreeMap;

use fleet_api::conditions::offload_reasons::WAITING_FOR_EXECUTOR;
use fleet_api::names::member_of_namespace;
use fleet_api::offload::{OriginPod, PodExportStatus, PodPhase};
use kube::api::DynamicObject;

/// What is exported, by origin and executor.
#[derive(Clone, Debug, Default)]
pub struct Waiting(BTreeMap<(String, String), Exports>);

/// What one origin has exported for one executor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exports {
    /// How many.
    pub all: i64,
    /// Those that do not run, by the reason.
    pub reasons: BTreeMap<String, usize>,
    /// One that is refused, as `namespace/name`.
    pub refused: Option<String>,
}

impl Waiting {
    /// What of these exports waits.
    pub fn of<'a>(exports: impl IntoIterator<Item = &'a DynamicObject>) -> Self {
        let mut waiting = Self::default();
        exports.into_iter().for_each(|export| waiting.add(export));
        waiting
    }

    /// Counts one more export.
    pub(super) fn add(&mut self, export: &DynamicObject) {
        let origin = export.metadata.namespace.as_deref().and_then(member_of_namespace);
        let executor = export.data["spec"]["executor"].as_str();
        let Some((origin, executor)) = origin.zip(executor) else { return };
        let exports = self.0.entry((origin.to_owned(), executor.to_owned())).or_default();
        exports.all += 1;
        let status: PodExportStatus =
            serde_json::from_value(export.data["status"].clone()).unwrap_or_default();
        let is_deleting = export.metadata.deletion_timestamp.is_some();
        let Some(reason) = reason(&status, is_deleting) else { return };
        *exports.reasons.entry(reason).or_default() += 1;
        if status.rejected.is_some() && exports.refused.is_none() {
            let pod: Option<OriginPod> =
                serde_json::from_value(export.data["spec"]["origin"].clone()).ok();
            exports.refused = pod.map(|pod| format!("{}/{}", pod.namespace, pod.name));
        }
    }

    /// Those of a member for another one.
    pub(super) fn between(&self, origin: &str, executor: &str) -> Exports {
        self.0.get(&(origin.to_owned(), executor.to_owned())).cloned().unwrap_or_default()
    }
}

/// What an exported Pod waits for, if for anything.
fn reason(status: &PodExportStatus, is_deleting: bool) -> Option<String> {
    if status.released {
        return None;
    }
    if is_deleting {
        return Some("Stopping".to_owned());
    }
    match (&status.remote, &status.rejected) {
        (None, Some(rejected)) => Some(rejected.reason.as_str().to_owned()),
        (None, None) => Some(WAITING_FOR_EXECUTOR.to_owned()),
        (Some(remote), _) if remote.phase == PodPhase::Pending => {
            Some(remote.reason.clone().unwrap_or_else(|| "Pending".to_owned()))
        }
        (Some(_), _) => None,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::{Value, json};

    use super::*;

    fn export(name: &str, status: &Value) -> DynamicObject {
        let origin = json!({ "cluster": "east", "namespace": "shop", "name": name, "uid": name });
        serde_json::from_value(json!({
            "metadata": { "namespace": "fleet-member-east", "name": name },
            "spec": { "executor": "west", "origin": origin }, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn pods_are_counted_by_what_they_wait_for() {
        let refused =
            json!({ "rejected": { "reason": "QuotaExceeded", "field": "spec", "hash": "h" } });
        let remote = |phase: &str| json!({ "accepted": true, "remote": { "phase": phase } });
        let mut leaving = export("e", &remote("Running"));
        leaving.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
        let all = [
            export("a", &refused),
            export("b", &json!({})),
            export("c", &remote("Pending")),
            export("d", &remote("Running")),
            leaving,
            export("f", &json!({ "released": true })),
        ];
        let found = Waiting::of(&all).between("east", "west");
        let reasons: Vec<_> =
            found.reasons.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
        let expected =
            ["Pending", "QuotaExceeded", "Stopping", "WaitingForExecutor"].map(|name| (name, 1));
        assert_eq!(reasons, expected);
        assert_eq!((found.all, found.refused.as_deref()), (6, Some("shop/a")));
        assert_eq!(Waiting::of(&all).between("west", "east"), Exports::default());
    }
}
