//! The hub agent: the plans of its own controller, on the model of the hub.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_accumulator::Tracked as _;
use fleet_api::names::member_namespace;
use fleet_api::{ObjectName, kinds};
use fleet_model::objects::offload::Hearing;
use fleet_model_server::{ModelServer, execute, snapshot};
use fleet_plan::{Controller as _, affected_keys};
use hub_agent::snapshot::HubSnapshot;
use hub_agent::virtual_node::{Key, VirtualNodeController};
use serde_json::{Value, json};

/// What the hub agent's engine remembers.
#[derive(Default)]
pub(super) struct HubAgent {
    /// Since when plans contain what is to be written only after a while.
    waits: BTreeMap<(Key, &'static str), Duration>,
    /// The version of the hub at which nothing was left to do, until a time.
    rests: Option<(u64, Option<Duration>)>,
}

impl HubAgent {
    /// Plans each key once, and sends what is due.
    pub(super) fn act(&mut self, hub: &mut ModelServer, now: Duration) {
        let before = hub.version();
        let is_at_rest = |(version, until): (u64, Option<Duration>)| {
            version == before && until.is_none_or(|until| until > now)
        };
        if self.rests.is_some_and(is_at_rest) {
            return;
        }
        let seen: HubSnapshot = snapshot(&[hub], None);
        let known = std::mem::take(&mut self.waits);
        let mut until: Option<Duration> = None;
        for key in affected_keys(&VirtualNodeController::default(), &HubSnapshot::default(), &seen)
        {
            let mut plan = VirtualNodeController::default().plan(&key, &seen, hub.now());
            let wake = plan.wake_after.map(|after| now + after);
            until = until.into_iter().chain(wake).min();
            for later in std::mem::take(&mut plan.debounced) {
                let name = (key.clone(), later.purpose);
                let since = known.get(&name).copied().unwrap_or(now);
                if now.saturating_sub(since) >= later.delay {
                    plan.steps.push(later.step);
                } else {
                    until = until.into_iter().chain([since + later.delay]).min();
                    self.waits.insert(name, since);
                }
            }
            // What conflicts with a write of another key is planned again.
            execute(&plan, &mut [&mut *hub]);
        }
        self.rests = (hub.version() == before).then_some((before, until));
    }
}

/// A member with ranges of its own, whose Lease is renewed.
pub(super) fn join(hub: &mut ModelServer, member: &str, range: &str) {
    let namespace = ObjectName::cluster(member_namespace(member));
    hub.create(kinds::NAMESPACE, &namespace, json!({})).unwrap();
    let policy = ObjectName::new(member_namespace(member), "member-policy");
    let data = json!({ "data": { "cidrs": range, "exports": "*", "imports": "*" } });
    hub.create(kinds::CONFIG_MAP, &policy, data).unwrap();
    let lease = json!({ "document": Hearing::document(false) });
    hub.create(Hearing::KIND, &Hearing::name(member), lease).unwrap();
}

/// Whether a member renews its Lease from now on.
pub(super) fn hear(hub: &mut ModelServer, member: &str, is_silent: bool) {
    let (name, document) = (Hearing::name(member), Hearing::document(is_silent));
    if hub.get(Hearing::KIND, &name).is_some_and(|heard| heard["document"] != document) {
        let change = |heard: &mut Value| heard["document"] = document;
        hub.edit(Hearing::KIND, &name, change).unwrap();
    }
}

/// The hub agent answers its members which hub it is.
pub(super) fn answer(hub: &mut ModelServer, members: [&str; 2], incarnation: &str) {
    for member in members {
        let name = ObjectName::new(member_namespace(member), member);
        if hub.get(kinds::CLUSTER_REPORT, &name).is_none() {
            let spec = json!({ "spec": { "clusterUid": member } });
            hub.create(kinds::CLUSTER_REPORT, &name, spec).unwrap();
        }
        let answer = |report: &mut Value| report["status"]["incarnation"] = incarnation.into();
        hub.edit(kinds::CLUSTER_REPORT, &name, answer).unwrap();
    }
}
