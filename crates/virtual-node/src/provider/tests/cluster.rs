//! An API server and a kubelet.

use fleet_api::offload::RemoteStatus;
use jiff::Timestamp;

use super::*;

#[derive(Default)]
pub(super) struct Cluster {
    specs: BTreeMap<String, PodExportSpec>,
    pods: BTreeMap<String, Value>,
    reported: BTreeMap<String, RemoteStatus>,
    started: usize,
    unknown: bool,
}

impl Cluster {
    fn look(&self) -> ClusterProvider {
        ClusterProvider {
            terms: terms(),
            specs: self.specs.clone(),
            pods: (!self.unknown).then(|| self.pods.clone()),
            reported: self.reported.clone(),
            now: Timestamp::from_second(100).unwrap(),
        }
    }

    fn uid_of(&self, name: &str) -> Option<String> {
        let mut pods = self.pods.iter();
        pods.find(|(_, pod)| pod["metadata"]["name"] == *name).map(|(uid, _)| uid.clone())
    }
}

impl Backend for Cluster {
    fn provider(&self) -> Box<dyn Provider> {
        Box::new(self.look())
    }

    fn apply(&mut self, writes: Vec<Write>) {
        for Write { kind, name, action } in writes {
            assert!(name.namespace.starts_with("offload-east--"), "{name}");
            match action {
                WriteAction::Create(object) if kind.kind == "Pod" => {
                    let uid = object["metadata"]["labels"]["offload.networking.fleet.azure.com/origin-uid"].as_str();
                    assert!(
                        self.pods.insert(uid.unwrap().to_owned(), object).is_none(),
                        "it exists"
                    );
                }
                WriteAction::Create(_) | WriteAction::Apply(_) => {}
                WriteAction::Patch(operations) => {
                    let uid = self.uid_of(&name.name).unwrap();
                    patch(self.pods.get_mut(&uid).unwrap(), &operations);
                }
                WriteAction::Delete { grace_seconds } => {
                    let uid = self.uid_of(&name.name).unwrap();
                    let metadata = &mut self.pods.get_mut(&uid).unwrap()["metadata"];
                    metadata["deletionTimestamp"] = "1970-01-01T00:00:30Z".into();
                    metadata["deletionGracePeriodSeconds"] = grace_seconds.into();
                    let spec = self.specs.entry(uid).or_default();
                    spec.stop_grace_seconds = grace_seconds;
                }
            }
        }
    }

    fn run(&mut self) {
        self.pods.retain(|_, pod| pod["metadata"]["deletionTimestamp"].is_null());
        for (uid, pod) in &mut self.pods {
            if pod["status"].is_null() {
                self.started += 1;
                pod["metadata"]["uid"] = format!("remote-{uid}").into();
                pod["status"] = json!({ "phase": "Running" });
            }
        }
        let observed = self.look().observed();
        let remote = observed.into_iter().filter_map(|(uid, state)| Some((uid, state.remote?)));
        self.reported = remote.collect();
    }

    fn runs(&self, uid: &str) -> bool {
        self.pods.get(uid).is_some_and(|pod| pod["status"]["phase"] == "Running")
    }

    fn started(&self) -> usize {
        self.started
    }

    fn lose(&mut self, uid: &str) {
        self.pods.remove(uid);
    }

    fn forget(&mut self) {
        self.unknown = true;
    }
}
