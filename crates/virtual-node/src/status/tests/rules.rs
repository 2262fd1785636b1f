//! What the status of a Pod is, by that of its remote Pod.

use std::time::Duration;

use super::*;

#[test]
fn a_pod_that_runs_and_is_ready_there_is_so_here() {
    let desired = desired(&pod(), &running(), Link::Alive);
    assert_eq!(
        (desired.phase, desired.pod_ips[0].to_string()),
        (PodPhase::Running, "10.2.0.7".to_owned())
    );
    assert_eq!(ready(&desired), (true, ""));
    assert_eq!(desired.containers[0].container_id.as_deref(), Some("west+containerd://1"));
    assert_eq!(desired.refused_address, None);
}

/// A Pod of the executor could attract traffic that is meant for another cluster's.
#[test]
fn addresses_of_others_are_not_taken() {
    for bad in [
        &["10.3.0.7"][..],
        &["10.2.0.7", "10.3.0.7"],
        &["10.2.0.7", "10.2.0.8"],
        &["fd00:3::1"],
        &["169.254.169.254"],
        &["no address"],
        &[""],
    ] {
        let remote =
            RemoteStatus { pod_ips: bad.iter().map(|ip| (*ip).to_owned()).collect(), ..running() };
        let desired = desired(&pod(), &remote, Link::Alive);
        assert_eq!(desired.pod_ips, Vec::<std::net::IpAddr>::new(), "{bad:?}");
        assert_eq!(ready(&desired), (false, "AddressRefused"), "{bad:?}");
        assert!(desired.refused_address.is_some());
        assert_eq!(desired.phase, PodPhase::Running, "it is not failed for that");
    }
    let both =
        RemoteStatus { pod_ips: vec!["10.2.0.7".to_owned(), "fd00:2::7".to_owned()], ..running() };
    assert_eq!(desired(&pod(), &both, Link::Alive).pod_ips.len(), 2);
    assert_eq!(
        believed(&["10.2.0.7".to_owned()], &Cidrs::default()),
        Addresses::Refused("10.2.0.7".to_owned())
    );
}

#[test]
fn a_pod_without_an_address_is_not_ready() {
    let remote = RemoteStatus { pod_ips: Vec::new(), ..running() };
    assert_eq!(ready(&desired(&pod(), &remote, Link::Alive)), (false, "ContainersNotReady"));
}

/// Traffic must not go to where no answer comes from; the Pod itself goes on.
#[test]
fn no_pod_is_ready_behind_a_link_that_is_down() {
    for (link, reason) in [
        (Link::HubUnreachable, "HubUnreachable"),
        (Link::ExecutorUnreachable, "ExecutorUnreachable"),
    ] {
        let desired = desired(&pod(), &running(), link);
        assert_eq!(ready(&desired), (false, reason));
        assert_eq!((desired.phase, desired.pod_ips.len()), (PodPhase::Running, 1));
    }
}

#[test]
fn gates_of_the_origin_count() {
    let mut pod = pod();
    pod.spec.insert("readinessGates".to_owned(), json!([{ "conditionType": "a/gate" }]));
    assert_eq!(ready(&desired(&pod, &running(), Link::Alive)), (false, "ReadinessGatesNotReady"));
    let gate = Condition { type_: "a/gate".to_owned(), status: true, ..Condition::default() };
    pod.conditions.push(gate);
    assert_eq!(ready(&desired(&pod, &running(), Link::Alive)), (true, ""));
}

/// Otherwise a user waits for a debugger that does not come.
#[test]
fn what_is_added_to_a_pod_that_runs_is_not_passed_over_in_silence() {
    let mut pod = pod();
    pod.spec.insert("ephemeralContainers".to_owned(), json!([{ "name": "debugger" }]));
    let shown = desired(&pod, &running(), Link::Alive).message;
    assert_eq!(shown.as_deref(), Some("ephemeral containers do not reach cluster west"));
}

#[test]
fn only_these_conditions_are_written() {
    let mut pod = pod();
    let other = Condition { type_: "a/other".to_owned(), status: true, ..Condition::default() };
    pod.conditions.push(other);
    let types: Vec<_> = desired(&pod, &running(), Link::Alive).conditions;
    let types: Vec<_> = types.iter().map(|one| one.type_.as_str()).collect();
    assert_eq!(types, REPORTED);
}

