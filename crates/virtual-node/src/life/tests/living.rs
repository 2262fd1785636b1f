//! Pods that are not being deleted.

use fleet_api::offload::{PodExportSpec, PodRejection, Refusal, RemoteLoss};

use super::*;
use crate::status::Link;

#[test]
fn a_pod_that_is_bound_is_exported() {
    let decision = decided(Some(&pod()), None, &node(), SETTLED);
    assert_eq!(kinds(&decision), ["export", "status", "Exported"]);
    assert_eq!(status(&decision).unwrap().reason.as_deref(), Some("WaitingForExecutor"));
    assert_eq!(export().spec.origin.uid, "u");
}

#[test]
fn nothing_is_decided_without_a_list() {
    for views in [Views::default(), Views { pods: None, exports: Some(LONG) }] {
        for pod in [None, Some(pod()), Some(deleted(pod(), 30))] {
            let decision = decided(pod.as_ref(), Some(&export()), &node(), views);
            assert_eq!(decision, Decision::default());
        }
    }
    let hub_unknown = Views { pods: Some(LONG), exports: None };
    assert_eq!(decided(Some(&pod()), None, &node(), hub_unknown), Decision::default());
}

#[test]
fn what_runs_there_runs_here() {
    let decision = decided(Some(&pod()), Some(&taken()), &node(), SETTLED);
    assert_eq!(kinds(&decision), ["status"]);
    let status = status(&decision).unwrap();
    assert!(status.is_ready() && status.phase == PodPhase::Running);
}

#[test]
fn an_address_of_another_cluster_is_reported_and_not_written() {
    let remote = RemoteStatus { pod_ips: vec!["10.9.0.7".to_owned()], ..running() };
    let export = ExportState { remote: Some(remote), ..taken() };
    let decision = decided(Some(&pod()), Some(&export), &node(), SETTLED);
    assert_eq!(kinds(&decision), ["status", "RemoteAddressRefused"]);
    let status = status(&decision).unwrap();
    assert!(!status.is_ready() && status.pod_ips.is_empty() && !status.phase.is_terminal());
}

/// It waits with the field, and the same Pod on the same terms is decided in the same way for ever.
#[test]
fn a_pod_that_does_not_cross_waits_with_its_field() {
    let mut pod = pod();
    pod.spec.insert("hostNetwork".to_owned(), true.into());
    let decision = decided(Some(&pod), None, &node(), SETTLED);
    assert_eq!(kinds(&decision), ["status", "RejectedByPolicy"]);
    let text = status(&decision).unwrap();
    assert_eq!(text.reason.as_deref(), Some("HostAccess"));
    assert!(text.message.as_ref().unwrap().contains("spec.hostNetwork"));
    assert_eq!(decision.again_after, None);
}

#[test]
fn what_hub_or_executor_refuse_is_not_sent_again_until_it_differs() {
    let rejected = |hash: &str| PodRejection {
        reason: Refusal::QuotaExceeded,
        field: "spec".to_owned(),
        message: String::new(),
        hash: hash.to_owned(),
    };
    let export = export();
    let same = ExportState { rejected: Some(rejected(&export.spec.spec_hash)), ..export.clone() };
    let decision = decided(Some(&pod()), Some(&same), &node(), SETTLED);
    assert_eq!(kinds(&decision), ["status", "RejectedByPolicy"]);
    assert_eq!(status(&decision).unwrap().reason.as_deref(), Some("QuotaExceeded"));
    let mut changed = pod();
    changed.spec["containers"][0]["image"] = "web:2".into();
    assert_eq!(kinds(&decided(Some(&changed), Some(&same), &node(), SETTLED)), ["update"]);
    let outdated = ExportState { rejected: Some(rejected("older")), ..export };
    assert_eq!(
        kinds(&decided(Some(&pod()), Some(&outdated), &node(), SETTLED)),
        Vec::<&str>::new()
    );
}

/// Kubernetes lets users resize a Pod that runs; its executor does not follow.
#[test]
fn a_pod_that_is_resized_says_that_nothing_comes_of_it() {
    let mut resized = started();
    resized.spec["containers"][0]["resources"] = json!({ "limits": { "cpu": "2" } });
    let decision = decided(Some(&resized), Some(&taken()), &node(), SETTLED);
    assert_eq!(kinds(&decision), ["update", "status", "RejectedByPolicy"]);
    let mut updated = resized.clone();
    updated.spec["containers"][0]["image"] = "web:2".into();
    let Some(Action::Update(spec)) = decision.actions.into_iter().next() else { panic!() };
    let export = ExportState { spec: *spec, ..taken() };
    assert_eq!(
        kinds(&decided(Some(&updated), Some(&export), &node(), SETTLED)),
        ["update", "status"]
    );
}

