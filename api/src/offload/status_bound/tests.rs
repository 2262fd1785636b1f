use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::offload::{ContainerState, PodPhase, Refusal, RemoteCondition, RemotePod};

fn container(at: usize, exit_code: Option<i32>, message: &str) -> RemoteContainer {
    RemoteContainer {
        name: format!("container-{at}"),
        ready: true,
        state: ContainerState {
            running: exit_code.is_none(),
            exit_code,
            message: Some(message.to_owned()),
            ..ContainerState::default()
        },
        ..RemoteContainer::default()
    }
}

fn condition(type_: &str, message: &str) -> RemoteCondition {
    RemoteCondition {
        type_: type_.to_owned(),
        status: true,
        message: Some(message.to_owned()),
        ..RemoteCondition::default()
    }
}

/// A Pod with one container of each kind, and a message of this size about the Pod.
fn status(message: usize) -> PodImportStatus {
    let remote = RemoteStatus {
        phase: PodPhase::Running,
        pod_ips: vec!["10.2.0.7".to_owned(), "fd00::7".to_owned()],
        containers: vec![
            container(0, None, &"r".repeat(250)),
            container(1, Some(1), &"e".repeat(250)),
        ],
        conditions: vec![condition("Ready", &"c".repeat(1000))],
        message: Some("m".repeat(message)),
        ..RemoteStatus::default()
    };
    PodImportStatus { remote: Some(remote), ..PodImportStatus::default() }
}

/// What one status may have of everything, as the definitions have it.
fn largest(letter: &str) -> PodImportStatus {
    let text = |length: usize| letter.repeat(length);
    let time = || Some(Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH));
    let container = |at: usize| RemoteContainer {
        name: format!("{at:0>63}"),
        ready: true,
        started: Some(true),
        restart_count: i32::MAX,
        image: text(512),
        container_id: Some(text(256)),
        state: ContainerState {
            exit_code: Some(1),
            reason: Some(text(256)),
            message: Some(text(256)),
            started_at: time(),
            finished_at: time(),
            ..ContainerState::default()
        },
    };
    let condition = |type_: String| RemoteCondition {
        type_,
        status: true,
        last_transition_time: time(),
        reason: Some(text(256)),
        message: Some(text(1024)),
    };
    let others = (0..11).map(|at| format!("{at}{}", text(300)));
    let types = REMOTE_CONDITIONS.into_iter().map(str::to_owned).chain(others);
    PodImportStatus {
        rejected: Some(PodRejection {
            reason: Refusal::RefusedByExecutor,
            field: text(512),
            message: text(1024),
            hash: text(64),
        }),
        remote: Some(RemoteStatus {
            observed_hash: text(64),
            pod: Some(RemotePod {
                namespace: text(63),
                name: text(253),
                uid: Some(text(64)),
                node: Some(text(253)),
            }),
            phase: PodPhase::Running,
            pod_ips: vec!["1".repeat(45), "2".repeat(45)],
            conditions: types.map(condition).collect(),
            containers: (0..16).map(container).collect(),
            init_containers: (0..16).map(container).collect(),
            reason: Some(text(256)),
            message: Some(text(1024)),
            start_time: time(),
            ..RemoteStatus::default()
        }),
        released: true,
    }
}

/// The same of an executor whose names are those that its agent gives.
fn largest_honest() -> PodImportStatus {
    let mut status = largest("x");
    let pod = status.remote.as_mut().and_then(|remote| remote.pod.as_mut()).unwrap();
    (pod.name, pod.uid, pod.node) = ("x".repeat(51), Some("x".repeat(36)), Some("x".repeat(63)));
    status
}

fn bytes(status: &PodImportStatus) -> usize {
    serde_json::to_string(status).unwrap().len()
}

/// The largest status of this shape that is left as it is.
fn at_the_edge() -> usize {
    let lengths: Vec<usize> = (0..MAX_STATUS_BYTES).collect();
    lengths.partition_point(|length| status(*length).bounded() == status(*length)) - 1
}

#[test]
fn a_status_within_the_bound_is_left_as_it_is() {
    let edge = status(at_the_edge());
    assert!(bytes(&edge) <= MAX_STATUS_BYTES);
    assert!(bytes(&edge) + 128 > MAX_STATUS_BYTES, "nothing is cut without need: {}", bytes(&edge));
    assert_eq!(PodImportStatus::default().bounded(), PodImportStatus::default());
}

