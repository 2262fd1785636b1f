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
    /// What the last release does not have is switched on or off.
    Additions,
    /// The Pods of all agents, by others of the same versions.
    Pods,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agent(Agent::Hub) => "hub agent",
            Self::Agent(Agent::Member(EAST)) => "east's agent",
            Self::Agent(Agent::Member(_)) => "west's agent",
            Self::Charts => "charts",
            Self::Additions => "what is new",
            Self::Pods => "all agents, with these",
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

/// The ways there and back: each order of the four parts is a way there once, and a way back once. On the first and on the last, where
/// the charts come first and last, the additions are in use between the two.
pub(crate) fn rolls() -> Vec<[Vec<Part>; 2]> {
    let orders = orders();
    let backs = orders.iter().rev().cloned();
    let mut rolls: Vec<_> = orders.iter().cloned().zip(backs).map(Into::into).collect();
    let last = rolls.len() - 1;
    for number in [0, last] {
        let [there, back]: &mut [Vec<Part>; 2] = &mut rolls[number];
        there.extend([Part::Additions, Part::Pods]);
        back.insert(0, Part::Additions);
    }
    rolls
}

/// Every order of the four parts.
fn orders() -> Vec<Vec<Part>> {
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

    #[test]
    fn additions_are_in_use_only_where_all_parts_are_new() {
        let rolls = rolls();
        let (there, back): (BTreeSet<_>, BTreeSet<_>) =
            rolls.iter().map(|[there, back]| (&there[..4], &back[back.len() - 4..])).unzip();
        assert_eq!((there.len(), back.len()), (24, 24));
        let with_additions = rolls.iter().filter(|[there, back]| {
            there[4..] == [Part::Additions, Part::Pods] && back[0] == Part::Additions
        });
        assert_eq!(with_additions.count(), 2);
        assert_eq!(rolls.iter().map(|[there, back]| there.len() + back.len()).sum::<usize>(), 198);
    }
}
