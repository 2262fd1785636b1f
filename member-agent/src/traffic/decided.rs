use std::collections::BTreeMap;

use super::members::MemberMemory;
use super::pace::Turn;
use super::pool::States;
use super::report::Report;
use super::subject::Subject;

/// What a plan has decided about an import, to be remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// The import.
    pub subject: Subject,
    /// Decisions on the Service.
    pub(crate) states: States,
    /// Drains and verdicts.
    pub(crate) members: MemberMemory,
    /// Serials of what the hub has decided about its exporters.
    pub(crate) serials: BTreeMap<String, i64>,
    /// Whether some of that is still to be written.
    pub(crate) is_moving: bool,
    /// When its writes come that are paced.
    pub(crate) turn: Turn,
    /// How many such writes may come in a second.
    pub(crate) per_second: u32,
    /// What is in force.
    pub(crate) report: Option<Report>,
}
