//! Which clusters, and which sources of a cluster that answers, do not get through any more.

use std::time::{Duration, Instant};

use crate::{ClusterId, Snapshot, SourceSet, SourceState};

/// One sentence for each cluster from which none of its sources in `asked` has received anything for `limit`, and for
/// each source of which that is so while others of its cluster get through.
pub(crate) fn silent<S: Snapshot>(
    snapshot: &S,
    asked: SourceSet,
    now: Instant,
    limit: Duration,
) -> Vec<String> {
    let silent = |cluster: &ClusterId| {
        let asked = S::sources().iter().filter(|source| asked.contains(source.id));
        let own = asked.filter(|source| source.cluster == *cluster);
        silent_since(own.map(|source| snapshot.state(source.id)))
            .is_some_and(|since| now.saturating_duration_since(since) >= limit)
    };
    let (whole, part): (Vec<_>, Vec<_>) =
        [ClusterId::Local, ClusterId::Hub].into_iter().partition(silent);
    let stale = S::sources().iter().filter(|source| {
        asked.contains(source.id)
            && part.contains(&source.cluster)
            && silent_since(std::iter::once(snapshot.state(source.id)))
                .is_some_and(|since| now.saturating_duration_since(since) >= limit)
    });
    let stale = stale.map(|source| {
        let (plural, cluster) = (source.kind.resource(), source.cluster);
        format!("{plural} of the {cluster} cluster: nothing received for {limit:?}")
    });
    let clusters =
        whole.iter().map(|cluster| format!("the {cluster} cluster has not answered for {limit:?}"));
    clusters.chain(stale).collect()
}

/// When the last of these sources stopped to get through; `None` while one of them does. A refusal
/// is an answer.
fn silent_since<'a>(states: impl Iterator<Item = &'a SourceState>) -> Option<Instant> {
    let since = states.map(|state| match state {
        SourceState::Stale { since, .. } => Some(*since),
        _ => None,
    });
    since.collect::<Option<Vec<_>>>()?.into_iter().max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stale(since: Instant) -> SourceState {
        SourceState::Stale { since, message: "away".into() }
    }

    #[test]
    fn a_cluster_is_silent_since_its_last_source_was() {
        let first = Instant::now();
        let last = first + Duration::from_secs(20);
        assert_eq!(silent_since([stale(first), stale(last)].iter()), Some(last));
    }

    #[test]
    fn a_source_that_gets_through_or_is_refused_speaks_for_all() {
        let since = Instant::now();
        let refused =
            SourceState::Forbidden { since, verb: "watch", message: "not allowed".into() };
        for state in [SourceState::Live, SourceState::Missing { since }, refused] {
            assert_eq!(silent_since([stale(since), state].iter()), None);
        }
    }
}
