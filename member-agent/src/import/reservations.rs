//! What is reserved for the endpoints of a Service that is imported.

use fleet_accumulator::Object;
use fleet_api::annotations;
use fleet_model::objects::EndpointSlice;

use super::state::ServiceState;
use crate::reserved::Reservations;

/// What is reserved, with the exception of what serves already.
pub(super) fn of<'a>(state: &'a ServiceState<'a>) -> Reservations<'a> {
    Reservations::new(state.settings, state.snapshot, || imported(state).collect())
}

/// The imported slices of the Service, each with its origin. A Go agent notes none: then it is that of the copy.
fn imported<'a>(
    state: &'a ServiceState<'a>,
) -> impl Iterator<Item = (&'a str, &'a Object<EndpointSlice>)> {
    let noted = state
        .imported()
        .filter_map(|slice| Some((slice.meta.annotation(annotations::ORIGIN_CLUSTER)?, slice)));
    let of_go = state.copies.iter().filter_map(move |copy| {
        let slice = state.snapshot.endpoint_slices.get(&state.in_system(&copy.name.name))?;
        let is_of_go =
            slice.is_imported() && slice.meta.annotation(annotations::ORIGIN_CLUSTER).is_none();
        is_of_go.then(|| (copy.origin(), slice))
    });
    noted.chain(of_go)
}
