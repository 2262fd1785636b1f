//! What the bench found of Pods that run in another member.

use serde::Serialize;

use super::row::{Row, millis};

/// The numbers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Offload {
    pub(crate) at: Vec<AtDistance>,
    /// Writes of all agents for one Pod.
    pub(crate) writes: usize,
}

/// With the hub at one distance.
#[allow(clippy::struct_field_names, reason = "keys of the report have their unit")]
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct AtDistance {
    /// Milliseconds to the hub and back.
    pub(crate) round_trip_ms: f64,
    /// From the binding of a Pod until the remote one is there.
    pub(crate) created_ms: Tail,
    /// From when it is ready there until it is ready in the origin.
    pub(crate) ready_ms: Tail,
    /// From its deletion until it is gone, with an executor that needs no time.
    pub(crate) gone_ms: Tail,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Tail {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
}

/// Limits in milliseconds by the distance of the hub: created, ready.
const LIMITS: [(f64, f64, f64); 2] = [(0.0, 300.0, 150.0), (50.0, 2000.0, 1000.0)];
/// The original, by its code: queues that a token bucket paces, and a status that is asked for every 5 s.
const CREATED: &str = "at most 10 /s after 100";
const READY: &str = "asked every 5 s";

impl Offload {
    pub(super) fn rows(&self) -> Vec<Row> {
        let rows = self.at.iter().flat_map(AtDistance::rows);
        let writes = Row::new("offload: writes per Pod's life", self.writes.to_string());
        rows.chain([writes]).collect()
    }
}

impl AtDistance {
    fn rows(&self) -> [Row; 3] {
        let Self { round_trip_ms, created_ms, ready_ms, gone_ms } = *self;
        let limits = LIMITS.iter().find(|(at, ..)| (*at - round_trip_ms).abs() < f64::EPSILON);
        let row = |what: &str, tail: Tail, limit: Option<f64>| {
            let row =
                Row::new(format!("offload, {round_trip_ms} ms: {what}, p95"), millis(tail.p95));
            match limit {
                Some(limit) => row.limit(tail.p95 <= limit, millis(limit)),
                None => row,
            }
        };
        [
            row("bound, created", created_ms, limits.map(|(_, created, _)| *created))
                .original(CREATED),
            row("ready, ready here", ready_ms, limits.map(|(.., ready)| *ready)).original(READY),
            row("deleted, gone", gone_ms, None),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(round_trip_ms: f64, p95: f64) -> AtDistance {
        let tail = Tail { p50: 1.0, p95 };
        AtDistance { round_trip_ms, created_ms: tail, ready_ms: tail, gone_ms: tail }
    }

    #[test]
    fn each_distance_has_limits() {
        let missed = |at| {
            let rows = Offload { at: vec![at], writes: 1 }.rows().into_iter();
            rows.filter(|row| row.met == Some(false)).map(|row| row.name).collect::<Vec<_>>()
        };
        assert!(missed(at(0.0, 150.0)).is_empty() && missed(at(50.0, 1000.0)).is_empty());
        assert_eq!(missed(at(0.0, 151.0)), ["offload, 0 ms: ready, ready here, p95"]);
        assert_eq!(missed(at(50.0, 2001.0)).len(), 2);
    }
}
