use std::collections::BTreeMap;

use fleet_api::offload::{OffloadTerms, PodExportSpec, PodImportSpec, PolicyProfile};
use serde_json::{Value, json};

use super::*;
use crate::executor::{Execution, execute, pod_document};
use crate::hub::HubImport;
use crate::pod::{LocalPod, spec_hash, translate};
use crate::provider::ClusterProvider;

const WORDS: &str = "admission webhook \"guard\" denied the request: no";

fn terms() -> OffloadTerms {
    OffloadTerms {
        namespaces: vec!["shop".to_owned()],
        policy_profile: PolicyProfile::Baseline,
        ..OffloadTerms::default()
    }
}

fn export(image: &str) -> PodExportSpec {
    let pod = LocalPod::read(&json!({
        "metadata": { "namespace": "shop", "name": "web", "uid": "u" },
        "spec": { "containers": [{ "name": "web", "image": image }] },
    }));
    let mut export = translate(&pod, "east", "west", &terms(), None).unwrap();
    export.spec_hash = spec_hash(&export);
    export
}

fn import(image: &str, rejected: Option<PodRejection>) -> HubImport {
    let spec = PodImportSpec { export: export(image), stop: None };
    let status = PodImportStatus { rejected, ..PodImportStatus::default() };
    HubImport { spec, status, deleting: false }
}

/// The Pod in the executor, if it is there.
fn executed(import: &HubImport, pod: Option<Value>, refused: Option<&Refused>) -> Execution {
    let provider = ClusterProvider {
        terms: terms(),
        specs: BTreeMap::from([("u".to_owned(), import.spec.export.clone())]),
        pods: Some(pod.map(|pod| ("u".to_owned(), pod)).into_iter().collect()),
        ..ClusterProvider::default()
    };
    execute("u", import, &provider, None, refused)
}

fn refused(rest: u64) -> Refused {
    Refused { message: WORDS.to_owned(), rest: Duration::from_secs(rest) }
}

fn reported(execution: &Execution) -> Option<&PodRejection> {
    execution.status.as_ref().and_then(|status| status.rejected.as_ref())
}

#[test]
fn a_refusal_is_reported_in_the_words_of_the_api_server_and_tried_again() {
    let fresh = import("web:1", None);
    let first = executed(&fresh, None, None);
    assert_eq!((first.writes.len(), &first.status), (1, &None), "nothing is known yet");
    let early = executed(&fresh, None, Some(&refused(4)));
    assert_eq!((early.writes.len(), early.again_after), (0, Some(Duration::from_secs(4))));
    let report = reported(&early).unwrap().clone();
    assert_eq!((report.reason, &*report.field), (Refusal::RefusedByExecutor, "spec"));
    assert!(report.message.ends_with(WORDS), "{}", report.message);
    assert_eq!(report.hash, fresh.spec.export.spec_hash);
    // It stands there, and the time has come.
    let known = import("web:1", Some(report));
    let late = executed(&known, None, Some(&refused(0)));
    assert_eq!((late.writes.len(), &late.status, late.again_after), (1, &None, None));
}

/// A user of the origin reads the same reason, whichever cluster has counted.
#[test]
fn a_quota_of_the_cluster_is_one_that_is_exceeded() {
    let message =
        "pods \"web\" is forbidden: exceeded quota: offload, requested: pods=1".to_owned();
    let refused = Refused { message: message.clone(), rest: Duration::from_secs(4) };
    let report =
        reported(&executed(&import("web:1", None), None, Some(&refused))).cloned().unwrap();
    assert_eq!(report.reason, Refusal::QuotaExceeded);
    assert_eq!(Rejection::reported(&report).detail, message);
    let started = executed(&import("web:1", Some(report)), None, None);
    assert_eq!(started.status, None, "another process keeps it");
    let counted = Rejection::new(Refusal::QuotaExceeded, "spec");
    assert_eq!(Rejection::reported(&counted.report("h")), counted);
}

#[test]
fn a_success_takes_it_back() {
    let report = reported(&executed(&import("web:1", None), None, Some(&refused(4)))).cloned();
    let known = import("web:1", report);
    let pod = pod_document(&known.spec.export);
    let done = executed(&known, Some(pod), Some(&refused(60)));
    assert!(done.is_settled && done.writes.is_empty());
    let status = done.status.unwrap();
    assert!(status.rejected.is_none() && status.remote.is_some());
}

/// Another process, which has not tried yet, does not know better.
#[test]
fn a_process_that_starts_keeps_what_was_reported() {
    let report = reported(&executed(&import("web:1", None), None, Some(&refused(4)))).cloned();
    let known = import("web:1", report);
    let started = executed(&known, None, None);
    assert_eq!((started.writes.len(), started.status), (1, None));
}

#[test]
fn another_version_is_tried_at_once() {
    let report = reported(&executed(&import("web:1", None), None, Some(&refused(4)))).cloned();
    let changed = executed(&import("web:2", report), None, Some(&refused(60)));
    assert_eq!((changed.writes.len(), changed.again_after), (1, None));
    assert_eq!(changed.status.unwrap().rejected, None, "nothing is known of this version");
}

/// What runs goes on, and what is refused of it is the change.
#[test]
fn a_change_that_is_refused_is_reported_beside_what_runs() {
    let pod = pod_document(&export("web:1"));
    let execution = executed(&import("web:2", None), Some(pod), Some(&refused(4)));
    assert!(execution.writes.is_empty() && reported(&execution).is_some());
    assert!(execution.status.unwrap().remote.is_some());
}

#[test]
fn pauses_have_no_end() {
    let pauses = [1, 2, 3, 7, 8, u32::MAX].map(|count| retry_pause(count).as_secs());
    assert_eq!(pauses, [1, 2, 4, 60, 60, 60]);
}
