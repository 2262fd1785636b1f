//! What of an import serves: the part of the message of `Valid=True` that explains why connections fail nevertheless.

use std::collections::BTreeSet;

use fleet_accumulator::Object;
use fleet_model::objects::Service;

use super::state::ServiceState;

/// Why no endpoint, or only a part of them, can be reached through the derived Service; empty if all can.
pub(super) fn note(state: &ServiceState<'_>, derived: &Object<Service>) -> String {
    let serving = state
        .copies
        .iter()
        .filter(|copy| !copy.meta.is_terminating() && !copy.spec.endpoints.is_empty());
    let families: BTreeSet<_> = serving.map(|copy| copy.spec.address_type.as_str()).collect();
    let has = |family: &&str| derived.ip_families.iter().any(|own| own == family);
    let (used, unused): (Vec<_>, Vec<_>) = families.into_iter().partition(has);
    // An API server fills the families in; without them nothing is known.
    if derived.ip_families.is_empty() || (unused.is_empty() && !used.is_empty()) {
        return String::new();
    }
    if used.is_empty() && unused.is_empty() {
        return ", but no exporter has a ready endpoint".to_owned();
    }
    let (unused, own) = (unused.join(" and "), derived.ip_families.join(" and "));
    if used.is_empty() {
        format!(", but its endpoints have {unused} addresses, and its derived service only {own}")
    } else {
        format!(
            "; endpoints with {unused} addresses are not used: its derived service has only {own}"
        )
    }
}
