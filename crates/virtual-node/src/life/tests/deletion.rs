//! Pods that are being deleted.

use super::*;

fn stopping(grace: i64) -> ExportState {
    let mut export = ExportState { deleting: true, ..taken() };
    export.spec.stop_grace_seconds = Some(grace);
    export
}

#[test]
fn a_pod_that_never_started_goes_at_once() {
    let decision = decided(Some(&deleted(pod(), 30)), None, &node(), SETTLED);
    assert_eq!(decision, Decision::of([remove()]));
    let fresh = Views { exports: Some(Duration::ZERO), ..SETTLED };
    assert_eq!(decided(Some(&deleted(pod(), 30)), None, &node(), fresh).actions, [remove()]);
}

/// A hub that was restored does not have the export of a Pod that runs.
#[test]
fn the_absence_of_an_export_has_to_last() {
    let pod = deleted(started(), 30);
    let after = |seconds| Views { exports: Some(Duration::from_secs(seconds)), ..SETTLED };
    let early = decided(Some(&pod), None, &node(), after(20));
    assert_eq!(early, Decision::wait(Duration::from_secs(40)));
    let unknown = Views { exports: None, ..SETTLED };
    assert_eq!(decided(Some(&pod), None, &node(), unknown).actions, []);
    let decision = decided(Some(&pod), None, &node(), after(60));
    let [Action::Export(spec)] = &decision.actions[..] else { panic!("{decision:?}") };
    assert!(spec.resumed, "no executor makes it a second time");
    assert_eq!(spec.stop_grace_seconds, Some(30));
    let export = ExportState { spec: (**spec).clone(), ..ExportState::default() };
    let decision = decided(Some(&pod), Some(&export), &node(), after(60));
    assert_eq!(decision.actions, [Action::Stop { grace_seconds: 30 }]);
}

/// What it refers to may be gone by now.
#[test]
fn a_pod_is_stopped_without_its_config_maps() {
    let mut pod = deleted(started(), 30);
    let Value::Object(spec) = json!({ "containers": [{
        "name": "web", "envFrom": [{ "configMapRef": { "name": "gone" } }],
    }] }) else {
        unreachable!()
    };
    pod.spec = spec;
    let decision = decided(Some(&pod), None, &node(), SETTLED);
    let [Action::Export(spec)] = &decision.actions[..] else { panic!("{decision:?}") };
    assert!(spec.configs.is_empty());
}

/// Nothing of it runs.
#[test]
fn no_executor_is_asked_about_a_pod_that_has_ended() {
    let ended = LocalPod { phase: PodPhase::Failed, ..deleted(started(), 30) };
    assert_eq!(decided(Some(&ended), None, &node(), SETTLED).actions, [remove()]);
}

/// A hub that was built anew has no terms until the executor is back; and terms may have changed while the Pod ran.
#[test]
fn a_pod_that_does_not_cross_any_more_is_stopped_by_its_identity() {
    let node = NodeState { terms: OffloadTerms::default(), ..node() };
    for phase in [PodPhase::Pending, PodPhase::Running] {
        let pod = LocalPod { phase, ..deleted(started(), 30) };
        let decision = decided(Some(&pod), None, &node, SETTLED);
        let [Action::Export(spec)] = &decision.actions[..] else { panic!("{decision:?}") };
        assert_eq!((spec.origin.uid.as_str(), spec.stop_grace_seconds), ("u", Some(30)));
        assert!(spec.resumed && spec.pod.0.is_empty() && !spec.spec_hash.is_empty(), "{spec:?}");
        // Nothing is agreed on, so that its end is waited for.
        let asked =
            ExportState { spec: (**spec).clone(), deleting: true, ..ExportState::default() };
        let silent = NodeState { silent: Some(LONG), ..node.clone() };
        assert_eq!(decided(Some(&pod), Some(&asked), &silent, SETTLED).actions, []);
    }
}

/// It may have started there, and the hub was lost before that was known here.
#[test]
fn a_pod_that_was_given_away_is_not_one_that_never_started() {
    let shown = |reason: &str| LocalPod {
        reason: Some(reason.to_owned()),
        conditions: vec![Condition::read(&json!({ "type": "ContainersReady", "status": "False" }))],
        ..deleted(pod(), 30)
    };
    let after = |seconds| Views { exports: Some(Duration::from_secs(seconds)), ..SETTLED };
    for (reason, is_held) in [
        ("WaitingForExecutor", false),
        ("", false),
        ("WaitingForConfig", true),
        ("QuotaExceeded", true),
        ("RefusedByExecutor", true),
    ] {
        let early = decided(Some(&shown(reason)), None, &node(), after(0));
        assert_eq!(early.actions == [remove()], is_held, "{reason}");
        assert_eq!(decided(Some(&shown(reason)), None, &node(), after(60)).actions, [remove()]);
    }
}

