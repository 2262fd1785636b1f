//! What the bench found: `report.json` for machines and a table for people.

mod offload;
mod reach;
mod row;
mod standard;

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

pub(super) use offload::{AtDistance, Offload, Tail};
pub(super) use reach::Reach;
pub(super) use row::{Percentiles, rounded};
use row::{Row, line, millis, seconds};
pub(super) use standard::{Cost, Standard};

/// The numbers, by the names that others look for. What was not measured is missing.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) floor_ms: Option<Median>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chain_ms: Option<Percentiles>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mix_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) steady_ms: Option<Percentiles>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) policies_ms: Option<Checked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) burst100_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) import100_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) withdraw100_s: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) beside: Vec<Against>,
    /// In the last fleet of `beside`, with others at work or in the way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) disturbed: Vec<Against>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hostile_ms: Option<Checked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) flood: Option<Flooded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) import1000_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) burst1000_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) writes: Option<WriteNumbers>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) standard: Option<Standard>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offload: Option<Offload>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reach: Option<Reach>,
    /// CPU of the hub's API server per exported slice that is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) managed_fields_ms: Option<Checked>,
    /// The same with admission policies and without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) checked_write_ms: Option<Checked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpu_s: Option<PerAgent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rss_mib: Option<PerAgent>,
    /// Lines below the table: what helps to understand the numbers.
    #[serde(skip)]
    pub(super) notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Median {
    pub(super) p50: f64,
}

/// Medians without and with something: of a steady change with the hub's admission policies, of a Service that crosses while
/// another member stores thousands of ports; of the CPU time of a write with `managedFields`.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Checked {
    pub(super) without: f64,
    pub(super) with: f64,
}

/// A steady change against bare relays in the same minutes, beside others in the fleet.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Against {
    pub(super) name: &'static str,
    pub(super) chain: Percentiles,
    pub(super) steady: Percentiles,
}

/// A steady change before another member floods the hub, and while it does.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Flooded {
    pub(super) before: Against,
    pub(super) during: Against,
}

/// API writes per operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct WriteNumbers {
    pub(super) first: usize,
    pub(super) change: usize,
    pub(super) unexport: usize,
    pub(super) mcs_delete: usize,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct PerAgent {
    pub(super) hub: f64,
    pub(super) member: f64,
}

/// Limits: steady change over bare relays, bulk operations over their bare writes, writes per operation.
const STEADY_P50: f64 = 1.25;
const STEADY_P99: f64 = 1.5;
/// How much the ratio to bare relays may grow beside others, median and tail.
const DISTURBED_P50: f64 = 1.2;
const DISTURBED_P99: f64 = 2.0;
/// How much longer a Service may take to cross while another member stores thousands of ports.
const HOSTILE: f64 = 1.2;
/// How much longer the tail may be while another member floods the hub than it was before.
const FLOODED_P99: f64 = 2.0;
/// How much longer than their writes alone, at the rate that the same API servers reach without agents (`mix_rate`), bulk
/// operations may take. 100 Services: 5, 1.5 and 5 s where the servers do 600 writes a second.
const IMPORT100: f64 = 1.6;
const BURST100: f64 = 2.25;
const WITHDRAW100: f64 = 1.2;
const THOUSAND: f64 = 1.5;
/// Writes per Service: 17 of agents and two of users per first export and import, 3 and the user's own per change, 24 and
/// two of users per withdrawal.
const IMPORT: f64 = 19.0;
const BURST: f64 = 4.0;
const WITHDRAWAL: f64 = 26.0;
const HUNDRED: [&str; 3] = [
    "100 Services exported and imported",
    "100 endpoint changes at once",
    "100 Services withdrawn",
];
const WRITES: WriteNumbers = WriteNumbers { first: 17, change: 3, unexport: 14, mcs_delete: 10 };

/// The Go original on a machine of 2 cores, for comparison.
mod original {
    pub(super) const STEADY: &str = "197 / 400 ms";
    pub(super) const BURST100: &str = "20 s";
    pub(super) const IMPORT100: &str = "62.7 s";
    pub(super) const WITHDRAW100: &str = "238 s";
    pub(super) const WRITES: [&str; 4] = ["36", "5", "19", "11"];
}

