/// Group of endpoints that are taken into use together, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Position among the ranks that have an accepted exporter.
    Rank(usize),
    /// Drained, silent, or left out by a weight.
    Last,
}
