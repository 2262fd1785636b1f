//! The derived Service that imported slices are bound to.

use fleet_api::{ObjectName, names};

use super::stages::Prepared;
use super::state::{Mcs, ServiceState};

/// A derived Service and the holder of the import.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound<'a> {
    pub(super) derived: &'a ObjectName,
    pub(super) holder: &'a Mcs,
}

/// The derived Service that imported slices are bound to.
#[derive(Debug)]
pub(super) enum Binding<'a> {
    /// This one.
    Bound(Bound<'a>),
    /// One that does not exist yet: imported slices stay, no new one is imported.
    Waiting,
    /// None: no MultiClusterService imports the Service.
    Unbound,
}

/// What a slice needs to bind (MESI-2, MESI-4, MESI-5). The label is right when nothing has to be written to the
/// MultiClusterService; until then the next plan binds.
pub(super) fn binding<'a>(
    state: &ServiceState<'_>,
    prepared: Option<(&'a Mcs, &'a Prepared)>,
) -> Binding<'a> {
    let Some((holder, prepared)) = prepared else { return Binding::Unbound };
    let Some(name) = &prepared.derived else { return Binding::Waiting };
    let derived = state.snapshot.services.get(name);
    let live = derived.is_some_and(|derived| !derived.meta.is_terminating());
    if live && prepared.write.is_none() && names::is_dns1035_label(&name.name) {
        Binding::Bound(Bound { derived: name, holder })
    } else {
        Binding::Waiting
    }
}