/// A byte more, and the message of the container that has ended goes.
#[test]
fn what_ended_containers_say_goes_first() {
    let one_more = status(at_the_edge() + 1);
    let before = one_more.remote.clone().unwrap();
    let cut = one_more.bounded().remote.unwrap();
    assert_eq!(cut.containers[1].state.message.as_deref(), Some(&*"e".repeat(SHORT)));
    assert_eq!((&cut.containers[0], &cut.message), (&before.containers[0], &before.message));
    assert_eq!(cut.conditions, before.conditions);
    let much = status(at_the_edge() + 200).bounded().remote.unwrap();
    let left = |at: usize| much.containers[at].state.message.clone();
    assert_eq!((left(1), left(0).map(|text| text.len())), (None, Some(250)));
}

/// However large it is, what traffic and controllers depend on stays.
#[test]
fn the_largest_status_fits_and_keeps_what_matters() {
    for letter in ["x", "\"", "\u{1}", "ü", "😀"] {
        let bounded = largest(letter).bounded();
        assert!(bytes(&bounded) <= MAX_STATUS_BYTES, "{letter:?}: {}", bytes(&bounded));
        let (rejected, remote) = (bounded.rejected.unwrap(), bounded.remote.unwrap());
        assert_eq!(rejected.reason, Refusal::RefusedByExecutor);
        assert_eq!(rejected.hash, letter.repeat(64), "what is refused is still known");
        assert_eq!((remote.phase, remote.pod_ips.len()), (PodPhase::Running, 2));
        assert_eq!(remote.observed_hash, letter.repeat(64));
        let kept: Vec<_> = remote.conditions.iter().map(|one| (&*one.type_, one.status)).collect();
        assert_eq!(kept, REMOTE_CONDITIONS.map(|type_| (type_, true)));
        assert!(remote.start_time.is_some() && bounded.released);
    }
    let kept = largest_honest().bounded().remote.unwrap();
    assert_eq!(kept.containers.len(), 16, "whether each is ready stays");
    assert!(kept.containers.iter().all(|one| one.ready && one.restart_count == i32::MAX));
    assert!(kept.pod.is_some());
}

/// Kubernetes' own texts are in the way of nothing that a user needs.
#[test]
fn init_containers_that_are_done_go_before_others() {
    let mut status = largest_honest();
    let remote = status.remote.as_mut().unwrap();
    remote.init_containers.truncate(3);
    remote.init_containers[0].state.exit_code = Some(0);
    let left = status.bounded().remote.unwrap();
    assert!(left.init_containers.iter().all(|one| one.state.exit_code == Some(1)));
    assert_eq!(left.containers.len(), 16);
}

#[test]
fn an_export_has_what_its_import_has() {
    let import = largest("x").bounded();
    let export = PodExportStatus {
        accepted: true,
        rejected: import.rejected.clone(),
        remote: import.remote.clone(),
        released: true,
    };
    assert_eq!(export.clone().bounded(), export);
    assert!(json!(export).to_string().len() <= MAX_STATUS_BYTES);
}

proptest! {
    #[test]
    fn a_second_time_changes_nothing(
        message in 0_usize..1024, containers in 0_usize..16, inits in 0_usize..16, size in 0_usize..256,
        exit in proptest::option::of(-1_i32..2), escaped in any::<bool>(),
    ) {
        let text = if escaped { "\n" } else { "t" }.repeat(size);
        let mut status = status(message);
        let remote = status.remote.as_mut().unwrap();
        remote.containers = (0..containers).map(|at| container(at, None, &text)).collect();
        remote.init_containers = (0..inits).map(|at| container(at, exit, &text)).collect();
        let (phase, ips) = (remote.phase, remote.pod_ips.clone());
        let once = status.bounded();
        prop_assert!(bytes(&once) <= MAX_STATUS_BYTES);
        let remote = once.remote.as_ref().unwrap();
        prop_assert_eq!((remote.phase, &remote.pod_ips), (phase, &ips));
        prop_assert_eq!(once.clone().bounded(), once);
    }
}
