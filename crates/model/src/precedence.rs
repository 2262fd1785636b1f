//! Whose ports come first where exports of one Service contradict each other.

/// What the silence of its member means to the order of an export. The verdict is the hub agent's
/// (docs/design/traffic.md#ports-of-silent-members).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precedence {
    /// Its age counts.
    #[default]
    ByAge,
    /// Its member is silent, has not returned yet, or may be silent, and nothing is to change for that: of it counts what is in force.
    AsBefore,
    /// Its member is silent: what only such exports have counts for nothing, as long as the age of any export counts.
    Yields,
}

impl Precedence {
    /// Whether its age counts, and nothing else.
    pub fn is_by_age(self) -> bool {
        self == Self::ByAge
    }
}
