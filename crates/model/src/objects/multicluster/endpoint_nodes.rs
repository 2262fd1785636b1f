//! Nodes of endpoints.

use std::collections::HashMap;
use std::sync::Arc;

use fleet_accumulator::shared_text;

/// Stands for no Node: a slice has at most a thousand endpoints.
const NONE: u16 = u16::MAX;

/// The Node of each endpoint, in their order; no allocation where no endpoint has one. A slice has fewer Nodes than endpoints, and
/// a cluster has many slices on the same Nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::objects) struct EndpointNodes {
    names: Box<[Arc<str>]>,
    /// For each endpoint the place of its Node among the names.
    places: Box<[u16]>,
}

impl EndpointNodes {
    /// Keeps these names.
    pub(in crate::objects) fn of<'a>(nodes: impl Iterator<Item = Option<&'a str>>) -> Self {
        let mut known: HashMap<&str, u16> = HashMap::new();
        let mut names = Vec::new();
        let mut place = |node: &'a str| {
            *known.entry(node).or_insert_with(|| {
                names.push(shared_text(node));
                u16::try_from(names.len() - 1).unwrap_or(NONE)
            })
        };
        let places: Box<[u16]> = nodes.map(|node| node.map_or(NONE, &mut place)).collect();
        if names.is_empty() { Self::default() } else { Self { names: names.into(), places } }
    }

    /// The names; none at all if no endpoint has one.
    pub(in crate::objects) fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        let name = |place: &u16| self.names.get(usize::from(*place)).map(|name| &**name);
        self.places.iter().map(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_and_in_order() {
        let names = [Some("node-1"), None, Some("node-2"), Some("node-1")];
        let nodes = EndpointNodes::of(names.into_iter());
        assert!(nodes.iter().eq(names));
        assert_eq!(nodes.names.len(), 2);
        let other = EndpointNodes::of([Some("node-2")].into_iter());
        assert!(Arc::ptr_eq(&nodes.names[1], &other.names[0]));
    }

    #[test]
    fn endpoints_without_nodes_take_no_room() {
        assert_eq!(EndpointNodes::of([None, None].into_iter()), EndpointNodes::default());
    }
}
