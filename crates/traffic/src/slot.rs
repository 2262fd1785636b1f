/// Place of an endpoint in the order in which kube-proxy takes endpoints into use (docs/design/traffic.md#slots).
///
/// Ordered from the best place to the worst. Decisions are per port; an endpoint of several ports gets the best of its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// Ready, and names the zones of this cluster: in use whenever one such endpoint is ready.
    First,
    /// Ready, and names a zone without nodes: in use while no `First` is ready.
    Second,
    /// Ready, without hints: one pool. Never beside `First` and `Second`, since one ready endpoint without hints makes
    /// kube-proxy ignore those of all others.
    Pool,
    /// Serving and terminating: in use while nothing is ready.
    LastResort,
    /// Not in the EndpointSlice.
    Out,
}

impl Slot {
    /// Whether an endpoint here keeps the ready condition that its exporter reports.
    pub fn is_ready(self) -> bool {
        self < Slot::LastResort
    }
}