impl Report {
    /// Writes `report.json`.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut text = serde_json::to_string_pretty(&self)?;
        text.push('\n');
        std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
    }

    /// Names of the limits that were missed.
    pub(super) fn missed(&self) -> Vec<String> {
        self.rows().into_iter().filter(|row| row.met == Some(false)).map(|row| row.name).collect()
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some(floor) = self.floor_ms {
            rows.push(Row::new("floor: one write and its event, p50", millis(floor.p50)));
        }
        if let Some(chain) = self.chain_ms {
            rows.push(Row::new("chain: bare relays, p50", millis(chain.p50)));
            rows.push(Row::new("chain: bare relays, p99", millis(chain.p99)));
        }
        if let Some(steady) = self.steady_ms {
            let against = against_relays("steady endpoint change,", steady, self.chain_ms);
            rows.extend(against.map(|row| row.original(original::STEADY)));
        }
        if let Some(Checked { without, with }) = self.policies_ms {
            let name = "policies: steady p50, with / without";
            rows.push(Row::new(name, format!("{} / {}", millis(with), millis(without))));
        }
        let hundred = [
            (self.import100_s, 100.0 * IMPORT, IMPORT100, original::IMPORT100),
            (self.burst100_s, 100.0 * BURST, BURST100, original::BURST100),
            (self.withdraw100_s, 100.0 * WITHDRAWAL, WITHDRAW100, original::WITHDRAW100),
        ];
        for (name, (value, writes, factor, original)) in HUNDRED.into_iter().zip(hundred) {
            rows.extend(self.bulk(name, value, writes, factor).map(|row| row.original(original)));
        }
        for Against { name, chain, steady } in &self.beside {
            rows.extend(against_relays(&format!("{name}:"), *steady, Some(*chain)));
        }
        if let Some(before) = self.beside.last() {
            rows.extend(self.disturbed.iter().flat_map(|disturbed| disturbed.since(before)));
        }
        if let Some(Checked { without, with }) = self.hostile_ms {
            let limit = format!("x {HOSTILE} of that without; is x {:.2}", with / without);
            let row = Row::new("Service crossing, 14 000 ports stored, p50", millis(with));
            rows.push(row.limit(with <= HOSTILE * without, limit));
        }
        if let Some(flood) = self.flood {
            rows.extend(flood.rows());
        }
        let thousand = [
            ("1000 Services exported and imported", self.import1000_s, 1000.0 * IMPORT),
            ("1000 endpoint changes at once", self.burst1000_s, 1000.0 * BURST),
        ];
        for (name, value, writes) in thousand {
            rows.extend(self.bulk(name, value, writes, THOUSAND));
        }
        if let Some(rate) = self.mix_rate {
            rows.push(Row::new("all servers, same writes, 16 at a time", format!("{rate:.0} /s")));
        }
        if let Some(writes) = self.writes {
            let counts = [
                ("writes: first export and import", writes.first, WRITES.first),
                ("writes: endpoint change, 1 importer", writes.change, WRITES.change),
                ("writes: unexport", writes.unexport, WRITES.unexport),
                ("writes: MCS deletion, 1 slice", writes.mcs_delete, WRITES.mcs_delete),
            ];
            for ((name, value, limit), original) in counts.into_iter().zip(original::WRITES) {
                let row = Row::new(name, value.to_string());
                rows.push(row.limit(value <= limit, limit.to_string()).original(original));
            }
        }
        rows.extend(self.standard.iter().flat_map(Standard::rows));
        rows.extend(self.offload.iter().flat_map(Offload::rows));
        rows.extend(self.reach.iter().flat_map(Reach::rows));
        for (name, costs) in [
            ("slice write: hub CPU, managedFields / none", self.managed_fields_ms),
            ("slice write: hub CPU, policies / none", self.checked_write_ms),
        ] {
            let Some(Checked { without, with }) = costs else { continue };
            rows.push(Row::new(name, format!("{} / {}", millis(with), millis(without))));
        }
        if let Some(cpu) = self.cpu_s {
            rows.push(Row::new("CPU, hub agent", seconds(cpu.hub)));
            rows.push(Row::new("CPU, exporting member's agent", seconds(cpu.member)));
        }
        if let Some(rss) = self.rss_mib {
            rows.push(Row::new("peak memory, hub agent", format!("{:.1} MiB", rss.hub)));
            rows.push(Row::new("peak memory, member agent", format!("{:.1} MiB", rss.member)));
        }
        rows
    }

    /// An operation of many writes, held against what the API servers need for these alone. Without their rate there is
    /// no limit.
    fn bulk(&self, name: &str, value: Option<f64>, writes: f64, factor: f64) -> Option<Row> {
        let value = value?;
        let row = Row::new(name, seconds(value));
        let Some(rate) = self.mix_rate else { return Some(row) };
        let bare = writes / rate;
        let limit = format!("{} (x {factor}; is x {:.2})", seconds(factor * bare), value / bare);
        Some(row.limit(value <= factor * bare, limit))
    }
}

