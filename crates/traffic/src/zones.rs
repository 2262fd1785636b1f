use std::collections::BTreeSet;

/// Zones that one endpoint can name; the API server refuses more.
pub const MAX_ZONES: usize = 8;

/// The zone of no node: endpoints that name it are used where no endpoint names the node's zone.
pub const REMOTE_ZONE: &str = "fleet.remote";

/// Zones that endpoints of the first rank name, from those named until now and those of the nodes (`""` for nodes without a
/// zone).
///
/// A new zone is named at once. One without nodes stays until the slices are written anyway (`rewriting`), or its place is
/// needed: naming it costs nothing, and a cluster that is scaled to zero every night would cause two writes of each slice.
/// `None` if the nodes have more zones than can be named.
pub fn named_zones(
    named: &BTreeSet<String>,
    nodes: &BTreeSet<String>,
    rewriting: bool,
) -> Option<BTreeSet<String>> {
    if nodes.len() > MAX_ZONES {
        return None;
    }
    let all: BTreeSet<_> = named.union(nodes).cloned().collect();
    Some(if rewriting || all.len() > MAX_ZONES { nodes.clone() } else { all })
}

/// Zones that an own endpoint names where the exported Service prefers close endpoints.
///
/// Its own zone, and all zones of the cluster without a ready own endpoint: so own endpoints come before remote ones in every
/// zone, and those of a node's zone before other own ones. `with_ready` are the zones of ready own endpoints.
pub fn zones_of_own(
    zone: &str,
    with_ready: &BTreeSet<String>,
    named: &BTreeSet<String>,
) -> BTreeSet<String> {
    let uncovered = named.iter().filter(|one| one.is_empty() || !with_ready.contains(*one));
    let own = named.get(zone);
    own.into_iter().chain(uncovered).cloned().collect()
}
