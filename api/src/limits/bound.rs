//! The bound of a field.

/// What a bound counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Entries of a list.
    Entries,
    /// Characters of a text.
    Characters,
}

impl Unit {
    /// The unit in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Entries => "entries",
            Self::Characters => "characters",
        }
    }
}

/// The bound of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Name of the field, in the object that contains it.
    pub field: &'static str,
    /// What is counted.
    pub unit: Unit,
    /// What admission policies let pass, and agents accept when they read an object.
    pub accepted: usize,
    /// What the definition of the kind lets an API server store: never less than Kubernetes does.
    pub stored: usize,
}

pub(super) const fn list(field: &'static str, accepted: usize) -> Bound {
    Bound { field, unit: Unit::Entries, accepted, stored: accepted }
}

pub(super) const fn text(field: &'static str, accepted: usize) -> Bound {
    Bound { field, unit: Unit::Characters, accepted, stored: accepted }
}

impl Bound {
    pub(super) const fn stored(self, stored: usize) -> Self {
        Self { stored, ..self }
    }
}
