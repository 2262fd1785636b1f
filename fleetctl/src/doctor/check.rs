//! One check: a row of the table.

use super::finding::Outcome;
use super::seen::{Hub, Seen};
use super::subject::Subject;

/// A check.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name, as the output has it.
    pub name: &'static str,
    /// What it looks at, which the output has where all is well.
    pub looks_at: &'static str,
    /// How it looks.
    pub examine: Examine,
}

impl Check {
    /// A check of the hub.
    pub(super) const fn hub(
        name: &'static str,
        looks_at: &'static str,
        examine: fn(&Seen, &Hub) -> Outcome,
    ) -> Self {
        Self { name, looks_at, examine: Examine::Hub(examine) }
    }

    /// A check of each member.
    pub(super) const fn member(
        name: &'static str,
        looks_at: &'static str,
        examine: fn(&Subject<'_>) -> Outcome,
    ) -> Self {
        Self { name, looks_at, examine: Examine::Member(examine) }
    }

    /// A check of each member that takes part in the standard API.
    pub(super) const fn participant(
        name: &'static str,
        looks_at: &'static str,
        examine: fn(&Subject<'_>) -> Outcome,
    ) -> Self {
        Self { name, looks_at, examine: Examine::Participant(examine) }
    }
}

/// What a check is about. Each function is pure.
#[derive(Clone, Copy, Debug)]
pub enum Examine {
    /// The hub.
    Hub(fn(&Seen, &Hub) -> Outcome),
    /// Each member whose cluster could be read.
    Member(fn(&Subject<'_>) -> Outcome),
    /// Those of them that take part in the standard API.
    Participant(fn(&Subject<'_>) -> Outcome),
}
