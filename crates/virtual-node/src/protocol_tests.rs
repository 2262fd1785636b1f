//! Origin, hub and executor together: each decides on what it observes, in any order, while links go down, users delete Pods, Pods
//! are evicted and the hub loses its data. API servers and kubelets are the simplest that do what real ones do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_api::offload::{
    OffloadTerms, PodExportSpec, PodPhase, PolicyProfile, RemoteStatus, VirtualNodePhase,
    VirtualNodeSpec,
};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::executor::execute;
use crate::hub::{Destination, HubAction, HubExport, HubImport, hand_over};
use crate::life::{Action, ExportState, NodeState, Observed, Views, decide};
use crate::pod::{Deletion, LocalPod};
use crate::provider::{ClusterProvider, Write, WriteAction};
use crate::status::Link;

const LONG: Duration = Duration::from_hours(1);

#[derive(Clone, Debug)]
enum Event {
    Create,
    Origin(usize),
    Hub(usize),
    Executor(usize),
    Kubelet(usize),
    Delete(usize),
    Force(usize),
    Evict(usize),
    HubLosesData,
    OriginLink(bool),
    ExecutorLink(bool),
}

fn event() -> impl Strategy<Value = Event> {
    let pod = 0..3_usize;
    prop_oneof![
        2 => Just(Event::Create),
        8 => pod.clone().prop_map(Event::Origin),
        8 => pod.clone().prop_map(Event::Hub),
        8 => pod.clone().prop_map(Event::Executor),
        8 => pod.clone().prop_map(Event::Kubelet),
        2 => pod.clone().prop_map(Event::Delete),
        1 => pod.clone().prop_map(Event::Force),
        1 => pod.prop_map(Event::Evict),
        1 => Just(Event::HubLosesData),
        1 => any::<bool>().prop_map(Event::OriginLink),
        1 => any::<bool>().prop_map(Event::ExecutorLink),
    ]
}

fn now() -> Timestamp {
    Timestamp::from_second(10_000).unwrap()
}

fn terms() -> OffloadTerms {
    OffloadTerms {
        namespaces: vec!["shop".to_owned()],
        policy_profile: PolicyProfile::Baseline,
        ..OffloadTerms::default()
    }
}

#[derive(Default)]
struct Fleet {
    pods: BTreeMap<String, LocalPod>,
    exports: BTreeMap<String, HubExport>,
    imports: BTreeMap<String, HubImport>,
    remote: BTreeMap<String, Value>,
    /// What the origin saw of the hub last.
    seen_exports: BTreeMap<String, HubExport>,
    /// What the executor saw of the hub last.
    seen_imports: BTreeMap<String, HubImport>,
    /// What the executor reported last.
    reported: BTreeMap<String, RemoteStatus>,
    /// Uids of remote Pods that the origin was shown, by Pod.
    shown: BTreeMap<String, BTreeSet<String>>,
    origin_cut: bool,
    executor_cut: bool,
    /// Whether the view of the hub began anew a moment ago.
    fresh: bool,
    made: usize,
}

impl Fleet {
    fn happen(&mut self, event: &Event) {
        let uid = |at: &usize| format!("u{at}");
        match event {
            Event::Create => self.create(),
            Event::Origin(at) => self.origin(&uid(at)),
            Event::Hub(at) => self.hub(&uid(at)),
            Event::Executor(at) => self.executor(&uid(at)),
            Event::Kubelet(at) => self.kubelet(&uid(at)),
            Event::Delete(at) => {
                if let Some(pod) = self.pods.get_mut(&uid(at)) {
                    pod.deletion = Some(Deletion { grace_seconds: 30, requested: now() });
                }
            }
            Event::Force(at) => drop(self.pods.remove(&uid(at))),
            Event::Evict(at) => drop(self.remote.remove(&uid(at))),
            Event::HubLosesData => {
                self.exports.clear();
                self.imports.clear();
                self.fresh = true;
            }
            Event::OriginLink(cut) => self.origin_cut = *cut,
            Event::ExecutorLink(cut) => self.executor_cut = *cut,
        }
    }

    fn create(&mut self) {
        let uid = format!("u{}", self.made);
        if self.made == 3 {
            return;
        }
        self.made += 1;
        let Value::Object(spec) = json!({ "containers": [{ "name": "web" }] }) else {
            unreachable!()
        };
        let pod = LocalPod {
            namespace: "shop".to_owned(),
            // All have one name: only their uids differ.
            name: "web".to_owned(),
            uid: uid.clone(),
            spec,
            ..LocalPod::default()
        };
        self.pods.insert(uid, pod);
    }

