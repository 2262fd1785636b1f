//! How kube-proxy 1.34 to 1.36 chooses endpoints of a Service for a node, for zone hints and cluster-wide traffic.

use crate::Shape;

/// An endpoint in a slice that is bound to a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) shape: Shape,
}

impl Bound {
    fn is_ready(&self) -> bool {
        self.shape.conditions.ready
    }
}

/// Places of the endpoints that a node in `zone` uses.
pub(super) fn used(bound: &[Bound], zone: &str) -> Vec<usize> {
    let places = |wanted: &dyn Fn(&Bound) -> bool| -> Vec<usize> {
        let all = bound.iter().enumerate().filter(|(_, one)| wanted(one));
        all.map(|(at, _)| at).collect()
    };
    let names_zone = |one: &Bound| one.shape.zones.contains(zone);
    let ready: Vec<_> = bound.iter().filter(|one| one.is_ready()).collect();
    let all_have_hints = ready.iter().all(|one| !one.shape.zones.is_empty());
    let follows_hints = all_have_hints && ready.iter().any(|one| names_zone(one));
    if ready.is_empty() {
        return places(&|one| one.shape.conditions.is_fallback());
    }
    places(&|one| one.is_ready() && (!follows_hints || names_zone(one)))
}
