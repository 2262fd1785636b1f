//! The status of the one object of the fleet.

use std::time::Duration;

use fleet_api::ObjectName;
use fleet_api::conditions::{FALSE, TRUE};
use fleet_api::events;
use fleet_api::traffic::{FLEET_TRAFFIC, FleetTrafficStatus, MASS_SILENCE, ROLLED_BACK};
use fleet_model::objects::traffic::{FleetDecision, FleetTraffic};
use fleet_model::steps::HUB;
use fleet_plan::Plan;
use fleet_plan::conditions::{Wanted, apply};
use jiff::Timestamp;

use crate::snapshot::HubSnapshot;

/// How often numbers of members are written at most.
const COUNTS: Duration = Duration::from_mins(1);
/// How many members are named.
const NAMED: usize = 5;

pub(super) fn plan(snapshot: &HubSnapshot, now: Timestamp, plan: &mut Plan) {
    let Some(object) = FleetTraffic::of(&snapshot.fleet_traffics) else { return };
    let decision = snapshot.fleet_decisions.get(&ObjectName::cluster(FLEET_TRAFFIC));
    let Some(decision) = decision.filter(|_| !object.meta.is_terminating()) else { return };
    let present = &object.status;
    let conditions = apply(&present.conditions, wanted(decision), now);
    let conditions = conditions.unwrap_or_else(|| present.conditions.clone());
    let status = FleetTrafficStatus { conditions, ..decision.status.clone() };
    if !decision.mass_silence.is_empty() {
        let note = mass_silence(&decision.mass_silence);
        plan.events.push(HUB.warning(object, events::MASS_SILENCE, note));
    }
    if decision.rolled_back {
        plan.events.push(HUB.warning(object, events::ROLLED_BACK, went_back(present.epoch)));
    }
    if status == *present {
        return;
    }
    let counts_alone = FleetTrafficStatus {
        members: present.members,
        silent: present.silent,
        held: present.held,
        unmanaged: present.unmanaged,
        ..status.clone()
    } == *present;
    let step = HUB.status(object, &status);
    if counts_alone {
        plan.debounce(COUNTS, "numbers of members", step);
    } else {
        plan.push(step);
    }
}

/// A message that changes with each member would be written as often: numbers and names are in the Event.
fn wanted(decision: &FleetDecision) -> [Wanted; 2] {
    let wanted = |type_, holds: bool, reasons: [&str; 2], messages: [&str; 2]| {
        let [yes, no] = [0, 1];
        let at = if holds { yes } else { no };
        Wanted {
            type_,
            status: if holds { TRUE } else { FALSE }.to_owned(),
            reason: reasons[at].to_owned(),
            message: messages[at].to_owned(),
            generation: 0,
        }
    };
    [
        wanted(
            MASS_SILENCE,
            !decision.mass_silence.is_empty(),
            ["TooManyAtOnce", "WithinBounds"],
            [
                "More members are silent than can fail independently: no further one is taken for silent. Confirm by name with \
                 fleetctl silence MEMBER",
                "No more members are silent than can fail independently",
            ],
        ),
        wanted(
            ROLLED_BACK,
            decision.rolled_back,
            ["VersionsWentBack", "VersionsAdvance"],
            [
                "The API server has an earlier state than before, as after the restore of a backup",
                "The API server has no earlier state than before",
            ],
        ),
    ]
}

fn mass_silence(members: &[String]) -> String {
    let named = members.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = members.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "{named}{more} are silent at once: nothing changes until they renew their Leases, or are confirmed by name with fleetctl silence"
    )
}

fn went_back(epoch: i64) -> String {
    format!(
        "the API server went back in its history; epoch {epoch}: importers keep what they have until members have published again"
    )
}
