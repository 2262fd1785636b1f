//! What the agent dials to prove that imported Services are reached.

/// What is dialled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reachability {
    /// Nothing.
    #[default]
    Off,
    /// Imported endpoints, and the addresses of the Services that they are imported for.
    Addresses,
    /// These, and names are resolved.
    Names,
}

impl Reachability {
    /// Whether anything is dialled.
    pub fn is_on(self) -> bool {
        self != Self::Off
    }

    /// Whether names are resolved.
    pub fn names(self) -> bool {
        self == Self::Names
    }
}
