//! The membership controller against model API servers.

mod cluster;
mod confirmation;
mod join;
mod leave;
mod standard;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, kinds};
use fleet_model_server::{ModelServer, execute};
use serde_json::{Value, json};

use super::plan;
use crate::Settings;
use crate::measurement::Plan;
use crate::snapshot::MemberSnapshot;

/// Member "a": its own API server and the hub's.
struct World {
    own: ModelServer,
    hub: ModelServer,
    settings: Settings,
}

fn membership() -> ObjectName {
    ObjectName::new("fleet-member-a", "a")
}

impl World {
    /// A member without membership.
    fn new() -> Self {
        let own = ModelServer::new(ClusterId::Local);
        let hub = ModelServer::new(ClusterId::Hub);
        Self { own, hub, settings: Settings::new("a") }
    }

    /// A member of which the hub wants this, and which has reported nothing yet.
    fn told(state: &str) -> Self {
        let mut world = Self::new();
        let object = json!({ "spec": { "state": state, "heartbeatPeriodSeconds": 60 } });
        world.hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &membership(), object).unwrap();
        world
    }

    /// A member that has reported that it joined.
    fn joined() -> Self {
        let mut world = Self::told("Join");
        world.settle();
        world
    }

    fn edit(&mut self, change: impl FnOnce(&mut Value)) {
        self.hub.edit(kinds::INTERNAL_MEMBER_CLUSTER, &membership(), change).unwrap();
    }

    fn tell(&mut self, state: &str) {
        self.edit(|object| object["spec"]["state"] = json!(state));
    }

    fn advance(&mut self, seconds: i64) {
        self.own.advance(seconds);
        self.hub.advance(seconds);
    }

    fn snapshot(&self) -> MemberSnapshot {
        crate::tests::snapshot(&self.settings.identity, &self.own, &self.hub)
    }

    fn plan(&self) -> Plan {
        plan(&self.settings, &self.snapshot(), self.own.now())
    }

    /// Plans and writes until nothing is left to do but to wait; returns the number of writes.
    fn settle(&mut self) -> usize {
        for _ in 0..20 {
            let plan = self.plan();
            if plan.steps.is_empty() {
                return self.own.take_writes().len() + self.hub.take_writes().len();
            }
            execute(&plan, &mut [&mut self.own, &mut self.hub]);
        }
        panic!("no rest: {:#?}", self.plan());
    }

    fn status(&self) -> &Value {
        &self.hub.get(kinds::INTERNAL_MEMBER_CLUSTER, &membership()).unwrap()["status"]
    }

    /// The report of one agent type.
    fn report(&self, agent: &str) -> &Value {
        let reports = self.status()["agentStatus"].as_array().unwrap();
        reports.iter().find(|report| report["type"] == agent).unwrap()
    }
}

const AGENTS: [&str; 2] = ["MultiClusterServiceAgent", "ServiceExportImportAgent"];

/// A report as KubeFleet reads it.
fn report(agent: &str, said: (&str, &str), generation: i64, since: &str, beat: &str) -> Value {
    json!({
        "type": agent,
        "conditions": [{
            "type": "Joined", "status": said.0, "reason": said.1, "message": "",
            "observedGeneration": generation, "lastTransitionTime": since,
        }],
        "lastReceivedHeartbeat": beat,
    })
}