#[test]
fn a_pod_that_runs_is_stopped_and_kept() {
    let decision = decided(Some(&deleted(started(), 30)), Some(&taken()), &node(), SETTLED);
    assert_eq!(decision.actions, [Action::Stop { grace_seconds: 30 }]);
    let waits = decided(Some(&deleted(started(), 30)), Some(&stopping(30)), &node(), SETTLED);
    assert_eq!(waits.actions, []);
    assert!(waits.again_after.is_some());
}

/// A container that does not run at the moment, or never has, may be running there in a second.
#[test]
fn pods_that_crash_or_have_not_started_are_waited_for_too() {
    for phase in [PodPhase::Pending, PodPhase::Running] {
        let remote = RemoteStatus { phase, ..RemoteStatus::default() };
        let export = ExportState { remote: Some(remote), ..stopping(30) };
        let decision = decided(Some(&deleted(pod(), 30)), Some(&export), &node(), SETTLED);
        assert_eq!(decision.actions, [], "{phase:?}");
    }
}

#[test]
fn a_stop_can_be_shortened_and_not_prolonged() {
    let of = |asked, wanted| {
        decided(Some(&deleted(started(), wanted)), Some(&stopping(asked)), &node(), SETTLED).actions
    };
    assert_eq!(of(30, 5), [Action::Stop { grace_seconds: 5 }]);
    assert_eq!(of(5, 30), []);
    assert_eq!(of(30, 0), [Action::Stop { grace_seconds: 0 }]);
}

/// How its containers ended is written, as the executor reports it; then the object goes at once.
#[test]
fn a_pod_that_was_released_goes_with_its_last_status() {
    let remote = RemoteStatus { phase: PodPhase::Failed, ..RemoteStatus::default() };
    let released = ExportState { released: true, remote: Some(remote), ..stopping(30) };
    let decision = decided(Some(&deleted(started(), 30)), Some(&released), &node(), SETTLED);
    assert_eq!(kinds(&decision), ["status", "Released", "remove"]);
    assert_eq!(status(&decision).unwrap().phase, PodPhase::Failed, "no success is invented");
    assert_eq!(decision.actions[2], remove());
}

/// A Pod that was made again under the same name has another uid.
#[test]
fn another_pod_of_that_name_is_left_alone() {
    let other = LocalPod { uid: "other".to_owned(), ..deleted(started(), 30) };
    let released = ExportState { released: true, deleting: true, ..taken() };
    assert_eq!(decided(Some(&other), Some(&released), &node(), SETTLED), Decision::default());
    let decision = decided(Some(&other), Some(&taken()), &node(), SETTLED);
    assert_eq!(decision.actions, [Action::Stop { grace_seconds: 0 }], "the old uid is stopped");
}

#[test]
fn an_executor_that_does_not_answer_is_reported_every_five_minutes() {
    let waiting = |seconds| {
        let deletion = Deletion { grace_seconds: 30, requested: ago(seconds) };
        let pod = LocalPod { deletion: Some(deletion), ..started() };
        decided(Some(&pod), Some(&stopping(30)), &node(), SETTLED)
    };
    assert_eq!(waiting(30), Decision::wait(Duration::from_mins(5)));
    assert_eq!(waiting(130), Decision::wait(Duration::from_secs(200)));
    let late = waiting(400);
    assert_eq!(kinds(&late), ["WaitingForExecutor"]);
    assert_eq!(late.again_after, Some(Duration::from_secs(230)));
    assert_eq!(kinds(&waiting(-5000)), Vec::<&str>::new(), "another clock");
}