/// The node controller has written Ready=false: while the link works it is written again, else it is right.
#[test]
fn drift_shows_as_a_difference() {
    let mut pod = pod();
    let foreign =
        Condition { type_: "Ready".to_owned(), since: Some(at(50)), ..Condition::default() };
    pod.conditions = vec![foreign.clone()];
    let alive = desired(&pod, &running(), Link::Alive);
    assert_eq!((ready(&alive).0, alive.conditions[2].since), (true, Some(at(100))));
    let down = desired(&pod, &running(), Link::HubUnreachable);
    assert_eq!((ready(&down).0, down.conditions[2].since), (false, Some(at(50))));
}

#[test]
fn a_final_phase_is_final() {
    for phase in [PodPhase::Succeeded, PodPhase::Failed] {
        let pod = LocalPod { phase, ..pod() };
        assert_eq!(translate(&pod, &running(), "west", &ranges(), Link::Alive, at(1)), None);
        assert_eq!(pending(&pod, "Reason", "text", at(1)), None);
    }
}

#[test]
fn a_pod_that_runs_does_not_wait_to_start_again() {
    let pod = LocalPod { phase: PodPhase::Running, ..pod() };
    assert_eq!(desired(&pod, &RemoteStatus::default(), Link::Alive).phase, PodPhase::Running);
    assert_eq!(pending(&pod, "Reason", "text", at(1)), None);
}

#[test]
fn a_pod_that_was_lost_has_failed() {
    for (loss, reason) in [
        (RemoteLoss::Evicted, "RemoteEvicted"),
        (RemoteLoss::Preempted, "RemotePreempted"),
        (RemoteLoss::Lost, "RemoteLost"),
        (RemoteLoss::Deleted, "RemoteDeleted"),
        (RemoteLoss::Unschedulable, "RemoteUnschedulable"),
    ] {
        let desired = desired(&pod(), &RemoteStatus { loss: Some(loss), ..running() }, Link::Alive);
        assert_eq!((desired.phase, desired.reason.as_deref()), (PodPhase::Failed, Some(reason)));
        assert!(!desired.is_ready() && desired.message.is_some());
    }
}

/// How containers ended is what the executor reports, not an invention.
#[test]
fn exit_codes_are_those_of_the_containers() {
    let mut remote = RemoteStatus { phase: PodPhase::Failed, ..running() };
    remote.containers[0].state =
        ContainerState { exit_code: Some(137), ..ContainerState::default() };
    let desired = desired(&pod(), &remote, Link::Alive);
    assert_eq!(
        (desired.phase, desired.containers[0].state.exit_code),
        (PodPhase::Failed, Some(137))
    );
    assert!(!desired.is_ready());
}

#[test]
fn texts_of_the_other_cluster_are_cleaned_and_cut() {
    let mut remote = running();
    remote.message = Some(format!("\u{1b}[31m{}", "m".repeat(5000)));
    remote.reason = Some("Bad Reason\n".to_owned());
    remote.containers[0].state.message = Some("\u{7}x".repeat(1000));
    remote.containers[0].restart_count = -1;
    let other = RemoteContainer { name: "miner".to_owned(), ..RemoteContainer::default() };
    remote.containers.push(other);
    let desired = desired(&pod(), &remote, Link::Alive);
    let message = desired.message.as_deref().unwrap();
    assert!(
        message.len() <= 1024
            && message.starts_with("cluster west: ")
            && !message.contains('\u{1b}')
    );
    assert_eq!(desired.reason.as_deref(), Some("BadReason"));
    assert_eq!(desired.containers.len(), 1, "a container that the Pod does not have");
    assert_eq!(desired.containers[0].restart_count, 0);
    assert!(desired.containers[0].state.message.as_ref().unwrap().len() <= 256);
}

#[test]
fn a_status_is_written_once_a_second_unless_traffic_depends_on_it() {
    let second = Duration::from_secs(1);
    let ready = desired(&pod(), &running(), Link::Alive);
    let pending = pending(&pod(), "Reason", "text", at(1)).unwrap();
    let half = Some(second / 2);
    assert_eq!(pace(&pod(), &ready, half), Pace::Now, "another phase");
    assert_eq!(pace(&pod(), &pending, half), Pace::After(second / 2));
    assert_eq!(pace(&pod(), &pending, Some(second)), Pace::Now);
    assert_eq!(pace(&pod(), &pending, None), Pace::Now);
    let condition = Condition { type_: "Ready".to_owned(), status: true, ..Condition::default() };
    let was_ready = LocalPod { phase: PodPhase::Running, conditions: vec![condition], ..pod() };
    let down = desired(&was_ready, &running(), Link::HubUnreachable);
    assert_eq!(pace(&was_ready, &down, half), Pace::Now);
    assert_eq!(pace(&was_ready, &ready, half), Pace::After(second / 2));
}