    fn origin(&mut self, uid: &str) {
        if !self.origin_cut {
            self.seen_exports = self.exports.clone();
        }
        let export = self.seen_exports.get(uid).map(state);
        let link = match (self.origin_cut, self.executor_cut) {
            (true, _) => Link::HubUnreachable,
            (false, true) => Link::ExecutorUnreachable,
            (false, false) => Link::Alive,
        };
        let node = NodeState {
            cluster: "east".to_owned(),
            executor: "west".to_owned(),
            phase: VirtualNodePhase::Accepted,
            terms: terms(),
            ranges: "10.2.0.0/16".parse().unwrap(),
            link,
            ..NodeState::default()
        };
        let exports = if self.fresh { Duration::ZERO } else { LONG };
        let views = Views { pods: Some(LONG), exports: Some(exports) };
        let observed = Observed {
            uid,
            pod: self.pods.get(uid),
            export: export.as_ref(),
            node: &node,
            views,
            config: &|_, _| None,
        };
        for action in decide(&observed, now()).actions {
            self.act(uid, action, link);
        }
    }

    fn act(&mut self, uid: &str, action: Action, link: Link) {
        match action {
            Action::Export(spec) if !self.origin_cut => {
                let export =
                    HubExport { cluster: "east".to_owned(), spec: *spec, ..HubExport::default() };
                self.exports.entry(uid.to_owned()).or_insert(export);
            }
            Action::Update(spec) if !self.origin_cut => {
                if let Some(export) = self.exports.get_mut(uid) {
                    export.spec = *spec;
                }
            }
            Action::Stop { grace_seconds } if !self.origin_cut => {
                if let Some(export) = self.exports.get_mut(uid) {
                    export.spec.stop_grace_seconds = Some(grace_seconds);
                    export.deleting = true;
                }
            }
            Action::Status(status) => {
                assert!(link == Link::Alive || !status.is_ready());
                let pod = self.pods.get_mut(uid).unwrap();
                assert!(!pod.phase.is_terminal() && status.phase >= pod.phase);
                pod.phase = status.phase;
                if status.phase == PodPhase::Running {
                    pod.start_time.get_or_insert_with(now);
                    let remote = self.seen_exports[uid].status.remote.as_ref();
                    let remote = remote.and_then(|remote| remote.pod.as_ref()?.uid.clone());
                    self.shown.entry(uid.to_owned()).or_default().extend(remote);
                }
            }
            Action::Remove { uid } => {
                let pod = self.pods.remove(&uid).unwrap();
                assert!(pod.deletion.is_some());
            }
            Action::Export(_) | Action::Update(_) | Action::Stop { .. } | Action::Notify(_) => {}
        }
    }

    fn hub(&mut self, uid: &str) {
        let node = VirtualNodeSpec {
            executor: "west".to_owned(),
            phase: VirtualNodePhase::Accepted,
            terms: terms(),
            ..VirtualNodeSpec::default()
        };
        let to = Destination { node: Some(&node), ..Destination::default() };
        let actions = hand_over(self.exports.get(uid), self.imports.get(uid), &to, now());
        for action in actions {
            match action {
                HubAction::Import(spec) => {
                    let import = HubImport { spec: *spec, ..HubImport::default() };
                    assert!(self.imports.insert(uid.to_owned(), import).is_none());
                }
                HubAction::Update(spec) => self.imports.get_mut(uid).unwrap().spec = *spec,
                HubAction::Drop => unreachable!("no executor is given up"),
                HubAction::Delete => self.imports.get_mut(uid).unwrap().deleting = true,
                HubAction::Report(status) => self.exports.get_mut(uid).unwrap().status = *status,
                HubAction::Release => {
                    let export = self.exports.remove(uid).unwrap();
                    assert!(export.deleting && !self.imports.contains_key(uid));
                }
            }
        }
    }

