//! How much of a Service one exporter may have in this cluster. Importers read what members store on the hub, and a member can
//! store more slices than any Service has.

use std::collections::{BTreeMap, HashSet};

use fleet_accumulator::{Object, Uid};
use fleet_model::objects::multicluster::FleetSlice;

/// Endpoints of one exporter.
const ENDPOINTS: usize = 10_000;
/// How many times as many serve on, if they do already: a Service can grow past the bound without a gap, but not for ever.
const IN_FORCE: usize = 10;
/// As how many endpoints a slice counts at least: each is an object of its own.
const OF_A_SLICE: usize = 10;
/// No slice has more endpoints than that.
const LARGEST: usize = 1000;

/// The slices that are too much, and how many they are by exporter. Those that serve here already come first, so that no Service
/// loses them to others.
#[derive(Debug, Default)]
pub(super) struct Beyond {
    slices: HashSet<Uid>,
    pub(super) by_cluster: BTreeMap<String, usize>,
}

impl Beyond {
    pub(super) fn of(
        slices: &[&Object<FleetSlice>],
        serves: impl Fn(&Object<FleetSlice>) -> bool,
    ) -> Self {
        let mut beyond = Self::default();
        if slices.len() <= ENDPOINTS / LARGEST {
            return beyond;
        }
        let mut order: Vec<_> = slices.iter().map(|slice| (!serves(slice), *slice)).collect();
        order.sort_by(|(a, one), (b, other)| (a, &one.name).cmp(&(b, &other.name)));
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (is_new, slice) in order {
            let Some(cluster) = slice.cluster() else { continue };
            let count = counts.entry(cluster).or_default();
            *count += slice.len().max(OF_A_SLICE);
            if *count > if is_new { ENDPOINTS } else { IN_FORCE * ENDPOINTS } {
                beyond.slices.insert(slice.uid.clone());
                *beyond.by_cluster.entry(cluster.to_owned()).or_default() += 1;
            }
        }
        beyond
    }

    pub(super) fn has(&self, slice: &Object<FleetSlice>) -> bool {
        self.slices.contains(&slice.uid)
    }
}
