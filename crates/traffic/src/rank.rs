use crate::selector::{ClusterSelector, Properties};

/// Which clusters an importer prefers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    /// None: one pool.
    #[default]
    None,
    /// The importing cluster itself, then all others.
    LocalFirst,
    /// Clusters of the first selector, then those of the second, and so on.
    Selectors(Vec<ClusterSelector>),
}

/// What becomes of clusters that no selector selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallback {
    /// They are the last rank.
    #[default]
    All,
    /// They are not used.
    None,
}

impl Preference {
    /// Rank of an exporter: the index of the first selector that selects it, or the one behind the last. `None` if it is not
    /// used. `own` is whether it is the importer itself.
    pub fn rank(
        &self,
        fallback: Fallback,
        own: bool,
        exporter: &Properties,
        importer: &Properties,
    ) -> Option<usize> {
        let (selected, selectors) = match self {
            Self::None => return Some(0),
            Self::LocalFirst => (own.then_some(0), 1),
            Self::Selectors(all) => {
                (all.iter().position(|one| one.selects(exporter, importer)), all.len())
            }
        };
        selected.or_else(|| (fallback == Fallback::All).then_some(selectors))
    }
}