/// The executor stops at n, and the origin waits for n and a margin.
#[test]
fn a_pod_that_ends_by_itself_needs_no_confirmation() {
    let silent = |seconds, disconnect| {
        let node = NodeState { silent: Some(Duration::from_secs(seconds)), ..node() };
        let mut export = stopping(30);
        export.spec.disconnect = disconnect;
        kinds(&decided(Some(&deleted(started(), 30)), Some(&export), &node, SETTLED))
    };
    let none = Vec::<&str>::new();
    assert_eq!(silent(119, stop_after(60)), none);
    assert_eq!(silent(120, stop_after(60)), ["Released", "remove"]);
    assert_eq!(silent(119, stop_after(30)), none, "the executor hears of it after a minute");
    assert_eq!(silent(1_000_000, Disconnect::default()), none, "it may still run");
    for (seconds, ended, stopped) in [(59, false, false), (60, false, true), (120, true, true)] {
        let silent = Some(Duration::from_secs(seconds));
        assert_eq!(has_ended(stop_after(60), silent), ended);
        assert_eq!(stops(stop_after(60), silent), stopped);
    }
    assert!(!stops(stop_after(60), None) && !has_ended(stop_after(60), None));
}

/// The offer was changed while the executor was cut off: it does not know that it is to stop the Pod.
#[test]
fn an_executor_stops_only_what_it_knows_to_be_stopped() {
    let node = NodeState { silent: Some(LONG), ..node() };
    let mut export = stopping(30);
    export.spec.disconnect = stop_after(60);
    export.spec.spec_hash = "new".to_owned();
    for (observed, is_removed) in [("old", false), ("new", true)] {
        let remote = RemoteStatus { observed_hash: observed.to_owned(), ..running() };
        export.remote = Some(remote);
        let decision = decided(Some(&deleted(started(), 30)), Some(&export), &node, SETTLED);
        assert_eq!(decision.actions.contains(&remove()), is_removed, "{observed}");
    }
}

/// One that has reported nothing may run it on what was agreed on before, if there was something before.
#[test]
fn an_executor_that_has_reported_nothing_knows_one_agreement_at_most() {
    let node = NodeState { silent: Some(LONG), ..node() };
    let is_removed = |change: fn(&mut ExportState)| {
        let mut export = ExportState { remote: None, ..stopping(30) };
        export.spec.disconnect = stop_after(60);
        change(&mut export);
        let decision = decided(Some(&deleted(started(), 30)), Some(&export), &node, SETTLED);
        decision.actions.contains(&remove())
    };
    assert!(is_removed(|_| {}));
    assert!(!is_removed(|export| export.spec.resumed = true), "the hub was lost in between");
    assert!(!is_removed(|export| {
        export.rejected = Some(Rejection::new(Refusal::QuotaExceeded, "spec").report("earlier"));
    }));
}

#[test]
fn the_end_is_waited_for_no_longer_than_needed() {
    let node = NodeState { silent: Some(Duration::from_secs(70)), ..node() };
    let mut export = stopping(30);
    export.spec.disconnect = stop_after(60);
    let decision = decided(Some(&deleted(started(), 30)), Some(&export), &node, SETTLED);
    assert_eq!(decision.again_after, Some(Duration::from_secs(50)));
}

#[test]
fn an_administrator_can_give_an_executor_up() {
    let node = NodeState { abandoned: true, ..node() };
    let pod = deleted(started(), 30);
    let decision = decided(Some(&pod), Some(&stopping(30)), &node, SETTLED);
    assert_eq!(kinds(&decision), ["Released", "remove"]);
    let Action::Notify(notice) = &decision.actions[0] else { panic!() };
    assert!(notice.warning && notice.message.contains("cluster west is given up"));
    let unsettled = Views { exports: Some(Duration::ZERO), ..SETTLED };
    assert_eq!(decided(Some(&pod), None, &node, unsettled).actions, [remove()]);
    assert_eq!(kinds(&decided(Some(&started()), Some(&taken()), &node, SETTLED)), ["status"]);
}

/// A user has removed the Pod without waiting, or it went while the agent was away.
#[test]
fn an_export_without_a_pod_is_stopped_once_that_is_certain() {
    let after = |seconds| Views { pods: Some(Duration::from_secs(seconds)), exports: Some(LONG) };
    assert_eq!(
        decided(None, Some(&taken()), &node(), after(20)),
        Decision::wait(Duration::from_secs(40))
    );
    assert_eq!(
        decided(None, Some(&taken()), &node(), after(60)).actions,
        [Action::Stop { grace_seconds: 0 }]
    );
    assert_eq!(decided(None, Some(&stopping(0)), &node(), SETTLED), Decision::default());
    assert_eq!(decided(None, None, &node(), SETTLED), Decision::default());
}
