//! The controller that writes what is decided about drains and silent members: one small object for each member, which all
//! importers read. `crates/traffic` and [`traffic_decider`](crate::traffic_decider) decide.

mod fleet;
mod key;
mod member;

#[cfg(test)]
mod tests;

use std::convert::Infallible;

use fleet_accumulator::SourceSet;
use fleet_api::traffic::FLEET_TRAFFIC;
use fleet_model::changes::each_touched;
use fleet_model::steps::HUB;
use fleet_plan::{Affected, Controller, Event, Plan};
use jiff::Timestamp;

pub use key::Key;

use crate::snapshot::HubSnapshot;

/// Writes the statuses of `MemberTraffic`s and of the `FleetTraffic`.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrafficController;

impl Controller for TrafficController {
    type Snapshot = HubSnapshot;
    type Key = Key;
    type Measurement = Infallible;

    fn name(&self) -> &'static str {
        "traffic"
    }

    fn required(&self) -> SourceSet {
        SourceSet::from([
            HubSnapshot::fleet_traffics(),
            HubSnapshot::member_traffics(),
            HubSnapshot::fleet_decisions(),
            HubSnapshot::member_decisions(),
            HubSnapshot::namespaces(),
        ])
    }

    fn affected_keys(&self, old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Key>) {
        each_touched(&old.member_decisions, &new.member_decisions, |decision| {
            keys.add(Key::Member(decision.name.name.clone()));
        });
        each_touched(&old.member_traffics, &new.member_traffics, |traffic| {
            keys.add(Key::Member(traffic.name.name.clone()));
        });
        each_touched(&old.namespaces, &new.namespaces, |namespace| {
            if let Some(key) = Key::of_namespace(&namespace.name.name) {
                keys.add(key);
            }
        });
        each_touched(&old.fleet_decisions, &new.fleet_decisions, |_| keys.add(Key::Fleet));
        each_touched(&old.fleet_traffics, &new.fleet_traffics, |fleet| {
            if *fleet.name.name == *FLEET_TRAFFIC {
                keys.add(Key::Fleet);
            }
        });
    }

    fn plan(&self, key: &Key, snapshot: &HubSnapshot, now: Timestamp) -> Plan {
        let mut plan = Plan::default();
        match key {
            Key::Fleet => fleet::plan(snapshot, now, &mut plan),
            Key::Member(name) => member::plan(name, snapshot, now, &mut plan),
        }
        plan
    }

    fn blocked(&self, snapshot: &HubSnapshot, reason: &str) -> Vec<Event> {
        snapshot.fleet_traffics.iter().map(|fleet| HUB.blocked(fleet, reason)).collect()
    }
}