impl Against {
    /// Held against what it was before the others came. Both as ratios to bare relays: what slows those down as well
    /// is the servers', not the agents'.
    fn since(&self, before: &Self) -> [Row; 2] {
        let row = |which, limit, of: fn(Percentiles) -> f64| {
            let ratio = |against: &Self| of(against.steady) / of(against.chain);
            let grown = ratio(self) / ratio(before);
            let limit_text = format!("x {limit} of that before; is x {grown:.2}");
            Row::new(format!("{}: {which}", self.name), millis(of(self.steady)))
                .limit(grown <= limit, limit_text)
        };
        [
            row("p50", DISTURBED_P50, |percentiles| percentiles.p50),
            row("p99", DISTURBED_P99, |percentiles| percentiles.p99),
        ]
    }
}

impl Flooded {
    /// Held against what it was before, not against bare relays: those are members, too.
    fn rows(self) -> [Row; 2] {
        let Self { before: Against { steady: before, .. }, during: Against { name, steady, .. } } =
            self;
        let grown = steady.p99 / before.p99;
        let limit = format!("x {FLOODED_P99} of that before; is x {grown:.2}");
        [
            Row::new(format!("{name}: p50"), millis(steady.p50)),
            Row::new(format!("{name}: p99"), millis(steady.p99)).limit(grown <= FLOODED_P99, limit),
        ]
    }
}

