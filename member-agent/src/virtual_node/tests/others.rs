//! Who acts beside the agents of both members: the hub agent, and in the executor what ends with a namespace, and a kubelet, the
//! simplest that does what a real one does.

use fleet_api::kinds;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::virtual_node::tests::hub::hear;
use crate::virtual_node::tests::world::{EAST, WEST, World};

impl World {
    pub(super) fn hub_agent(&mut self) {
        for (name, member) in [(EAST, &self.east), (WEST, &self.west)] {
            hear(&mut self.hub, name, member.cut);
        }
        self.hub_agent.act(&mut self.hub, self.clock.now());
    }

    /// Starts Pods in west, and ends those whose time is up.
    pub(super) fn kubelet(&mut self) {
        let west = &mut self.west.own;
        let now = self.hub.now();
        for name in west.names(kinds::POD) {
            let pod = west.get(kinds::POD, &name).unwrap().clone();
            let ends: Option<Timestamp> =
                pod["metadata"]["deletionTimestamp"].as_str().map(|time| time.parse().unwrap());
            let gated = !pod["spec"]["schedulingGates"].is_null();
            if ends.is_some_and(|_| true) && ends <= Some(now) {
                west.delete_pod(&name, Some(0)).unwrap();
            } else if ends.is_none() && pod["status"]["phase"].is_null() && !gated {
                self.made += 1;
                let ip = format!("10.2.0.{}", self.made % 250 + 1);
                let start = |pod: &mut Value| {
                    pod["spec"]["nodeName"] = "node-1".into();
                    pod["status"] = running(&ip, now);
                };
                west.edit(kinds::POD, &name, start).unwrap();
            }
        }
    }

    /// What a namespace has goes with it.
    pub(super) fn garbage(&mut self) {
        let west = &mut self.west.own;
        let known: Vec<_> = west.names(kinds::NAMESPACE);
        for kind in [
            kinds::RESOURCE_QUOTA,
            kinds::LIMIT_RANGE,
            kinds::NETWORK_POLICY,
            kinds::SERVICE_ACCOUNT,
        ] {
            for name in west.names(kind) {
                if !known.iter().any(|space| space.name == name.namespace) {
                    west.delete(kind, &name).unwrap();
                }
            }
        }
    }
}

fn running(ip: &str, now: Timestamp) -> Value {
    let time = Timestamp::from_second(now.as_second()).unwrap().to_string();
    let met = |type_: &str| json!({ "type": type_, "status": "True", "lastTransitionTime": time });
    let met = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(met);
    json!({
        "phase": "Running", "startTime": time, "podIP": ip, "podIPs": [{ "ip": ip }],
        "conditions": met,
        "containerStatuses": [{
            "name": "web", "ready": true, "started": true, "restartCount": 0, "image": "web:1",
            "imageID": "", "state": { "running": { "startedAt": time } },
        }],
    })
}
