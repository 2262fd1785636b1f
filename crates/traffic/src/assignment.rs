use std::collections::{BTreeMap, BTreeSet};

use crate::layout::Layout;
use crate::portion::last_resort_of;
use crate::rendezvous::{Place, Seed};
use crate::slot::Slot;
use crate::source::Source;
use crate::subset::Sizes;
use crate::tier::Tier;

/// Position of an endpoint in the input: its source, and its place in that source.
pub(crate) type Index = (usize, usize);

/// The order in which endpoints of the sources are taken.
pub(crate) struct Order {
    places: Vec<Vec<Place>>,
}

impl Order {
    pub(crate) fn new(seed: &Seed, sources: &[Source]) -> Self {
        let places = |source: &Source| {
            source.endpoints.iter().map(|one| seed.place(&source.cluster, one)).collect()
        };
        Self { places: sources.iter().map(places).collect() }
    }

    pub(crate) fn place(&self, (source, endpoint): Index) -> Place {
        self.places[source][endpoint]
    }
}

/// Ready endpoints of a source that are not last resort, in order.
pub(crate) fn available(index: usize, source: &Source, order: &Order) -> Vec<Index> {
    let endpoints = source.endpoints.iter().enumerate();
    let ready = endpoints.filter(|(_, one)| one.conditions.ready);
    let mut ready: Vec<(u8, Index)> = ready
        .filter_map(|(at, one)| Some((source.last_resort_percent_of(one)?, (index, at))))
        .collect();
    // Those of one percentage are together: exporters can drain of which endpoints run here.
    ready.sort_by_key(|(percent, at)| (*percent, order.place(*at)));
    let mut available: Vec<Index> = Vec::new();
    for alike in ready.chunk_by(|(a, _), (b, _)| a == b) {
        let last = last_resort_of(alike[0].0, alike.len());
        available.extend(alike[last..].iter().map(|(_, at)| *at));
    }
    available.sort_by_key(|at| order.place(*at));
    available
}

/// The tier of every endpoint, `None` for what is out of use. `sizes` are by rank position; a rank without takes all.
pub(crate) fn tiers(
    layout: &Layout,
    sources: &[Source],
    available: &[Vec<Index>],
    sizes: &BTreeMap<usize, Sizes>,
) -> Vec<Vec<Option<Tier>>> {
    let of_source = |(source, available): (&Source, &Vec<Index>)| {
        let position = source.rank.and_then(|rank| layout.position(rank));
        let Some(position) = position.filter(|_| !source.is_out()) else {
            return vec![None; source.endpoints.len()];
        };
        let size = sizes.get(&position).map_or(available.len(), |sizes| sizes.of(&source.cluster));
        let chosen: BTreeSet<_> = available.iter().take(size).map(|(_, at)| *at).collect();
        let endpoints = source.endpoints.iter().enumerate();
        let tiers = endpoints.map(|(at, one)| {
            let drained = source.last_resort_percent_of(one)? >= 100;
            // One that is not ready keeps its rank: its slot is that in which it returns.
            let in_rank = chosen.contains(&at) || (!one.conditions.ready && !drained);
            Some(if in_rank { Tier::Rank(position) } else { Tier::Last })
        });
        tiers.collect()
    };
    sources.iter().zip(available).map(of_source).collect()
}

/// Tiers with a ready endpoint.
pub(crate) fn ready_tiers(sources: &[Source], tiers: &[Vec<Option<Tier>>]) -> BTreeSet<Tier> {
    let pairs = sources.iter().zip(tiers).flat_map(|(source, tiers)| {
        source.endpoints.iter().map(|one| one.conditions.ready).zip(tiers)
    });
    pairs.filter(|(ready, _)| *ready).filter_map(|(_, tier)| *tier).collect()
}

/// The slot of every endpoint.
pub(crate) fn slots(
    layout: &Layout,
    tiers: &[Vec<Option<Tier>>],
    promoted: Option<Tier>,
    lent: &BTreeSet<Index>,
) -> Vec<Vec<Slot>> {
    let slot = |index: Index, tier: Option<Tier>| match tier {
        None => Slot::Out,
        Some(_) if lent.contains(&index) => layout.lent(),
        Some(tier) if Some(tier) == promoted => layout.promoted(),
        Some(tier) => layout.slot(tier),
    };
    let of_source = |(source, tiers): (usize, &Vec<Option<Tier>>)| {
        tiers.iter().enumerate().map(|(at, tier)| slot((source, at), *tier)).collect()
    };
    tiers.iter().enumerate().map(of_source).collect()
}
