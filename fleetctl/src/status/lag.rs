//! EndpointSlices that the agents have yet to write.

use std::collections::BTreeMap;

use fleet_api::{kinds, names};
use fleet_model::objects::named;
use fleet_plan::Step;
use serde::Serialize;

use crate::pending::Pending;
use crate::picture::Picture;

/// EndpointSlices that the agents have yet to write, according to their plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lag {
    /// Slices.
    pub slices: usize,
    /// Seconds since the exporter noticed the oldest of these changes, if the hub knows it.
    pub oldest_seconds: Option<i64>,
}

/// Slices that have yet to be written, by the member they come from or go to. `counts` selects the API.
pub(super) fn late<'a>(
    picture: &'a Picture,
    pending: &'a [Pending],
    counts: impl Fn(&Pending, &Step) -> bool,
) -> BTreeMap<&'a str, Lag> {
    let mut late = BTreeMap::<&str, Lag>::new();
    for pending in pending {
        for step in pending.writes().filter(|step| counts(pending, step)) {
            let Some(member) = concerned(&pending.agent, step) else { continue };
            let lag = late.entry(member).or_default();
            lag.slices += 1;
            lag.oldest_seconds = lag.oldest_seconds.max(age(picture, step));
        }
    }
    late
}

fn concerned<'a>(agent: &'a str, step: &'a Step) -> Option<&'a str> {
    match step.kind {
        kinds::ENDPOINT_SLICE_IMPORT => names::member_of_namespace(&step.name.namespace),
        kinds::ENDPOINT_SLICE_EXPORT | kinds::ENDPOINT_SLICE => Some(agent),
        _ => None,
    }
}

/// Since when the exporter knows what a slice is to carry. Export, copy and imported slice share one name.
fn age(picture: &Picture, step: &Step) -> Option<i64> {
    let mut slices = picture.hub.slice_exports.by(&named(&step.name.name));
    let since = slices.next()?.spec.endpoint_slice_reference.exported_since.as_ref()?.0;
    Some(picture.now.duration_since(since).as_secs().max(0))
}
