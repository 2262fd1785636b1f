//! Waiting until the view shows what was written.

use std::time::Duration;

use fleet_accumulator::{Accumulator, Expectation, Lookup, Snapshot, SourceSet, Until};
use fleet_plan::Precondition;

use crate::clock::monotonic as now;
use crate::metrics::ControllerMetrics;
use crate::writer::Writer;

/// How long the view may take. It usually has the event before the answer to the write is read.
const DEADLINE: Duration = Duration::from_secs(5);
/// Objects that are read at most before the key goes back. A plan may have written a thousand, one read takes as long as an
/// overloaded API server likes, and nothing of the key is removed meanwhile.
const READ_AT_MOST: usize = 8;

/// How a view relates to what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// It shows what was written.
    Current,
    /// It shows what the server has, which is not what the answers to the writes contained: another
    /// writer was faster, or an answer was wrong.
    Diverged,
    /// It does not show it yet.
    Stale,
}

/// Waits until a controller that reads `reads` sees `expectations`.
///
/// Some of what it does not show in time is read from the server, and the view gets a second chance to show
/// that, and the rest. A view that is still behind is not planned on at once: the key goes back to the queue with
/// a delay. Its preconditions keep an old plan from doing harm.
pub(super) async fn await_own_writes<S: Snapshot>(
    accumulator: &Accumulator<S>,
    writer: &Writer,
    reads: SourceSet,
    expectations: Vec<Expectation>,
    metrics: &ControllerMetrics,
) -> Freshness {
    if expectations.is_empty() {
        return Freshness::Current;
    }
    let answered = now();
    let unmet = accumulator.wait(reads, expectations, DEADLINE).await;
    if unmet.is_empty() {
        metrics.own_write_seen.observe(now().duration_since(answered).as_secs_f64());
        return Freshness::Current;
    }
    let mut renewed = Vec::with_capacity(unmet.len());
    let (mut read, mut answers) = (0, true);
    for expectation in unmet {
        let Expectation { cluster, kind, ref name, .. } = expectation;
        let shown = accumulator.snapshot();
        if expectation.is_met(&*shown, reads) {
            continue;
        }
        metrics.own_write_timeouts.inc();
        if read == READ_AT_MOST || !answers {
            renewed.push(expectation);
            continue;
        }
        read += 1;
        let found = writer.get(cluster, &kind, name).await;
        answers = found.is_ok();
        if let Ok(Some(found)) = &found
            && is_older(found, &shown.lookup(reads, cluster, &kind, name))
        {
            accumulator.relist(cluster);
        }
        tracing::warn!(
            %cluster, kind = kind.label(), namespace = &*name.namespace, name = &*name.name, expected = ?expectation.until, ?found,
            "Timed out waiting to observe own write"
        );
        renewed.extend(match found {
            Ok(found) => renew(expectation, found),
            Err(_) => Some(expectation),
        });
    }
    let unmet = accumulator.wait(reads, renewed, DEADLINE).await;
    if unmet.is_empty() { Freshness::Diverged } else { Freshness::Stale }
}

/// Whether the server has an older version of an object than the view that was there before it was asked: it went back in
/// time, and a watch does not report that.
fn is_older(found: &Precondition, shown: &Lookup<'_>) -> bool {
    let Lookup::Present { uid, version } = shown else { return false };
    found.uid == **uid && found.version.is_at_least(version) == Some(false)
}

/// What to expect now that the server answered what is there.
fn renew(expectation: Expectation, found: Option<Precondition>) -> Option<Expectation> {
    let until = match (found, expectation.until) {
        (Some(Precondition { uid, version }), _) => Until::AtLeast { uid, version },
        (None, Until::AtLeast { uid, .. } | Until::NewerThan { uid, .. } | Until::Gone { uid }) => {
            Until::Gone { uid }
        }
        // It existed, and is gone again: nothing that a view could be behind of.
        (None, Until::Present) => return None,
    };
    Some(Expectation { until, ..expectation })
}

#[cfg(test)]
mod tests {
    use fleet_accumulator::{ClusterId, Uid};
    use fleet_api::{ObjectName, kinds};

    use super::*;

    fn renewed(until: Until, found: Option<Precondition>) -> Option<Until> {
        let name = ObjectName::new("team", "shop");
        let expectation =
            Expectation { cluster: ClusterId::Hub, kind: kinds::SERVICE, name, until };
        renew(expectation, found).map(|expectation| expectation.until)
    }

    #[test]
    fn only_an_older_version_of_the_same_object_shows_a_server_of_another_time() {
        let found = Precondition { uid: "u1".into(), version: "5".into() };
        let (same, other): (Uid, Uid) = ("u1".into(), "u2".into());
        for (uid, version, older) in [(&same, "6", true), (&same, "5", false), (&other, "6", false)]
        {
            let version = version.into();
            assert_eq!(is_older(&found, &Lookup::Present { uid, version: &version }), older);
        }
        assert!(!is_older(&found, &Lookup::Absent));
    }

    #[test]
    fn the_server_decides_what_to_wait_for() {
        let there = Precondition { uid: "u2".into(), version: "9".into() };
        let shown = Until::AtLeast { uid: "u2".into(), version: "9".into() };
        let gone = Until::Gone { uid: "u1".into() };
        let newer = Until::NewerThan { uid: "u1".into(), version: "5".into() };
        let at_least = Until::AtLeast { uid: "u1".into(), version: "5".into() };
        for until in [gone.clone(), newer, at_least] {
            assert_eq!(renewed(until.clone(), None), Some(gone.clone()));
            assert_eq!(renewed(until, Some(there.clone())), Some(shown.clone()));
        }
        assert_eq!(renewed(Until::Present, None), None);
        assert_eq!(renewed(Until::Present, Some(there)), Some(shown));
    }
}
