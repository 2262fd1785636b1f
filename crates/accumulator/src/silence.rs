//! Which clusters do not answer any more.

use std::time::{Duration, Instant};

use crate::{ClusterId, Snapshot, SourceSet, SourceState};

/// One sentence for each cluster from which none of its sources in `asked` has received anything for `limit`.
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
    let clusters = [ClusterId::Local, ClusterId::Hub].into_iter().filter(silent);
    clusters
        .map(|cluster| format!("the {cluster} cluster has not answered for {limit:?}"))
        .collect()
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
