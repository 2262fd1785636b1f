use crate::slot::Slot;
use crate::source::Source;

/// What one cluster gets of the new connections of nodes whose zone is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Name of the cluster.
    pub cluster: String,
    /// Its ready endpoints.
    pub ready: usize,
    /// Those that kube-proxy uses now.
    pub used: usize,
    /// Expected percentage, rounded to the nearest.
    pub percent: u8,
}

/// The shares of all sources, from the slots of their endpoints: kube-proxy picks evenly among the endpoints in use.
pub fn shares(sources: &[Source], slots: &[Vec<Slot>]) -> Vec<Share> {
    let best = best(sources, slots);
    let used: Vec<_> =
        sources.iter().zip(slots).map(|(source, slots)| used(source, slots, best)).collect();
    let all: usize = used.iter().sum();
    let share = |(source, used): (&Source, usize)| Share {
        cluster: source.cluster.clone(),
        ready: source.endpoints.iter().filter(|one| one.conditions.ready).count(),
        used,
        percent: percent(used, all),
    };
    sources.iter().zip(used).map(share).collect()
}

/// The slot in use: the best one with a ready endpoint.
fn best(sources: &[Source], slots: &[Vec<Slot>]) -> Option<Slot> {
    let pairs = sources.iter().zip(slots);
    let ready = pairs.flat_map(|(source, slots)| {
        let pairs = source.endpoints.iter().zip(slots);
        pairs.filter(|(one, slot)| one.conditions.ready && slot.is_ready()).map(|(_, slot)| *slot)
    });
    ready.min()
}

fn used(source: &Source, slots: &[Slot], best: Option<Slot>) -> usize {
    let pairs = source.endpoints.iter().map(|one| one.conditions).zip(slots);
    let used = pairs.filter(|(conditions, slot)| match best {
        Some(best) => conditions.ready && **slot == best,
        // What terminates is last resort wherever it is.
        None => **slot != Slot::Out && (conditions.ready || conditions.is_fallback()),
    });
    used.count()
}

fn percent(used: usize, all: usize) -> u8 {
    if all == 0 {
        return 0;
    }
    u8::try_from((used * 200 + all) / (2 * all)).unwrap_or(100)
}