/// The executor may have made the Pod, and have been cut off before it could report that.
#[test]
fn what_is_agreed_on_is_not_changed_before_the_first_report() {
    let export = export();
    let mut node = node();
    node.terms.disconnect = stop_after(60);
    let silent = decided(Some(&pod()), Some(&export), &node, SETTLED);
    assert_eq!(silent, Decision::default());
    let remote = Some(RemoteStatus { observed_hash: export.spec.spec_hash.clone(), ..running() });
    let reported = ExportState { remote, ..export.clone() };
    assert_eq!(
        kinds(&decided(Some(&pod()), Some(&reported), &node, SETTLED)),
        ["update", "status"]
    );
    let rejected = Rejection::new(Refusal::NotTranslated, "disconnect");
    let rejected = Some(rejected.report(&export.spec.spec_hash));
    let refused = ExportState { rejected, ..export };
    assert_eq!(kinds(&decided(Some(&pod()), Some(&refused), &node, SETTLED)), ["update"]);
}

/// Admission, quota and rights in the cluster of the executor: only its API server knows the words.
#[test]
fn what_the_api_server_of_the_executor_states_is_shown() {
    let export = export();
    let with = |message: &str| {
        let mut rejected = Rejection::new(Refusal::RefusedByExecutor, "spec")
            .because("admission webhook \"guard\" denied the request: no")
            .report(&export.spec.spec_hash);
        if !message.is_empty() {
            message.clone_into(&mut rejected.message);
        }
        let export = ExportState { rejected: Some(rejected), ..export.clone() };
        decided(Some(&pod()), Some(&export), &node(), SETTLED)
    };
    let decision = with("");
    assert_eq!(kinds(&decision), ["status", "RejectedByPolicy"]);
    let shown = status(&decision).unwrap();
    assert_eq!(shown.reason.as_deref(), Some("RefusedByExecutor"));
    let message = "spec is refused by the API server of the executor: admission webhook \"guard\" denied the request: no";
    assert_eq!(shown.message.as_deref(), Some(message));
    assert!(!shown.is_ready());
    // Whatever an executor writes there is cut and cleaned.
    let hostile = with(&format!("\u{1b}[2J{}", "ü".repeat(5000)));
    let message = status(&hostile).unwrap().message.clone().unwrap();
    assert!(message.len() <= 1024 && !message.contains('\u{1b}'), "{message}");
    let taken = ExportState { rejected: None, ..taken() };
    assert_eq!(kinds(&decided(Some(&pod()), Some(&taken), &node(), SETTLED)), ["status"]);
}

/// Its Pod is there, and the copies of its config maps are refused.
#[test]
fn a_pod_that_waits_there_for_what_is_refused_shows_that() {
    let rejected = Rejection::new(Refusal::RefusedByExecutor, "spec").because("no");
    let of = |remote: RemoteStatus| {
        let export = taken();
        let rejected = Some(rejected.report(&export.spec.spec_hash));
        let remote = Some(RemoteStatus { observed_hash: export.spec.spec_hash.clone(), ..remote });
        let export = ExportState { rejected, remote, ..export };
        let decision = decided(Some(&pod()), Some(&export), &node(), SETTLED);
        status(&decision).unwrap().clone()
    };
    let waits = of(RemoteStatus::default());
    assert_eq!(
        (waits.phase, waits.reason.as_deref()),
        (PodPhase::Pending, Some("RefusedByExecutor"))
    );
    let lost =
        of(RemoteStatus { loss: Some(RemoteLoss::Unschedulable), ..RemoteStatus::default() });
    assert_eq!(lost.phase, PodPhase::Failed);
    assert_eq!(of(running()).phase, PodPhase::Running);
}

/// A change that is refused must not hide how the Pod fares that goes on as it was.
#[test]
fn a_pod_whose_change_is_refused_is_shown_as_it_is() {
    let rejected = PodRejection {
        reason: Refusal::LimitExceeded,
        field: "spec".to_owned(),
        message: String::new(),
        hash: export().spec.spec_hash,
    };
    let crashed = RemoteStatus { conditions: Vec::new(), ..running() };
    let export = ExportState { rejected: Some(rejected), remote: Some(crashed), ..taken() };
    let decision = decided(Some(&started()), Some(&export), &node(), SETTLED);
    assert_eq!(kinds(&decision), ["status", "RejectedByPolicy"]);
    let status = status(&decision).unwrap();
    assert!(status.phase == PodPhase::Running && !status.is_ready());
}

#[test]
fn a_pod_of_a_daemon_set_is_never_exported() {
    let pod = LocalPod { owner_kinds: vec!["DaemonSet".to_owned()], ..pod() };
    let decision = decided(Some(&pod), None, &node(), SETTLED);
    assert_eq!(kinds(&decision), ["status", "RejectedByPolicy"]);
    assert_eq!(status(&decision).unwrap().reason.as_deref(), Some("DaemonSetNotOffloaded"));
}

