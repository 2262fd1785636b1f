//! The hub and the executor behind it.

use fleet_api::offload::{PodPhase, RemoteLoss, RemotePod, RemoteStatus};

use super::*;

#[derive(Default)]
pub(super) struct Hub {
    exports: BTreeMap<String, ExportState>,
    running: Vec<String>,
    started: usize,
    lost: Vec<String>,
    unknown: bool,
}

impl Backend for Hub {
    fn provider(&self) -> Box<dyn Provider> {
        let exports = (!self.unknown).then(|| self.exports.clone());
        Box::new(HubProvider { cluster: "east".to_owned(), exports })
    }

    fn apply(&mut self, writes: Vec<Write>) {
        for Write { kind, name, action } in writes {
            assert_eq!((kind.kind, &*name.namespace), ("PodExport", "fleet-member-east"));
            let uid = name.name.to_string();
            match action {
                WriteAction::Create(object) => {
                    assert_eq!(
                        object["metadata"]["finalizers"],
                        json!(["offload.networking.fleet.azure.com/podexport-cleanup"])
                    );
                    let spec = serde_json::from_value(object["spec"].clone()).unwrap();
                    let export = ExportState { spec, ..ExportState::default() };
                    assert!(self.exports.insert(uid, export).is_none(), "it exists");
                }
                WriteAction::Patch(operations) => {
                    let export = self.exports.get_mut(&uid).unwrap();
                    let mut object = json!({ "spec": export.spec });
                    patch(&mut object, &operations);
                    export.spec = serde_json::from_value(object["spec"].clone()).unwrap();
                }
                WriteAction::Apply(_) => panic!("exports are not applied"),
                WriteAction::Delete { .. } => self.exports.get_mut(&uid).unwrap().deleting = true,
            }
        }
    }

    fn run(&mut self) {
        for (uid, export) in &mut self.exports {
            if export.deleting {
                self.running.retain(|other| other != uid);
                export.released = true;
                continue;
            }
            export.accepted = true;
            if !self.lost.contains(uid) && !self.running.contains(uid) {
                self.running.push(uid.clone());
                self.started += 1;
            }
            let pod =
                Some(RemotePod { uid: Some(format!("remote-{uid}")), ..RemotePod::default() });
            let loss = self.lost.contains(uid).then_some(RemoteLoss::Deleted);
            export.remote = Some(RemoteStatus {
                phase: PodPhase::Running,
                pod,
                loss,
                ..RemoteStatus::default()
            });
        }
    }

    fn runs(&self, uid: &str) -> bool {
        self.running.iter().any(|other| other == uid)
    }

    fn started(&self) -> usize {
        self.started
    }

    fn lose(&mut self, uid: &str) {
        self.running.retain(|other| other != uid);
        self.lost.push(uid.to_owned());
    }

    fn forget(&mut self) {
        self.unknown = true;
    }
}
