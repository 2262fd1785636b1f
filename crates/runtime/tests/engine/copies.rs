//! A controller that copies Services from the own cluster to the hub.
#![expect(unreachable_pub, reason = "a module of one test; its macros make public fields")]

use std::time::Duration;

use fleet_accumulator::{ClusterId, SourceSet, Tracked, views, wire};
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_plan::{Action, Affected, Controller, Event, EventType, Plan, Precondition, Step};
use fleet_runtime::engine::{Answer, Recorder};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use serde_json::json;

use crate::world::World;

pub const NAMESPACE: &str = "team";
pub const VALUE: &str = "value";
/// A request with this value is granted only after [`DELAY`].
pub const LATER: &str = "later";
/// A request with this value is looked at again after [`DELAY`].
pub const WAKE: &str = "wake";
/// A request with this value is granted with as many copies of names of its own, `name.0` and so on.
pub const CROWD: &str = "crowd";
/// See [`CROWD`].
pub const CROWD_SIZE: usize = 1200;
/// A request with this value is reported by [`LOUD_EVENTS`], and not granted.
pub const LOUD: &str = "loud";
/// See [`LOUD`].
pub const LOUD_EVENTS: usize = 200;
/// See [`LATER`].
pub const DELAY: Duration = Duration::from_millis(500);

wire! {
    /// A Service, without what is not read here.
    pub struct ToyWire as Service { spec: Option<ServiceSpec> }
}

/// The value is all that matters.
#[derive(Debug, PartialEq)]
pub struct Toy(String);

impl Tracked for Toy {
    const KIND: ResourceKind = kinds::SERVICE;
    type Wire = ToyWire;
    type Index = ();

    fn project(wire: ToyWire) -> Result<Self, String> {
        let labels = wire.metadata.labels.unwrap_or_default();
        labels.get(VALUE).cloned().map(Self).ok_or_else(|| "no value".to_owned())
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

views! {
    /// What the controller sees.
    pub struct ToySnapshot {
        /// What there should be on the hub.
        local wishes: Toy,
        /// What there is.
        hub copies: Toy,
        /// What the controller reads and could do without.
        local optional extras: Toy,
    }
}

/// Makes the hub's Services as those of the own cluster are.
pub struct CopyController {
    /// What it plans and receives is noted there.
    pub world: World,
}

impl Controller for CopyController {
    type Snapshot = ToySnapshot;
    type Key = String;
    /// The key.
    type Measurement = String;

    fn name(&self) -> &'static str {
        "copy"
    }

    fn required(&self) -> SourceSet {
        SourceSet::from([ToySnapshot::wishes(), ToySnapshot::copies()])
    }

    fn reads(&self) -> SourceSet {
        self.required().with(ToySnapshot::extras())
    }

    fn affected_keys(&self, old: &ToySnapshot, new: &ToySnapshot, keys: &mut Affected<String>) {
        for (old, new) in [(&old.wishes, &new.wishes), (&old.copies, &new.copies)] {
            for change in fleet_accumulator::diff(old, new) {
                let record = change.new().or_else(|| change.old()).unwrap();
                keys.add(record.name.name.split('.').next().unwrap().to_owned());
            }
        }
    }

    fn plan(&self, key: &String, snapshot: &ToySnapshot, _: Timestamp) -> Plan<String> {
        self.world.planned(key);
        let name = ObjectName::new(NAMESPACE, key.as_str());
        match snapshot.wishes.get(&name).map(|wish| wish.0.as_str()) {
            Some(CROWD) => return crowd(key, snapshot),
            Some(LOUD) => return loud(&name),
            _ => {}
        }
        let object = |value: &str| object(key, value);
        let action = match (snapshot.wishes.get(&name), snapshot.copies.get(&name)) {
            (None, None) => None,
            (Some(wish), None) => Some(Action::Create(object(&wish.0))),
            (Some(wish), Some(copy)) if wish.0 == copy.0 => None,
            (Some(wish), Some(copy)) => {
                let at = Precondition { uid: copy.uid.clone(), version: copy.version.clone() };
                Some(Action::Replace { body: object(&wish.0), at })
            }
            (None, Some(copy)) => {
                let at = Precondition { uid: copy.uid.clone(), version: copy.version.clone() };
                Some(Action::Delete { at, grace_seconds: None })
            }
        };
        let mut plan = Plan::default();
        let wish = snapshot.wishes.get(&name).map(|wish| wish.0.as_str());
        if wish == Some(WAKE) {
            plan.wake_after = Some(DELAY);
        }
        let Some(action) = action else { return plan };
        let step = Step::new(ClusterId::Hub, kinds::SERVICE, name, action).stage("export");
        if wish == Some(LATER) {
            plan.debounce(DELAY, "test", step);
        } else {
            let sent = plan.push(step);
            plan.measure_after(sent, key.clone());
        }
        plan
    }
}

fn object(name: &str, value: &str) -> fleet_plan::Body {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"namespace": NAMESPACE, "name": name, "labels": {VALUE: value}},
    })
    .into()
}

/// The copies that are missing, see [`CROWD`].
fn crowd(key: &str, snapshot: &ToySnapshot) -> Plan<String> {
    let mut plan = Plan::default();
    for number in 0..CROWD_SIZE {
        let part = format!("{key}.{number}");
        let name = ObjectName::new(NAMESPACE, part.as_str());
        if snapshot.copies.get(&name).is_none() {
            let create = Action::Create(object(&part, "1"));
            plan.push(Step::new(ClusterId::Hub, kinds::SERVICE, name, create));
        }
    }
    plan
}

/// See [`LOUD`].
fn loud(name: &ObjectName) -> Plan<String> {
    let event = |number| Event {
        cluster: ClusterId::Local,
        kind: kinds::SERVICE,
        name: name.clone(),
        uid: "loud".into(),
        event_type: EventType::Normal,
        reason: "Loud",
        note: format!("number {number}"),
    };
    Plan { events: (0..LOUD_EVENTS).map(event).collect(), ..Plan::default() }
}

impl Recorder<String, String> for CopyController {
    fn record(&mut self, _: &String, what: &String, _: Timestamp) -> Vec<Event> {
        self.world.note_sample(what);
        Vec::new()
    }

    fn refused(&mut self, key: &String, step: &Step, why: &str) {
        self.world.note_refusal(format!("{key}: {} {why}", step.action.verb()));
    }

    fn answered(&mut self, key: &String, step: &Step, answer: Answer) {
        self.world.note_outcome(format!("{key}: {} {answer:?}", step.action.verb()));
    }
}