#[test]
fn a_changed_pod_is_updated() {
    let mut changed = started();
    changed.spec["containers"][0]["image"] = "web:2".into();
    let decision = decided(Some(&changed), Some(&taken()), &node(), SETTLED);
    assert_eq!(kinds(&decision), ["update", "status"]);
    let Action::Update(spec) = &decision.actions[0] else { panic!() };
    assert_eq!(spec.pod.0["containers"][0]["image"], "web:2");
}

/// Node, service account and tolerations are no part of what crosses.
#[test]
fn a_change_that_does_not_cross_is_no_update() {
    let mut changed = started();
    changed.spec.insert("tolerations".to_owned(), json!([{ "operator": "Exists" }]));
    changed.annotations.insert("a".to_owned(), "b".to_owned());
    assert_eq!(kinds(&decided(Some(&changed), Some(&taken()), &node(), SETTLED)), ["status"]);
}

/// A config map that appears later starts the Pod: its appearance is a change.
#[test]
fn a_pod_waits_for_its_config_maps_and_follows_them() {
    let mut pod = pod();
    pod.spec["containers"][0]["envFrom"] = json!([{ "configMapRef": { "name": "c" } }]);
    let with = |content: Option<&str>, export: Option<&ExportState>| {
        let copy = content.map(|value| {
            let data = [("k".to_owned(), value.to_owned())].into();
            ConfigCopy { data, ..ConfigCopy::default() }
        });
        let config = move |_: ConfigKind, _: &str| copy.clone();
        let node = node();
        let observed = Observed {
            uid: "u",
            pod: Some(&pod),
            export,
            node: &node,
            views: SETTLED,
            config: &config,
        };
        decide(&observed, now())
    };
    let waits = with(None, None);
    assert_eq!(kinds(&waits), ["status", "WaitingForConfig"]);
    assert!(status(&waits).unwrap().message.as_ref().unwrap().contains("ConfigMap c"));
    let starts = with(Some("1"), None);
    let Action::Export(spec) = &starts.actions[0] else { panic!("{starts:?}") };
    let export = ExportState { spec: *spec.clone(), ..taken() };
    assert_eq!(kinds(&with(Some("1"), Some(&export))), ["status"]);
    assert_eq!(kinds(&with(Some("2"), Some(&export))), ["update", "status"]);
    assert_eq!(kinds(&with(None, Some(&export))), ["status"], "what runs goes on");
}

#[test]
fn a_node_that_takes_no_pods_takes_none() {
    for phase in
        [VirtualNodePhase::Offered, VirtualNodePhase::Draining, VirtualNodePhase::Withdrawn]
    {
        let node = NodeState { phase, ..node() };
        let decision = decided(Some(&pod()), None, &node, SETTLED);
        assert_eq!(status(&decision).unwrap().reason.as_deref(), Some("NotOffered"));
        assert_eq!(kinds(&decided(Some(&started()), Some(&taken()), &node, SETTLED)), ["status"]);
    }
}

/// The hub has lost its data: what runs is exported again under the same name, so there is no second Pod.
#[test]
fn what_a_hub_has_lost_is_exported_again() {
    let draining = NodeState { phase: VirtualNodePhase::Draining, ..node() };
    let decision = decided(Some(&started()), None, &draining, SETTLED);
    assert_eq!(kinds(&decision), ["export", "Exported"]);
    let Action::Export(spec) = &decision.actions[0] else { panic!() };
    assert_eq!(**spec, PodExportSpec { resumed: true, ..export().spec });
}

/// A hub that was built anew has no terms at first, and one that was restored may have the export of a time before the Pod was taken.
#[test]
fn a_pod_that_runs_is_not_refused_by_a_hub_that_does_not_know_it() {
    let init = LocalPod { phase: PodPhase::Pending, ..started() };
    let terms = OffloadTerms::default();
    let new = NodeState { terms, phase: VirtualNodePhase::Offered, ..node() };
    for pod in [started(), init] {
        assert_eq!(decided(Some(&pod), None, &new, SETTLED), Decision::default());
        let old = decided(Some(&pod), Some(&export()), &new, SETTLED);
        assert_eq!(status(&old), None, "its time of start would go");
        let draining = NodeState { phase: VirtualNodePhase::Draining, ..node() };
        let again = decided(Some(&pod), None, &draining, SETTLED);
        assert_eq!(kinds(&again), ["export", "Exported"], "and no status without it");
    }
}

/// It is about to end there, since it is not exported again.
#[test]
fn a_pod_that_runs_and_may_not_cross_any_more_says_so() {
    let narrowed = NodeState { terms: OffloadTerms::default(), ..node() };
    let decision = decided(Some(&started()), None, &narrowed, SETTLED);
    assert_eq!(kinds(&decision), ["RejectedByPolicy"]);
}

