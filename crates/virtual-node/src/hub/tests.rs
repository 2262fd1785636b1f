use std::collections::BTreeMap;

use fleet_api::offload::{
    Capacity, MAX_STATUS_BYTES, OffloadOfferSpec, OffloadTerms, OriginSelector, PROFILE_VERSION,
    PodExportSpec, PodExportStatus, PodImportSpec, PodImportStatus, PolicyProfile, Refusal,
    RemoteCondition, RemoteStatus, StopRequest, VirtualNodePhase, VirtualNodeSpec,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::*;
use crate::pod::{LocalPod, spec_hash, translate};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn terms() -> OffloadTerms {
    OffloadTerms {
        namespaces: vec!["shop".to_owned()],
        policy_profile: PolicyProfile::Baseline,
        ..OffloadTerms::default()
    }
}

fn node() -> VirtualNodeSpec {
    VirtualNodeSpec {
        executor: "west".to_owned(),
        phase: VirtualNodePhase::Accepted,
        terms: terms(),
        ..VirtualNodeSpec::default()
    }
}

fn export() -> HubExport {
    let Value::Object(spec) = json!({ "containers": [{ "name": "web" }] }) else { unreachable!() };
    let pod = LocalPod {
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
        uid: "u".to_owned(),
        spec,
        ..LocalPod::default()
    };
    let mut spec = translate(&pod, "east", "west", &terms(), None).unwrap();
    spec.spec_hash = spec_hash(&spec);
    HubExport { cluster: "east".to_owned(), spec, ..HubExport::default() }
}

fn import() -> HubImport {
    let spec = PodImportSpec { export: export().spec, stop: None };
    HubImport { spec, ..HubImport::default() }
}

fn to(node: Option<&VirtualNodeSpec>) -> Destination<'_> {
    Destination { node, ..Destination::default() }
}

fn handed(export: Option<&HubExport>, import: Option<&HubImport>) -> Vec<HubAction> {
    hand_over(export, import, &to(Some(&node())), at(100))
}

fn reported(actions: &[HubAction]) -> &PodExportStatus {
    let [.., HubAction::Report(status)] = actions else { panic!("{actions:?}") };
    status
}

#[test]
fn an_export_becomes_an_import() {
    let expected = HubAction::Import(Box::new(import().spec));
    assert_eq!(handed(Some(&export()), None), [expected]);
    assert_eq!(handed(Some(&export()), Some(&import())), []);
    assert_eq!(handed(None, None), []);
}

/// The namespace an export is in is what counts.
#[test]
fn what_an_origin_states_about_itself_is_checked() {
    let forged = HubExport { cluster: "north".to_owned(), ..export() };
    let actions = handed(Some(&forged), None);
    assert_eq!(reported(&actions).rejected.as_ref().unwrap().field, "origin.cluster");
    let mut hostile = export();
    hostile.spec.pod.0.insert("hostNetwork".to_owned(), true.into());
    let actions = handed(Some(&hostile), None);
    let rejected = reported(&actions).rejected.as_ref().unwrap();
    assert_eq!(
        (rejected.reason, rejected.field.as_str()),
        (Refusal::HostAccess, "spec.hostNetwork")
    );
    let again = HubExport { status: reported(&actions).clone(), ..hostile };
    assert_eq!(handed(Some(&again), None), [], "it is reported once");
}

#[test]
fn a_new_pod_needs_a_node_that_takes_some() {
    for phase in
        [VirtualNodePhase::Offered, VirtualNodePhase::Draining, VirtualNodePhase::Withdrawn]
    {
        let node = VirtualNodeSpec { phase, ..node() };
        let actions = hand_over(Some(&export()), None, &to(Some(&node)), at(1));
        assert_eq!(reported(&actions).rejected.as_ref().unwrap().reason, Refusal::NotOffered);
        let status = PodExportStatus { accepted: true, ..PodExportStatus::default() };
        let known = HubExport { status, ..export() };
        let actions = hand_over(Some(&known), None, &to(Some(&node)), at(1));
        assert!(matches!(actions[..], [HubAction::Import(_)]), "its import was lost: {actions:?}");
    }
    for node in [None, Some(VirtualNodeSpec { executor: "south".to_owned(), ..node() })] {
        let actions = hand_over(Some(&export()), None, &to(node.as_ref()), at(1));
        assert_eq!(reported(&actions).rejected.as_ref().unwrap().field, "executor");
    }
}

