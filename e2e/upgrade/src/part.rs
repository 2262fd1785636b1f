//! What an upgrade replaces, and in which orders.

use std::fmt;

use fleet_testbed::agents::Agent;

/// Position of the first member.
pub(crate) const EAST: usize = 0;
/// Position of the second member.
pub(crate) const WEST: usize = 1;

/// What one step of an upgrade replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The hub's agent, or that of a member.
    Agent(Agent),
    /// The charts of all clusters: definitions, rights, policies.
    Charts,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agent(Agent::Hub) => "hub agent",
            Self::Agent(Agent::Member(EAST)) => "east's agent",
            Self::Agent(Agent::Member(_)) => "west's agent",
            Self::Charts => "charts",
        })
    }
}

/// Whether a step upgrades or rolls back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Direction {
    /// From the release to this checkout.
    Forward,
    /// From this checkout to the release.
    Back,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Forward { "forward" } else { "back" })
    }
}

/// Every order of the four parts.
pub(crate) fn orders() -> Vec<Vec<Part>> {
    let agents = [Agent::Hub, Agent::Member(EAST), Agent::Member(WEST)].map(Part::Agent);
    permutations(&[Part::Charts, agents[0], agents[1], agents[2]])
}

fn permutations(parts: &[Part]) -> Vec<Vec<Part>> {
    let [_, ..] = parts else { return vec![Vec::new()] };
    let firsts = parts.iter().flat_map(|&first| {
        let others: Vec<Part> = parts.iter().copied().filter(|&part| part != first).collect();
        let rests = permutations(&others);
        rests.into_iter().map(move |rest| [vec![first], rest].concat())
    });
    firsts.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_order_is_there_once() {
        let orders = orders();
        assert_eq!(orders.len(), 24);
        assert_eq!(orders.iter().collect::<BTreeSet<_>>().len(), 24);
        assert!(orders.iter().all(|order| order.iter().collect::<BTreeSet<_>>().len() == 4));
    }
}
