use std::collections::BTreeSet;
use std::time::Duration;

use super::members::MemberMemory;
use super::pace::{Noted, Pace};
use super::pool::States;

/// What a plan reads of what earlier plans have decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Recalled {
    /// The time on the clock of all times here.
    pub(crate) now: Duration,
    /// Decisions on the Service.
    pub(crate) states: States,
    /// Drains and verdicts.
    pub(crate) members: MemberMemory,
    /// The incarnation of the hub that is followed; `None` if none was yet.
    pub(crate) followed: Option<String>,
    /// Whether the address of the hub leads to more than one.
    pub(crate) hub_is_inconsistent: bool,
    /// Exporters that have not come back to a hub that was built anew; `None` while it is not known which.
    pub(crate) missing: Option<BTreeSet<String>>,
    /// How much was written, or has a turn.
    pub(crate) pace: Pace,
    /// The writes for the Service that have to wait, if any do.
    pub(crate) noted: Option<Noted>,
}
