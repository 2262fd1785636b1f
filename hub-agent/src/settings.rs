//! What the hub agent was told at start, as its rooms see it.

/// Settings of the rooms. Plans are functions of these and of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// One importer per Service in the whole fleet, as the original has it, instead of any number.
    pub exclusive_imports: bool,
}
