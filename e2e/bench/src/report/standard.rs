//! What the bench found of the standard API, beside bare relays and beside the copying front end.

use serde::Serialize;

use super::row::{Percentiles, Row, millis, seconds};

/// The numbers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Standard {
    /// Bare relays with as many hops as the copying front end has.
    pub(crate) four_hops_ms: Percentiles,
    /// Bare relays with as many hops as the standard API has.
    pub(crate) three_hops_ms: Percentiles,
    pub(crate) steady_ms: Percentiles,
    pub(crate) costs: Vec<Cost>,
    pub(crate) import100_s: f64,
    pub(crate) burst100_s: f64,
    pub(crate) mix_rate: f64,
}

/// What one endpoint change costs the hub.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cost {
    pub(crate) importers: usize,
    /// Writes on the hub through the standard API.
    pub(crate) writes: f64,
    /// CPU milliseconds of the hub's API server through the standard API.
    pub(crate) cpu_ms: f64,
    /// The same through the copying front end, where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) copying_cpu_ms: Option<f64>,
}

/// Limits: a steady change over bare relays with a hop more, and with as many.
const OVER_FOUR: f64 = 0.85;
const OVER_THREE: f64 = 1.15;
/// CPU of the hub's API server over that of the copying front end, by the number of importers.
const CPU: [(usize, f64); 2] = [(1, 0.62), (20, 1.0 / 12.0)];
/// Operations on many Services over their bare writes.
const BULK: f64 = 1.2;
/// Writes per Service with one other importer: the user's one, 14 of agents for the first export; the user's, one on the hub and
/// one in each of two clusters for a change.
const IMPORT: f64 = 15.0;
const BURST: f64 = 4.0;
/// Counts of whole writes that were divided.
const EXACT: f64 = 1e-6;

impl Standard {
    pub(super) fn rows(&self) -> Vec<Row> {
        let relays = [
            Row::new("standard: four bare hops, p50", millis(self.four_hops_ms.p50)),
            Row::new("standard: three bare hops, p50", millis(self.three_hops_ms.p50)),
        ];
        let rows = relays.into_iter().chain(self.latency());
        rows.chain(self.costs.iter().flat_map(Cost::rows)).chain(self.bulk()).collect()
    }

    fn latency(&self) -> [Row; 3] {
        let Percentiles { p50, p99 } = self.steady_ms;
        let against = |hops: &str, factor: f64, bare: f64| {
            let limit = format!("{} (x {factor}; is x {:.2})", millis(factor * bare), p50 / bare);
            Row::new(format!("standard: change, p50, over {hops} hops"), millis(p50))
                .limit(p50 <= factor * bare, limit)
        };
        [
            against("four", OVER_FOUR, self.four_hops_ms.p50),
            against("three", OVER_THREE, self.three_hops_ms.p50),
            Row::new("standard: change, p99", millis(p99)),
        ]
    }

    fn bulk(&self) -> [Row; 3] {
        let row = |name: &str, value: f64, writes: f64| {
            let bare = writes / self.mix_rate;
            let limit = format!("{} (x {BULK}; is x {:.2})", seconds(BULK * bare), value / bare);
            Row::new(name, seconds(value)).limit(value <= BULK * bare, limit)
        };
        let rate = format!("{:.0} /s", self.mix_rate);
        [
            row("standard: 100 Services exported", self.import100_s, 100.0 * IMPORT),
            row("standard: 100 endpoint changes at once", self.burst100_s, 100.0 * BURST),
            Row::new("standard: all servers, bare writes", rate),
        ]
    }
}

impl Cost {
    fn rows(&self) -> Vec<Row> {
        let Self { importers, writes, cpu_ms, .. } = *self;
        let each = format!("standard, {importers} importing:");
        let mut rows = vec![
            Row::new(format!("{each} hub writes/change"), format!("{writes:.3}"))
                .limit((writes - 1.0).abs() < EXACT, "exactly 1".to_owned()),
        ];
        let cpu = Row::new(format!("{each} hub CPU/change"), millis(cpu_ms));
        let factor = CPU.iter().find(|(of, _)| *of == importers).map(|(_, factor)| *factor);
        rows.push(match self.copying_cpu_ms.zip(factor) {
            None => cpu,
            Some((copying, factor)) => {
                let ratio = cpu_ms / copying;
                let text = format!("{} (x {factor:.3}; is x {ratio:.3})", millis(factor * copying));
                cpu.limit(ratio <= factor, text)
            }
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> Standard {
        let at = |p50| Percentiles { p50, p99: 2.0 * p50 };
        let cost = |importers, cpu_ms, copying_cpu_ms| Cost {
            importers,
            writes: 1.0,
            cpu_ms,
            copying_cpu_ms,
        };
        Standard {
            four_hops_ms: at(20.0),
            three_hops_ms: at(15.0),
            steady_ms: at(16.0),
            costs: vec![cost(1, 6.0, Some(10.0)), cost(10, 7.0, None), cost(20, 8.0, Some(100.0))],
            import100_s: 4.0,
            burst100_s: 1.0,
            mix_rate: 400.0,
        }
    }

    fn missed(numbers: &Standard) -> Vec<String> {
        let rows = numbers.rows().into_iter();
        rows.filter(|row| row.met == Some(false)).map(|row| row.name).collect()
    }

    #[test]
    fn what_meets_its_limits_is_met() {
        assert!(missed(&numbers()).is_empty());
        assert_eq!(numbers().rows().iter().filter(|row| row.met == Some(true)).count(), 9);
    }

    #[test]
    fn each_limit_can_be_missed() {
        let mut slow = numbers();
        slow.steady_ms.p50 = 17.3;
        slow.costs[0].cpu_ms = 6.3;
        slow.costs[1].writes = 1.01;
        slow.costs[2].cpu_ms = 8.4;
        (slow.import100_s, slow.burst100_s) = (4.6, 1.3);
        let expected = [
            "standard: change, p50, over four hops",
            "standard: change, p50, over three hops",
            "standard, 1 importing: hub CPU/change",
            "standard, 10 importing: hub writes/change",
            "standard, 20 importing: hub CPU/change",
            "standard: 100 Services exported",
            "standard: 100 endpoint changes at once",
        ];
        assert_eq!(missed(&slow), expected);
    }
}