/// Median and tail of a steady change, held against those of bare relays.
fn against_relays(
    name: &str,
    steady: Percentiles,
    chain: Option<Percentiles>,
) -> impl Iterator<Item = Row> {
    let both = [
        ("p50", steady.p50, STEADY_P50, chain.map(|chain| chain.p50)),
        ("p99", steady.p99, STEADY_P99, chain.map(|chain| chain.p99)),
    ];
    both.into_iter().map(move |(which, value, factor, chain)| {
        let row = Row::new(format!("{name} {which}"), millis(value));
        let Some(chain) = chain else { return row };
        let limit = format!("{} (x {factor}; is x {:.2})", millis(factor * chain), value / chain);
        row.limit(value <= factor * chain, limit)
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = String::new();
        let headings = ["measured", "", "limit", "", "original"];
        line(&mut table, headings)?;
        for row in self.rows() {
            let met = row.met.map_or("", |met| if met { "met" } else { "MISSED" });
            line(&mut table, [&row.name, &row.value, &row.limit, met, row.original])?;
        }
        f.write_str(&table)?;
        if !self.notes.is_empty() {
            writeln!(f)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report() -> Report {
        Report {
            floor_ms: Some(Median { p50: 2.5 }),
            chain_ms: Some(Percentiles { p50: 10.0, p99: 20.0 }),
            mix_rate: Some(700.0),
            steady_ms: Some(Percentiles { p50: 12.0, p99: 51.0 }),
            policies_ms: Some(Checked { without: 15.0, with: 15.5 }),
            burst100_s: Some(1.0),
            import100_s: Some(4.0),
            withdraw100_s: Some(4.0),
            beside: vec![Against {
                name: "10 Services",
                chain: Percentiles { p50: 10.0, p99: 20.0 },
                steady: Percentiles { p50: 11.0, p99: 31.0 },
            }],
            disturbed: vec![Against {
                name: "one is busy",
                chain: Percentiles { p50: 10.0, p99: 20.0 },
                steady: Percentiles { p50: 14.0, p99: 60.0 },
            }],
            hostile_ms: Some(Checked { without: 100.0, with: 121.0 }),
            flood: Some(Flooded {
                before: Against {
                    name: "before",
                    chain: Percentiles { p50: 10.0, p99: 20.0 },
                    steady: Percentiles { p50: 15.0, p99: 30.0 },
                },
                during: Against {
                    name: "flood",
                    chain: Percentiles { p50: 30.0, p99: 90.0 },
                    steady: Percentiles { p50: 16.0, p99: 61.0 },
                },
            }),
            import1000_s: Some(40.0),
            burst1000_s: Some(9.0),
            standard: None,
            offload: None,
            reach: None,
            managed_fields_ms: Some(Checked { without: 4.5, with: 5.0 }),
            checked_write_ms: Some(Checked { without: 4.0, with: 5.0 }),
            writes: Some(WriteNumbers { first: 18, change: 3, unexport: 14, mcs_delete: 10 }),
            cpu_s: Some(PerAgent { hub: 1.0, member: 2.0 }),
            rss_mib: Some(PerAgent { hub: 10.0, member: 11.0 }),
            notes: vec!["a note".to_owned()],
        }
    }

    #[test]
    fn the_json_has_the_agreed_keys_and_numbers_only() {
        let expected = json!({
            "floor_ms": { "p50": 2.5 },
            "chain_ms": { "p50": 10.0, "p99": 20.0 },
            "mix_rate": 700.0,
            "steady_ms": { "p50": 12.0, "p99": 51.0 },
            "policies_ms": { "without": 15.0, "with": 15.5 },
            "burst100_s": 1.0,
            "import100_s": 4.0,
            "withdraw100_s": 4.0,
            "beside": [{
                "name": "10 Services",
                "chain": { "p50": 10.0, "p99": 20.0 }, "steady": { "p50": 11.0, "p99": 31.0 },
            }],
            "disturbed": [{
                "name": "one is busy",
                "chain": { "p50": 10.0, "p99": 20.0 }, "steady": { "p50": 14.0, "p99": 60.0 },
            }],
            "hostile_ms": { "without": 100.0, "with": 121.0 },
            "flood": {
                "before": {
                    "name": "before",
                    "chain": { "p50": 10.0, "p99": 20.0 }, "steady": { "p50": 15.0, "p99": 30.0 },
                },
                "during": {
                    "name": "flood",
                    "chain": { "p50": 30.0, "p99": 90.0 }, "steady": { "p50": 16.0, "p99": 61.0 },
                },
            },
            "import1000_s": 40.0,
            "burst1000_s": 9.0,
            "managed_fields_ms": { "without": 4.5, "with": 5.0 },
            "checked_write_ms": { "without": 4.0, "with": 5.0 },
            "writes": { "first": 18, "change": 3, "unexport": 14, "mcs_delete": 10 },
            "cpu_s": { "hub": 1.0, "member": 2.0 },
            "rss_mib": { "hub": 10.0, "member": 11.0 },
        });
        assert_eq!(serde_json::to_value(report()).unwrap(), expected);
    }

    #[test]
    fn missed_limits_are_named() {
        let missed = report().missed();
        let expected = [
            "steady endpoint change, p99",
            "10 Services: p99",
            "one is busy: p50",
            "Service crossing, 14 000 ports stored, p50",
            "flood: p99",
            "1000 endpoint changes at once",
            "writes: first export and import",
        ];
        assert_eq!(missed, expected);
        let table = report().to_string();
        assert_eq!(table.matches("MISSED").count(), 7);
        assert!(table.contains("x 1.25; is x 1.20") && table.ends_with("a note\n"), "{table}");
    }

    /// A slower machine has a longer limit, and without its rate none.
    #[test]
    fn bulk_operations_are_held_against_the_rate_of_the_same_run() {
        let slow = Report { import100_s: Some(7.0), mix_rate: Some(419.0), ..Report::default() };
        assert!(slow.missed().is_empty(), "{slow}");
        let same_on_a_fast_machine = Report { mix_rate: Some(600.0), ..slow.clone() };
        assert_eq!(same_on_a_fast_machine.missed(), ["100 Services exported and imported"]);
        let alone = Report { mix_rate: None, ..slow };
        assert!(alone.missed().is_empty() && alone.to_string().contains("7.00 s"));
    }

    #[test]
    fn what_was_not_measured_is_missing() {
        let report = Report { mix_rate: Some(1.0), ..Report::default() };
        assert_eq!(serde_json::to_value(&report).unwrap(), json!({ "mix_rate": 1.0 }));
        assert!(report.missed().is_empty());
    }
}