/// Otherwise it gets no place there, and its executor stops it as one that nothing knows.
#[test]
fn a_hub_learns_of_an_old_export_that_its_pod_runs() {
    let old = export();
    assert!(!old.spec.resumed);
    let decision = decided(Some(&started()), Some(&old), &node(), SETTLED);
    let [Action::Update(spec)] = &decision.actions[..] else { panic!("{decision:?}") };
    assert!(spec.resumed && spec.spec_hash == old.spec.spec_hash);
    let known = ExportState { spec: (**spec).clone(), ..ExportState::default() };
    assert_eq!(decided(Some(&started()), Some(&known), &node(), SETTLED).actions, []);
    assert_eq!(kinds(&decided(Some(&started()), Some(&taken()), &node(), SETTLED)), ["status"]);
}

#[test]
fn a_pod_that_was_lost_fails_and_is_not_exported_again() {
    let remote = RemoteStatus { loss: Some(RemoteLoss::Evicted), ..running() };
    let lost = ExportState { remote: Some(remote), ..taken() };
    let decision = decided(Some(&started()), Some(&lost), &node(), SETTLED);
    assert_eq!(kinds(&decision), ["status", "RemoteFailed"]);
    assert_eq!(status(&decision).unwrap().phase, PodPhase::Failed);
    let failed = LocalPod { phase: PodPhase::Failed, ..started() };
    assert_eq!(
        decided(Some(&failed), Some(&lost), &node(), SETTLED).actions,
        [Action::Stop { grace_seconds: 0 }]
    );
    assert_eq!(decided(Some(&failed), None, &node(), SETTLED), Decision::default());
}

#[test]
fn an_export_that_another_client_deletes_ends_the_pod_once() {
    let deleting = ExportState { deleting: true, ..taken() };
    assert_eq!(kinds(&decided(Some(&started()), Some(&deleting), &node(), SETTLED)), ["status"]);
    let ending = ExportState {
        remote: Some(RemoteStatus { conditions: Vec::new(), ..running() }),
        ..deleting.clone()
    };
    let decision = decided(Some(&started()), Some(&ending), &node(), SETTLED);
    assert!(!status(&decision).unwrap().is_ready(), "it gets no traffic while it ends");
    let released = ExportState { released: true, ..deleting };
    let decision = decided(Some(&started()), Some(&released), &node(), SETTLED);
    assert_eq!(status(&decision).unwrap().reason.as_deref(), Some("RemoteDeleted"));
}

#[test]
fn a_final_phase_is_not_written_again() {
    for phase in [PodPhase::Succeeded, PodPhase::Failed] {
        let ended = LocalPod { phase, ..started() };
        assert_eq!(decided(Some(&ended), Some(&taken()), &node(), SETTLED), Decision::default());
        assert_eq!(decided(Some(&ended), None, &node(), SETTLED), Decision::default());
    }
}

/// A link that is down makes no Pod fail.
#[test]
fn behind_a_link_that_is_down_pods_are_not_ready_and_not_failed() {
    for link in [Link::HubUnreachable, Link::ExecutorUnreachable] {
        let node = NodeState { link, ..node() };
        let decision = decided(Some(&started()), Some(&taken()), &node, SETTLED);
        let status = status(&decision).unwrap();
        assert!(!status.is_ready() && status.phase == PodPhase::Running, "{link:?}");
        assert_eq!(kinds(&decision), ["status"]);
    }
}

#[test]
fn states_are_those_of_the_picture() {
    let alive = pod();
    let dying = deleted(pod(), 30);
    let rejected = ExportState {
        rejected: Some(PodRejection {
            reason: Refusal::NotOffered,
            field: String::new(),
            message: String::new(),
            hash: String::new(),
        }),
        ..export()
    };
    let accepted = ExportState { remote: None, ..taken() };
    let released = ExportState { released: true, ..taken() };
    let ended = LocalPod { phase: PodPhase::Failed, ..pod() };
    for (pod, export, expected) in [
        (Some(&alive), None, State::Desired),
        (Some(&alive), Some(&export()), State::Exported),
        (Some(&alive), Some(&accepted), State::Accepted),
        (Some(&alive), Some(&taken()), State::Running),
        (Some(&alive), Some(&rejected), State::Rejected),
        (Some(&ended), Some(&taken()), State::Terminal),
        (Some(&dying), Some(&taken()), State::Stopping),
        (None, Some(&taken()), State::Stopping),
        (Some(&dying), Some(&released), State::Released),
        (None, None, State::Released),
    ] {
        assert_eq!(state(pod, export), expected);
        assert_eq!(format!("{expected:?}"), expected.as_str());
    }
}
