mod documents;
mod rules;

use std::collections::BTreeMap;

use fleet_api::offload::{
    ContainerState, PodPhase, RemoteCondition, RemoteContainer, RemoteLoss, RemoteStatus,
};
use fleet_model::cidr::Cidrs;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::condition::Condition;
use crate::pod::LocalPod;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn ranges() -> Cidrs {
    "10.2.0.0/16,fd00:2::/64".parse().unwrap()
}

fn pod() -> LocalPod {
    let spec = json!({ "containers": [{ "name": "web" }], "initContainers": [{ "name": "init" }] });
    let Value::Object(spec) = spec else { unreachable!() };
    LocalPod {
        namespace: "shop".to_owned(),
        name: "web-7".to_owned(),
        uid: "u".to_owned(),
        labels: BTreeMap::new(),
        spec,
        ..LocalPod::default()
    }
}

fn met(type_: &str) -> RemoteCondition {
    RemoteCondition { type_: type_.to_owned(), status: true, ..RemoteCondition::default() }
}

fn running() -> RemoteStatus {
    let state = ContainerState { running: true, ..ContainerState::default() };
    RemoteStatus {
        phase: PodPhase::Running,
        pod_ips: vec!["10.2.0.7".to_owned()],
        conditions: ["Initialized", "ContainersReady", "Ready"].map(met).into(),
        containers: vec![RemoteContainer {
            name: "web".to_owned(),
            state,
            ready: true,
            container_id: Some("containerd://1".to_owned()),
            ..RemoteContainer::default()
        }],
        ..RemoteStatus::default()
    }
}

fn desired(pod: &LocalPod, remote: &RemoteStatus, link: Link) -> DesiredStatus {
    translate(pod, remote, "west", &ranges(), link, at(100)).unwrap()
}

fn ready(desired: &DesiredStatus) -> (bool, &str) {
    let ready = desired.conditions.iter().find(|one| one.type_ == "Ready").unwrap();
    (ready.status, &ready.reason)
}
