//! `FleetTraffic`.

use fleet_accumulator::{Meta, Object, Tracked, View, wire};
use fleet_api::traffic::{
    self, FLEET_TRAFFIC, FleetTrafficPhase, FleetTrafficSpec, FleetTrafficStatus,
};
use fleet_api::{ObjectName, ResourceKind, kinds};

wire! {
    /// A `FleetTraffic` on the wire.
    pub struct FleetTrafficWire as traffic::FleetTraffic {
        spec: Option<FleetTrafficSpec>,
        status: Option<FleetTrafficStatus>,
    }
}

/// Defaults and limits of the fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetTraffic {
    /// Metadata.
    pub meta: Meta,
    /// What administrators have set; the defaults where nothing is.
    pub spec: FleetTrafficSpec,
    /// What the hub agent has reported.
    pub status: FleetTrafficStatus,
}

impl FleetTraffic {
    /// The one of the fleet.
    pub fn of(view: &View<Self>) -> Option<&Object<Self>> {
        view.get(&ObjectName::cluster(FLEET_TRAFFIC))
    }

    /// Whether members have yet to bring back to the hub what it had: it was built anew, or restored from a backup. What it lacks then
    /// was not necessarily withdrawn. Before the view has answered this is not known where the fleet `directs` traffic, and assumed.
    pub fn is_rebuilding(view: &View<Self>, directs: bool) -> bool {
        if directs && !view.has_answered() {
            return true;
        }
        // Without the kind, no agent decides when it is over.
        let fleet = Self::of(view).filter(|_| !view.state().cannot_be_had());
        // One without a phase is new, as that of a hub that was built anew.
        fleet.is_some_and(|fleet| fleet.status.phase != Some(FleetTrafficPhase::Settled))
    }
}

impl Tracked for FleetTraffic {
    const KIND: ResourceKind = kinds::FLEET_TRAFFIC;
    type Wire = FleetTrafficWire;
    type Index = ();

    fn project(wire: FleetTrafficWire) -> Result<Self, String> {
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            spec: wire.spec.unwrap_or_default(),
            status: wire.status.unwrap_or_default(),
        })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use fleet_api::traffic::Preference;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_set_has_its_default() {
        let object = json!({
            "metadata": { "name": "fleet" },
            "spec": { "defaults": { "preference": "LocalFirst" }, "silentAfterSeconds": 90 },
        });
        let fleet = FleetTraffic::project(serde_json::from_value(object).unwrap()).unwrap();
        let preference = fleet.spec.defaults.as_ref().and_then(|defaults| defaults.preference);
        assert_eq!(preference, Some(Preference::LocalFirst));
        let expected = FleetTrafficSpec {
            defaults: fleet.spec.defaults.clone(),
            silent_after_seconds: 90,
            ..FleetTrafficSpec::default()
        };
        assert_eq!((fleet.spec, fleet.status), (expected, FleetTrafficStatus::default()));
        let empty = json!({ "metadata": { "name": "fleet" } });
        let empty = FleetTraffic::project(serde_json::from_value(empty).unwrap()).unwrap();
        assert_eq!(empty.spec, FleetTrafficSpec::default());
    }

    #[test]
    fn there_is_one() {
        let object = |name: &str| {
            let wire = json!({ "metadata": { "name": name } });
            let fleet = FleetTraffic::project(serde_json::from_value(wire).unwrap()).unwrap();
            Object::new(ObjectName::cluster(name), "u".into(), "1".into(), fleet)
        };
        assert!(FleetTraffic::of(&View::of([object("other")])).is_none());
        assert!(FleetTraffic::of(&View::of([object("other"), object("fleet")])).is_some());
    }
}
