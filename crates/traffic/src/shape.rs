use std::collections::BTreeSet;

use crate::slot::Slot;
use crate::source::Conditions;
use crate::zones::REMOTE_ZONE;

/// What an EndpointSlice has of an endpoint's slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Those of the source, but for ready endpoints that are last resort.
    pub conditions: Conditions,
    /// `hints.forZones`; empty for no hints.
    pub zones: BTreeSet<String>,
}

/// The shape of an endpoint in a slot; `None` if it is not in the EndpointSlice.
///
/// `zones` are those that endpoints of the first slot name ([`crate::named_zones`], [`crate::zones_of_own`]); `None` where
/// [`crate::Decision::has_hints`] is not set.
pub fn shape(slot: Slot, source: Conditions, zones: Option<&BTreeSet<String>>) -> Option<Shape> {
    let remote = || BTreeSet::from([REMOTE_ZONE.to_owned()]);
    let named = match (slot, zones) {
        (Slot::Out, _) => return None,
        (Slot::First, Some(zones)) => zones.clone(),
        (Slot::Second | Slot::LastResort, Some(_)) => remote(),
        _ => BTreeSet::new(),
    };
    let demoted = source.ready && !slot.is_ready();
    let conditions = if demoted { Conditions::DRAINING } else { source };
    Some(Shape { conditions, zones: named })
}
