//! How many imports there are of each kind of outcome.

use fleet_api::ObjectName;
use fleet_api::conditions::standard::IP_FAMILY_NOT_SUPPORTED;
use fleet_api::conditions::{READY, TRUE};
use fleet_plan::conditions::find;
use jiff::Timestamp;

use super::hub::Hub;
use super::state::{Import, ServiceState, is_lost};
use super::trust::{Held, ImportFate};
use crate::Settings;
use crate::snapshot::MemberSnapshot;

/// What became of a ServiceImport, as its user reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportState {
    /// Clients can use it.
    Ready,
    /// It waits.
    Pending,
    /// Another implementation serves it.
    Foreign,
    /// It is kept although the hub lacks it.
    Kept,
    /// This cluster has no addresses of its families.
    Unsupported,
}

impl ImportState {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::Ready, Self::Pending, Self::Foreign, Self::Kept, Self::Unsupported];

    /// Label value in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Pending => "pending",
            Self::Foreign => "foreign",
            Self::Kept => "kept",
            Self::Unsupported => "unsupported",
        }
    }

    fn of(import: &Import, held: Option<Held>) -> Self {
        let ready = find(&import.status.conditions, READY);
        match ready {
            _ if import.hub().is_none() => Self::Foreign,
            _ if held.is_some() => Self::Kept,
            Some(ready) if ready.status == TRUE => Self::Ready,
            Some(ready) if ready.reason == IP_FAMILY_NOT_SUPPORTED => Self::Unsupported,
            _ => Self::Pending,
        }
    }
}

/// How many ServiceImports there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// By what became of them.
    pub states: [(ImportState, usize); 5],
    /// By the reason for which they are kept although the hub lacks them.
    pub held: [(Held, usize); 3],
}

/// Counts the ServiceImports.
pub fn count(settings: &Settings, snapshot: &MemberSnapshot, now: Timestamp) -> Counts {
    let is_lost = is_lost(Hub::of(settings, snapshot), snapshot);
    let imports: Vec<_> = snapshot.standard_imports.iter().collect();
    let held = |import: &Import| held_if(settings, import, snapshot, now, || is_lost);
    let held: Vec<_> = imports.iter().map(|import| held(import)).collect();
    let states = imports.iter().zip(&held).map(|(import, held)| ImportState::of(import, *held));
    let states: Vec<_> = states.collect();
    let of_state = |state| states.iter().filter(|seen| **seen == state).count();
    let for_reason = |why| held.iter().filter(|seen| **seen == Some(why)).count();
    Counts {
        states: ImportState::ALL.map(|state| (state, of_state(state))),
        held: Held::ALL.map(|why| (why, for_reason(why))),
    }
}

/// Why the import of a Service is kept although the hub lacks it, as far as the hub is known.
pub fn held(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Option<Held> {
    let import = snapshot.standard_imports.get(service)?;
    held_if(settings, import, snapshot, now, || is_lost(Hub::of(settings, snapshot), snapshot))
}

fn held_if(
    settings: &Settings,
    import: &Import,
    snapshot: &MemberSnapshot,
    now: Timestamp,
    is_lost: impl FnOnce() -> bool,
) -> Option<Held> {
    import.hub()?;
    let state = ServiceState::of(settings, &import.name, snapshot, now);
    state.hub?;
    match state.fate_if(is_lost) {
        ImportFate::Keep(held) => Some(held),
        ImportFate::Forget => Some(Held::Unsettled),
        ImportFate::Follow | ImportFate::Extend | ImportFate::Remove => None,
    }
}
