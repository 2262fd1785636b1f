//! Events about what is not imported.

use fleet_accumulator::Object;
use fleet_api::{ExportedSliceSpec, events};
use fleet_model::objects::EndpointSliceImport;
use fleet_model::steps::LOCAL;
use fleet_plan::Event;

use super::state::Mcs;
use crate::measurement::Plan;
use crate::sanitize::Sanitized;

/// The Events about entries that are not imported, or would not be if they were new.
pub(super) fn report(
    holder: &Mcs,
    copy: &Object<EndpointSliceImport>,
    (spec, content): (&ExportedSliceSpec, &Sanitized<'_>),
    plan: &mut Plan,
) {
    let what = content.skipped(spec);
    plan.events.extend(what.map(|what| skipped(holder, copy, &what)));
    let (slice, cluster) = (&copy.name.name, copy.origin());
    plan.events.extend(content.refused.described().map(|which| {
        let count = content.refused.count;
        let note = format!(
            "skipped {count} endpoints of EndpointSlice {slice} from cluster {cluster:?}: {which}; if the addresses are \
             that cluster's, an administrator of this cluster can allow them with --allowed-reserved-cidrs"
        );
        LOCAL.warning(holder, events::ENDPOINTS_REFUSED, note)
    }));
    plan.events.extend(content.in_force.described().map(|which| {
        let count = content.in_force.count;
        let note = format!(
            "kept {count} endpoints of EndpointSlice {slice} from cluster {cluster:?}, since this import had such addresses \
             already: {which}; if it is imported anew, they are skipped unless --allowed-reserved-cidrs allows them"
        );
        LOCAL.warning(holder, events::ENDPOINTS_RESERVED, note)
    }));
}

/// The Event about invalid entries of a slice.
pub(super) fn skipped(holder: &Mcs, copy: &Object<EndpointSliceImport>, what: &str) -> Event {
    let (slice, cluster) = (&copy.name.name, copy.origin());
    let note = format!(
        "skipped invalid entries of EndpointSlice {slice} from cluster {cluster:?} ({what})"
    );
    LOCAL.warning(holder, events::ENDPOINTS_REFUSED, note)
}
