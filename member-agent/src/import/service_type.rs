//! The type of a derived Service.
//!
//! It is chosen when the Service is made. A change of type gives up an address that clients use, so afterwards only the
//! user's annotation on the MultiClusterService changes it: neither another flag, nor an upgrade, nor a rollback.

use fleet_accumulator::Object;
use fleet_api::{annotations, events};
use fleet_model::objects::Service;
use fleet_model::steps::LOCAL;
use fleet_plan::Event;
use fleet_plan::json_patch::add;
use fleet_plan::text::truncate;
use serde_json::{Value, json};

use super::state::{Mcs, ServiceState};
use crate::settings::DerivedServiceType;

/// Types that a derived Service can have so that its address leads to imported endpoints.
const WORKING: [&str; 3] = ["ClusterIP", "NodePort", "LoadBalancer"];

/// Maximum length of a value in a message, in bytes: users can write any length.
const MAX_VALUE: usize = 80;

/// What the user of the MultiClusterService requests; the error contains the text of the annotation if it is no type.
fn requested(holder: &Mcs) -> Result<Option<DerivedServiceType>, &str> {
    let Some(text) = holder.meta.annotation(annotations::DERIVED_SERVICE_TYPE) else {
        return Ok(None);
    };
    DerivedServiceType::parse(text).map(Some).ok_or(text)
}

/// The part of the spec of a new derived Service that depends on its type.
pub(super) fn new_spec(state: &ServiceState<'_>, holder: &Mcs) -> Value {
    let settings = &state.settings.derived_services;
    let chosen = requested(holder).ok().flatten().unwrap_or(settings.service_type);
    // On a cluster with one family it means that family (Service API, `ipFamilyPolicy`).
    let mut spec = json!({ "type": chosen.as_str(), "ipFamilyPolicy": "PreferDualStack" });
    if let Some(class) = class(state, chosen) {
        spec["loadBalancerClass"] = json!(class);
    }
    spec
}

/// The operations that give a derived Service the type that is requested, and one of the types that work.
pub(super) fn operations(
    state: &ServiceState<'_>,
    holder: &Mcs,
    current: &Object<Service>,
) -> Vec<Value> {
    let works = WORKING.contains(&&*current.service_type);
    let wanted = match requested(holder) {
        Ok(Some(requested)) => requested,
        _ if works => return Vec::new(),
        _ => state.settings.derived_services.service_type,
    };
    if *current.service_type == *wanted.as_str() {
        return Vec::new();
    }
    let mut operations = vec![add(&["spec", "type"], json!(wanted.as_str()))];
    let class = class(state, wanted);
    operations.extend(class.map(|class| add(&["spec", "loadBalancerClass"], json!(class))));
    operations
}

/// A class is given with the type only: it cannot be changed afterwards (Service API, `loadBalancerClass`).
fn class<'a>(state: &ServiceState<'a>, chosen: DerivedServiceType) -> Option<&'a str> {
    let class = state.settings.derived_services.load_balancer_class.as_deref();
    class.filter(|_| chosen == DerivedServiceType::LoadBalancer)
}

/// The Event about an annotation that is no type: it has no effect.
pub(super) fn not_a_type(holder: &Mcs) -> Option<Event> {
    let text = requested(holder).err()?;
    let message = format!(
        "the annotation {} has no effect: {:?} is neither LoadBalancer nor ClusterIP",
        annotations::DERIVED_SERVICE_TYPE,
        truncate(text, MAX_VALUE)
    );
    Some(LOCAL.warning(holder, events::INVALID_DERIVED_SERVICE_TYPE, message))
}