    fn executor(&mut self, uid: &str) {
        if !self.executor_cut {
            self.seen_imports = self.imports.clone();
        }
        let Some(import) = self.seen_imports.get(uid).cloned() else { return };
        let provider = self.provider();
        let execution = execute(uid, &import, &provider, None, None);
        self.write(uid, execution.writes);
        if let Some(remote) = execution.status.as_ref().and_then(|status| status.remote.clone()) {
            self.reported.insert(uid.to_owned(), remote);
        }
        if self.executor_cut {
            return;
        }
        if let (Some(status), Some(import)) = (execution.status, self.imports.get_mut(uid)) {
            import.status = *status;
        }
        if execution.release && self.imports.get(uid).is_some_and(|import| import.deleting) {
            assert!(!self.remote.contains_key(uid), "released while it runs");
            self.imports.remove(uid);
        }
    }

    fn provider(&self) -> ClusterProvider {
        let specs = self.seen_imports.iter();
        let specs: BTreeMap<String, PodExportSpec> =
            specs.map(|(uid, import)| (uid.clone(), import.spec.export.clone())).collect();
        ClusterProvider {
            terms: terms(),
            specs,
            pods: Some(self.remote.clone()),
            reported: self.reported.clone(),
            now: now(),
        }
    }

    fn write(&mut self, uid: &str, writes: Vec<Write>) {
        for Write { action, .. } in writes {
            match action {
                WriteAction::Create(object) => {
                    assert!(self.remote.insert(uid.to_owned(), object).is_none());
                }
                WriteAction::Patch(_) | WriteAction::Apply(_) => panic!("no Pod changes here"),
                WriteAction::Delete { grace_seconds } => {
                    let metadata = &mut self.remote.get_mut(uid).unwrap()["metadata"];
                    metadata["deletionTimestamp"] = "1970-01-01T00:00:30Z".into();
                    metadata["deletionGracePeriodSeconds"] = grace_seconds.into();
                }
            }
        }
    }

    fn kubelet(&mut self, uid: &str) {
        let started = self.shown.values().map(BTreeSet::len).sum::<usize>() + self.reported.len();
        let Some(pod) = self.remote.get_mut(uid) else { return };
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            self.remote.remove(uid);
            return;
        }
        if pod["status"].is_null() {
            pod["metadata"]["uid"] = format!("{uid}-{started}-{}", self.made).into();
            let met = ["Initialized", "ContainersReady", "Ready"];
            let met = met.map(|type_| json!({ "type": type_, "status": "True" }));
            pod["status"] = json!({
                "phase": "Running", "podIPs": [{ "ip": "10.2.0.7" }], "conditions": met,
            });
        }
    }

    /// Everything works again, and each has had its turn often enough. What no import wants is stopped.
    fn settle(&mut self) {
        (self.origin_cut, self.executor_cut) = (false, false);
        for round in 0..20 {
            // The views have been complete for a while.
            self.fresh &= round < 5;
            for at in 0..3 {
                let uid = format!("u{at}");
                self.origin(&uid);
                self.hub(&uid);
                self.executor(&uid);
                self.kubelet(&uid);
            }
        }
        self.remote.retain(|uid, _| self.imports.contains_key(uid));
    }
}

fn state(export: &HubExport) -> ExportState {
    let HubExport { spec, status, deleting, .. } = export.clone();
    ExportState {
        spec,
        deleting,
        accepted: status.accepted,
        rejected: status.rejected,
        remote: status.remote,
        released: status.released,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// In the end the remote Pods are the local ones: no orphan, no second Pod, nothing that is never removed.
    #[test]
    fn remote_pods_are_the_local_ones(events in proptest::collection::vec(event(), 0..120)) {
        let mut fleet = Fleet::default();
        for event in &events {
            fleet.happen(event);
        }
        fleet.settle();
        let alive = |pod: &&LocalPod| !pod.phase.is_terminal();
        let wanted: Vec<_> = fleet.pods.values().filter(alive).map(|pod| &pod.uid).collect();
        let running: Vec<_> = fleet.remote.keys().collect();
        prop_assert_eq!(&running, &wanted);
        prop_assert!(fleet.pods.values().all(|pod| pod.deletion.is_none()), "deleting always ends");
        for (uid, export) in &fleet.exports {
            prop_assert!(fleet.pods.contains_key(uid), "{export:?}");
        }
        prop_assert!(fleet.imports.keys().all(|uid| fleet.exports.contains_key(uid)));
        prop_assert!(fleet.shown.values().all(|uids| uids.len() <= 1), "{:?}", fleet.shown);
    }
}
