//! What this cluster offers, on the hub.

use fleet_accumulator::Object;
use fleet_api::offload::{CONSENT, OffloadOfferSpec, OriginSelector};
use fleet_api::{ObjectName, events};
use fleet_model::objects::offload::{OffloadConsent, OffloadOffer};
use fleet_model::steps::{HUB, LOCAL, to_json};
use serde_json::json;

use crate::Settings;
use crate::executors::consent;
use crate::measurement::Plan;
use crate::phase::Phase;
use crate::snapshot::MemberSnapshot;

/// Name of the offer in the member's namespace on the hub. There is one.
const NAME: &str = "offer";

/// The writes that are missing for the hub to have what the administrators of this cluster offer.
pub(super) fn plan(settings: &Settings, snapshot: &MemberSnapshot) -> Plan {
    let mut plan = Plan::default();
    let identity = &settings.identity;
    let decided = consent(identity, snapshot);
    let is_member = Phase::of(identity, snapshot).is_member();
    let wanted = decided.and_then(|decided| decided.object.offer.as_ref()).filter(|_| is_member);
    let name = ObjectName::new(identity.hub_namespace.as_str(), NAME);
    let present = snapshot.offload_offers.get(&name);
    match (wanted, present) {
        (Some(Ok(spec)), None) => {
            plan.push(HUB.create::<OffloadOffer>(name, json!({ "metadata": {}, "spec": spec })));
        }
        (Some(Ok(spec)), Some(present)) => update(present, spec, &mut plan),
        // What was offered before stays offered.
        (Some(Err(why)), _) => {
            let note = format!("the offer cannot be read: {why}");
            let event =
                |decided: &Object<OffloadConsent>| LOCAL.warning(decided, events::BLOCKED, note);
            plan.events.extend(decided.map(event));
        }
        (None, Some(present)) if !present.object.meta.is_terminating() => {
            withdraw(settings, decided, present, snapshot, &mut plan);
        }
        (None, _) => {}
    }
    plan
}

fn update(present: &Object<OffloadOffer>, spec: &OffloadOfferSpec, plan: &mut Plan) {
    if present.object.spec != *spec && !present.object.meta.is_terminating() {
        let replace = json!({ "op": "replace", "path": "/spec", "value": to_json(spec) });
        plan.push(HUB.patch(present, vec![replace]));
    }
}

/// Without an offer the Pods of others are deleted: that there is none is read from the API server.
///
/// As long as the hub has any of them here, it stays as one for no member: by its status this cluster knows which origins are silent,
/// which count on it that their Pods end.
fn withdraw(
    settings: &Settings,
    decided: Option<&Object<OffloadConsent>>,
    present: &Object<OffloadOffer>,
    snapshot: &MemberSnapshot,
    plan: &mut Plan,
) {
    let none = OriginSelector::default();
    let step = if snapshot.pod_imports.bootstrapped() && snapshot.pod_imports.is_empty() {
        HUB.delete(present)
    } else if present.object.spec.origin_selector == none {
        return;
    } else {
        let value = to_json(&none);
        HUB.patch(
            present,
            vec![json!({ "op": "replace", "path": "/spec/originSelector", "value": value })],
        )
    };
    if decided.is_some() {
        plan.push(step);
        return;
    }
    let name = ObjectName::new(settings.identity.system_namespace.as_str(), CONSENT);
    let absent = plan.push(LOCAL.confirm_absent::<OffloadConsent>(name));
    plan.push(step.after([absent]));
}
