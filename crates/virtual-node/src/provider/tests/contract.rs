//! The cases, by the behaviour of the original that each is about (docs/design/virtual-node.md).

use fleet_api::offload::{PodPhase, RemoteLoss};

use super::cluster::Cluster;
use super::hub::Hub;
use super::*;

type Case = fn(&mut dyn Backend);

/// What a provider has to do, and the check of it.
const CASES: [(&str, Case); 15] = [
    ("a Pod that is asked for runs, and ends when it is stopped", lifecycle),
    ("what is not there has ended", stop_of_nothing),
    ("while it is not known what there is, nothing is decided", not_listed),
    ("a Pod that is not wanted is observed, and stopped once", not_wanted),
    ("a stop is not repeated", stop_twice),
    ("a stop can be shortened", stop_sooner),
    ("a new Pod is created and not updated", create),
    ("the same Pod again is no write", same_again),
    ("another image is an update and not another Pod", other_image),
    ("another deadline is an update", other_deadline),
    ("other labels are an update", other_labels),
    ("two Pods of one name are two", two_of_one_name),
    ("a Pod that is ending is not started again", ending),
    ("a Pod that was lost is observed as that, and not started again", lost),
    ("a stop without time is a stop", force),
];

#[test]
fn all_providers_meet_the_contract() {
    for (name, case) in CASES {
        for backend in [&mut Hub::default() as &mut dyn Backend, &mut Cluster::default()] {
            println!("{name}");
            case(backend);
        }
    }
}

fn ensure(backend: &mut dyn Backend, pod: &PodExportSpec) -> usize {
    let writes = backend.provider().ensure(pod).unwrap();
    let count = writes.len();
    backend.apply(writes);
    count
}

fn stop(backend: &mut dyn Backend, uid: &str, grace: i64) -> usize {
    let writes = backend.provider().stop(uid, grace).unwrap();
    let count = writes.len();
    backend.apply(writes);
    count
}

fn observed(backend: &dyn Backend, uid: &str) -> ExportState {
    backend.provider().observed()[uid].clone()
}

fn running(backend: &mut dyn Backend) -> PodExportSpec {
    let pod = export("u", spec(), "web");
    ensure(backend, &pod);
    backend.run();
    assert!(backend.runs("u"));
    pod
}

fn lifecycle(backend: &mut dyn Backend) {
    running(backend);
    let state = observed(backend, "u");
    assert!(state.accepted && !state.deleting && !state.released);
    assert_eq!(state.remote.unwrap().phase, PodPhase::Running);
    stop(backend, "u", 10);
    let state = observed(backend, "u");
    assert!(state.deleting && !state.released && backend.runs("u"));
    backend.run();
    assert!(!backend.runs("u") && observed(backend, "u").released);
}

fn stop_of_nothing(backend: &mut dyn Backend) {
    assert_eq!(backend.provider().stop("none", 5), Err(ProviderError::NotFound));
    assert_eq!(backend.provider().observed(), BTreeMap::new());
}

fn not_listed(backend: &mut dyn Backend) {
    let pod = running(backend);
    backend.forget();
    let unavailable = Err(ProviderError::Unavailable { retry_after: None });
    assert_eq!(backend.provider().ensure(&pod), unavailable);
    assert_eq!(backend.provider().stop("u", 5), unavailable);
    assert!(backend.runs("u"));
}

fn not_wanted(backend: &mut dyn Backend) {
    running(backend);
    let uids: Vec<_> = backend.provider().observed().into_keys().collect();
    assert_eq!(uids, ["u"]);
    assert!(stop(backend, "u", 0) > 0);
    assert_eq!(stop(backend, "u", 0), 0);
    backend.run();
    assert!(!backend.runs("u"));
}

fn stop_twice(backend: &mut dyn Backend) {
    running(backend);
    assert!(stop(backend, "u", 30) > 0);
    assert_eq!(stop(backend, "u", 30), 0);
    assert_eq!(stop(backend, "u", 60), 0, "it is not prolonged");
}

fn stop_sooner(backend: &mut dyn Backend) {
    running(backend);
    stop(backend, "u", 30);
    assert_eq!(stop(backend, "u", 5), 1);
    assert_eq!(stop(backend, "u", 5), 0);
}

fn create(backend: &mut dyn Backend) {
    let writes = backend.provider().ensure(&export("u", spec(), "web")).unwrap();
    assert!(matches!(writes[..], [Write { action: WriteAction::Create(_), .. }]), "{writes:?}");
}

fn same_again(backend: &mut dyn Backend) {
    let pod = running(backend);
    assert_eq!(ensure(backend, &pod), 0);
    backend.run();
    assert_eq!((ensure(backend, &pod), backend.started()), (0, 1));
}

fn updated(backend: &mut dyn Backend, pod: &PodExportSpec) {
    let writes = backend.provider().ensure(pod).unwrap();
    assert!(matches!(writes[..], [Write { action: WriteAction::Patch(_), .. }]), "{writes:?}");
    backend.apply(writes);
    backend.run();
    assert_eq!((ensure(backend, pod), backend.started()), (0, 1));
}

fn other_image(backend: &mut dyn Backend) {
    running(backend);
    let mut other = spec();
    other["containers"][0]["image"] = "web:2".into();
    updated(backend, &export("u", other, "web"));
}

fn other_deadline(backend: &mut dyn Backend) {
    running(backend);
    let mut other = spec();
    other["activeDeadlineSeconds"] = 60.into();
    updated(backend, &export("u", other, "web"));
}

fn other_labels(backend: &mut dyn Backend) {
    running(backend);
    updated(backend, &export("u", spec(), "db"));
}

fn two_of_one_name(backend: &mut dyn Backend) {
    running(backend);
    ensure(backend, &export("u2", spec(), "web"));
    backend.run();
    stop(backend, "u", 0);
    backend.run();
    assert!(!backend.runs("u") && backend.runs("u2"));
    assert_eq!(backend.started(), 2);
}

fn ending(backend: &mut dyn Backend) {
    let pod = running(backend);
    stop(backend, "u", 30);
    assert_eq!(backend.provider().ensure(&pod), Err(ProviderError::Conflict));
}

fn lost(backend: &mut dyn Backend) {
    let pod = running(backend);
    backend.lose("u");
    backend.run();
    let remote = observed(backend, "u").remote.unwrap();
    assert_eq!(remote.loss, Some(RemoteLoss::Deleted));
    if let Ok(writes) = backend.provider().ensure(&pod) {
        assert_eq!(writes, []);
    }
    backend.run();
    assert_eq!((backend.runs("u"), backend.started()), (false, 1));
}

fn force(backend: &mut dyn Backend) {
    running(backend);
    stop(backend, "u", 0);
    backend.run();
    assert!(!backend.runs("u") && observed(backend, "u").released);
}

/// An executor checks what it runs, whatever the hub has let pass.
#[test]
fn a_cluster_refuses_what_does_not_cross() {
    let mut pod = export("u", spec(), "web");
    pod.pod.0.insert("hostNetwork".to_owned(), true.into());
    pod.spec_hash = spec_hash(&pod);
    let refused = Cluster::default().provider().ensure(&pod).unwrap_err();
    let ProviderError::Rejected(rejection) = refused else { panic!("{refused:?}") };
    assert_eq!(rejection.field, "spec.hostNetwork");
}
