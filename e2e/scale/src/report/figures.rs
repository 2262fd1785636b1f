//! The numbers, and what is computed from several of them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cold_start::ColdStart;
use crate::growth::{Point, count, exponent};
use crate::large_fleet::LargeFleet;
use crate::load::{Step, best};
use crate::solo::Solo;
use crate::standard::Standard;
use crate::wire::Wire;

/// Everything that was measured.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    /// The commit at which each part was measured last, by the part's name.
    pub(crate) commits: BTreeMap<String, String>,
    pub(crate) solo: Option<Solo>,
    /// Resident bytes of a hub agent in an empty fleet.
    pub(crate) empty_rss: u64,
    pub(crate) growth: Vec<Point>,
    pub(crate) wire: Option<Wire>,
    pub(crate) load: Vec<Step>,
    pub(crate) cold_starts: Vec<ColdStart>,
    #[serde(rename = "beyond")]
    pub(crate) large_fleet: Option<LargeFleet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) standard: Option<Standard>,
}

impl Report {
    /// From what an earlier run has written. A part that another version has measured in another way is left out.
    pub(super) fn of(mut numbers: Value) -> Self {
        fn part<T: DeserializeOwned + Default>(numbers: &mut Value, name: &str) -> T {
            let found = numbers.get_mut(name).map(Value::take);
            found.and_then(|found| serde_json::from_value(found).ok()).unwrap_or_default()
        }
        let numbers = &mut numbers;
        Self {
            commits: part(numbers, "commits"),
            solo: part(numbers, "solo"),
            empty_rss: part(numbers, "empty_rss"),
            growth: part(numbers, "growth"),
            wire: part(numbers, "wire"),
            load: part(numbers, "load"),
            cold_starts: part(numbers, "cold_starts"),
            large_fleet: part(numbers, "beyond"),
            standard: part(numbers, "standard"),
        }
    }
}

/// The exponent with which a number grows with the members.
pub(super) fn fit(points: &[Point], of: fn(&Point) -> f64) -> f64 {
    let points: Vec<_> = points.iter().map(|point| (count(point.members), of(point))).collect();
    exponent(&points)
}

/// The lowest load that was too much, above the highest that was sustained.
pub(super) fn first_too_much(steps: &[Step]) -> Option<&Step> {
    let highest = best(steps).map_or(0.0, |step| step.rate);
    let too_much = steps.iter().filter(|step| !step.sustained && step.rate > highest);
    too_much.min_by(|one, other| one.rate.total_cmp(&other.rate))
}

/// What a load has shown and taken, as the last cells of a row.
pub(super) fn cells(step: &Step) -> String {
    let spent = step.spent;
    let cores = |cpu: f64| cpu / spent.seconds;
    format!(
        "{:.0} | {:.0} | {:.2} | {:.2} | {:.2} | {} |",
        step.p50_ms,
        step.p99_ms,
        cores(spent.hub_agent),
        cores(spent.servers),
        cores(spent.members),
        if step.sustained { "sustained" } else { "too much" },
    )
}

/// Whether a limit was met, for people.
pub(super) fn met(is: bool) -> &'static str {
    if is { "met" } else { "**missed**" }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_is_not_understood_is_left_out() {
        let wire = json!({ "endpoints": 5000, "writes": 2.0, "written": 1.0, "watched": 1.0 });
        let numbers = json!({
            "commits": { "growth": "abc" }, "wire": wire, "load": [{ "rate": 1.0, "crowd": 2.0 }], "standard": {},
        });
        let report = Report::of(numbers);
        assert_eq!(report.wire.as_ref().map(|wire| wire.endpoints), Some(5000));
        assert!(report.load.is_empty() && report.solo.is_none());
        let again = Report::of(serde_json::to_value(&report).unwrap());
        assert_eq!(serde_json::to_value(&again).unwrap(), serde_json::to_value(&report).unwrap());
    }
}