#[test]
fn a_changed_export_changes_its_import_and_a_bad_change_does_not() {
    let mut changed = export();
    changed
        .spec
        .labels
        .insert("pod.offload.networking.fleet.azure.com/a".to_owned(), "b".to_owned());
    changed.spec.spec_hash = spec_hash(&changed.spec);
    let actions = handed(Some(&changed), Some(&import()));
    let [HubAction::Update(spec)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(spec.export, changed.spec);
    changed.spec.spec_hash = "forged".to_owned();
    let actions = handed(Some(&changed), Some(&import()));
    let [HubAction::Report(status)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(status.rejected.as_ref().unwrap().field, "specHash");
}

#[test]
fn what_the_executor_reports_goes_back() {
    let remote = Some(RemoteStatus::default());
    let status = PodImportStatus { remote: remote.clone(), ..PodImportStatus::default() };
    let import = HubImport { status, ..import() };
    let actions = handed(Some(&export()), Some(&import));
    let status = reported(&actions);
    assert_eq!((status.accepted, &status.remote, status.released), (true, &remote, false));
    let shown = HubExport { status: status.clone(), ..export() };
    assert_eq!(handed(Some(&shown), Some(&import)), []);
}

/// Stop, then the confirmation, then the import, then the export.
#[test]
fn the_end_goes_step_by_step() {
    let mut export = HubExport { deleting: true, ..export() };
    export.spec.stop_grace_seconds = Some(7);
    let actions = handed(Some(&export), Some(&import()));
    let [HubAction::Update(spec)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(spec.stop, Some(StopRequest { grace_seconds: 7, requested_at: Time(at(100)) }));
    let stopping = HubImport { spec: *spec.clone(), ..import() };
    assert_eq!(handed(Some(&export), Some(&stopping)), []);
    let status = PodImportStatus { released: true, ..PodImportStatus::default() };
    let released = HubImport { status, ..stopping };
    let actions = handed(Some(&export), Some(&released));
    assert_eq!(actions[0], HubAction::Delete);
    assert!(reported(&actions).released);
    let export = HubExport { status: reported(&actions).clone(), ..export };
    let gone = HubImport { deleting: true, ..released };
    assert_eq!(handed(Some(&export), Some(&gone)), []);
    assert_eq!(handed(Some(&export), None), [HubAction::Release]);
}

#[test]
fn a_stop_is_shortened_and_never_prolonged() {
    let with = |asked: i64, wanted: i64| {
        let mut export = HubExport { deleting: true, ..export() };
        export.spec.stop_grace_seconds = Some(wanted);
        let mut import = import();
        import.spec.stop = Some(StopRequest { grace_seconds: asked, requested_at: Time(at(9)) });
        handed(Some(&export), Some(&import))
    };
    let actions = with(30, 5);
    let [HubAction::Update(spec)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(spec.stop, Some(StopRequest { grace_seconds: 5, requested_at: Time(at(9)) }));
    assert_eq!(with(5, 30), []);
}

#[test]
fn an_export_that_never_had_an_import_goes_in_two_steps() {
    let export = HubExport { deleting: true, ..export() };
    let actions = handed(Some(&export), None);
    assert!(reported(&actions).released);
    let export = HubExport { status: reported(&actions).clone(), ..export };
    assert_eq!(handed(Some(&export), None), [HubAction::Release]);
}

/// A hub that has lost its data does not know whether the executor still runs it.
#[test]
fn an_import_that_was_lost_is_made_again_to_be_stopped() {
    let status = PodExportStatus { accepted: true, ..PodExportStatus::default() };
    let mut export = HubExport { deleting: true, status, ..export() };
    export.spec.stop_grace_seconds = Some(7);
    let actions = handed(Some(&export), None);
    let [HubAction::Import(spec)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(spec.stop.as_ref().unwrap().grace_seconds, 7);
    assert_eq!(spec.export.origin, export.spec.origin);
    assert_eq!(spec.export.spec_hash, export.spec.spec_hash);
    export.status.accepted = false;
    export.spec.resumed = true;
    assert!(matches!(handed(Some(&export), None)[..], [HubAction::Import(_)]));
    export.spec.resumed = false;
    assert!(reported(&handed(Some(&export), None)).released, "no executor has had it");
}

#[test]
fn an_executor_that_is_given_up_is_not_waited_for() {
    let node = node();
    let to = Destination { node: Some(&node), is_given_up: true, ..Destination::default() };
    let status = PodExportStatus { accepted: true, ..PodExportStatus::default() };
    let export = HubExport { deleting: true, status, ..export() };
    assert_eq!(hand_over(Some(&export), Some(&import()), &to, at(1)), [HubAction::Drop]);
    let actions = hand_over(Some(&export), None, &to, at(1));
    assert!(reported(&actions).released);
    let lives = HubExport { deleting: false, ..export };
    assert_eq!(hand_over(Some(&lives), Some(&import()), &to, at(1)).len(), 1, "it is reported");
}

#[test]
fn a_pod_beyond_what_is_offered_waits_and_one_that_ran_does_not() {
    let node = node();
    let to = Destination { node: Some(&node), is_full: true, ..Destination::default() };
    let actions = hand_over(Some(&export()), None, &to, at(1));
    assert_eq!(reported(&actions).rejected.as_ref().unwrap().reason, Refusal::QuotaExceeded);
    let mut resumed = export();
    resumed.spec.resumed = true;
    let drained = VirtualNodeSpec { phase: VirtualNodePhase::Draining, ..node.clone() };
    let to = Destination { node: Some(&drained), is_full: true, ..Destination::default() };
    let actions = hand_over(Some(&resumed), None, &to, at(1));
    assert!(matches!(actions[..], [HubAction::Import(_)]), "{actions:?}");
}

/// What is to be stopped is not checked: the terms can be others than those on which it was accepted.
#[test]
fn of_what_is_to_be_stopped_nothing_crosses_that_is_not_needed_for_it() {
    let mut export = HubExport { deleting: true, ..export() };
    export.spec.resumed = true;
    export.spec.stop_grace_seconds = Some(7);
    export.spec.pod.0.insert("hostNetwork".to_owned(), true.into());
    export.spec.annotations.insert("a".to_owned(), "b".to_owned());
    let other = OffloadTerms { namespaces: vec!["other".to_owned()], ..terms() };
    let node = VirtualNodeSpec { terms: other, ..node() };
    let actions = hand_over(Some(&export), None, &to(Some(&node)), at(100));
    let [HubAction::Import(spec)] = &actions[..] else { panic!("{actions:?}") };
    let HubExport { spec: PodExportSpec { origin, executor, spec_hash, .. }, .. } = export;
    let bare = PodExportSpec {
        origin,
        executor,
        spec_hash,
        resumed: true,
        stop_grace_seconds: Some(7),
        ..PodExportSpec::default()
    };
    assert_eq!(spec.export, bare);
}

/// Whatever an origin states about its Pods, it has no more imports than any executor takes.
#[test]
fn who_states_that_much_ran_gets_no_more_than_others() {
    let node = node();
    let to = Destination { node: Some(&node), is_crowded: true, ..Destination::default() };
    let mut resumed = export();
    resumed.spec.resumed = true;
    for deleting in [false, true] {
        let export = HubExport { deleting, ..resumed.clone() };
        let actions = hand_over(Some(&export), None, &to, at(1));
        let status = reported(&actions);
        assert_eq!(status.rejected.as_ref().unwrap().reason, Refusal::QuotaExceeded);
        assert!(!status.released, "its executor has confirmed nothing");
        let again = HubExport { status: status.clone(), ..export };
        assert_eq!(hand_over(Some(&again), None, &to, at(2)), [], "it is reported once");
    }
    let to = Destination { is_given_up: true, ..to };
    let actions = hand_over(Some(&HubExport { deleting: true, ..resumed }), None, &to, at(1));
    assert!(reported(&actions).released);
}

#[test]
fn an_import_without_an_export_is_stopped() {
    let actions = handed(None, Some(&import()));
    let [HubAction::Update(spec)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(spec.stop.as_ref().unwrap().grace_seconds, 0);
    let status = PodImportStatus { released: true, ..PodImportStatus::default() };
    assert_eq!(handed(None, Some(&HubImport { status, ..import() })), [HubAction::Delete]);
}

/// Whatever an executor writes, what was released stays so.
#[test]
fn released_is_not_taken_back() {
    let status = PodExportStatus { released: true, ..PodExportStatus::default() };
    let export = HubExport { status, ..export() };
    assert_eq!(handed(Some(&export), Some(&import())), []);
    assert_eq!(handed(Some(&export), None), [], "it is not imported again");
}

fn offer(cluster: &str) -> OffloadOfferSpec {
    OffloadOfferSpec {
        origin_selector: OriginSelector {
            clusters: vec![cluster.to_owned()],
            ..OriginSelector::default()
        },
        capacity: Capacity { pods: 5, ..Capacity::default() },
        terms: terms(),
        ..OffloadOfferSpec::default()
    }
}

fn member(accepted: bool) -> Selected {
    Selected { cluster: "east".to_owned(), labels: BTreeMap::new(), accepted }
}

fn offered(
    offers: &[OffloadOfferSpec],
    accepted: bool,
    before: Option<&VirtualNodeSpec>,
) -> Option<VirtualNodeSpec> {
    virtual_node("west", offers, &member(accepted), &["10.2.0.0/16".to_owned()], before)
}

#[test]
fn an_offer_makes_a_virtual_node_once_both_sides_agree() {
    assert_eq!(offered(&[], true, None), None);
    assert_eq!(offered(&[offer("north")], true, None), None);
    let node = offered(&[offer("north"), offer("east")], false, None).unwrap();
    assert_eq!((node.phase, node.pod_cidrs.len()), (VirtualNodePhase::Offered, 1));
    assert_eq!(offered(&[offer("east")], true, None).unwrap().phase, VirtualNodePhase::Accepted);
    let draining = OffloadOfferSpec { draining: true, ..offer("east") };
    let node = offered(&[draining, offer("east")], true, None).unwrap();
    assert_eq!(node.phase, VirtualNodePhase::Draining, "the first one counts");
    let own = virtual_node("east", &[offer("east")], &member(true), &[], None);
    assert_eq!(own, None, "a member is not its own executor");
}

/// An origin sends nothing that the hub or the executor does not know.
#[test]
fn the_profile_is_the_older_one_of_hub_and_executor() {
    for (offered_version, version) in [(1, 1), (PROFILE_VERSION + 5, PROFILE_VERSION)] {
        let mut newer = offer("east");
        newer.terms.profile_version = offered_version;
        assert_eq!(offered(&[newer], true, None).unwrap().terms.profile_version, version);
    }
}

/// A hub that reports less than it wants to would do so without an end.
#[test]
fn a_report_that_is_too_large_is_cut_once() {
    let message = Some("m".repeat(1024));
    let conditions = (0..16).map(|at| RemoteCondition {
        type_: format!("{at}{}", "t".repeat(300)),
        message: message.clone(),
        ..RemoteCondition::default()
    });
    let remote = RemoteStatus { conditions: conditions.collect(), ..RemoteStatus::default() };
    let status = PodImportStatus { remote: Some(remote), ..PodImportStatus::default() };
    let import = HubImport { status, ..import() };
    let actions = handed(Some(&export()), Some(&import));
    let [HubAction::Report(status)] = &actions[..] else { panic!("{actions:?}") };
    assert!(serde_json::to_string(status).unwrap().len() <= MAX_STATUS_BYTES);
    let export = HubExport { status: (**status).clone(), ..export() };
    assert_eq!(handed(Some(&export), Some(&import)), []);
}

/// Its Pods still run.
#[test]
fn a_virtual_node_outlives_its_offer() {
    let before = offered(&[offer("east")], true, None).unwrap();
    let after = offered(&[], true, Some(&before)).unwrap();
    assert_eq!(after, VirtualNodeSpec { phase: VirtualNodePhase::Withdrawn, ..before });
}
