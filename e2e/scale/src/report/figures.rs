//! The numbers, and what is computed from several of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cold_start::ColdStart;
use crate::growth::{Point, count, exponent};
use crate::large_fleet::LargeFleet;
use crate::load::Step;
use crate::solo::Solo;
use crate::standard::Standard;
use crate::wire::Wire;

/// Everything that was measured.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
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

/// The exponent with which a number grows with the members.
pub(super) fn fit(points: &[Point], of: fn(&Point) -> f64) -> f64 {
    let points: Vec<_> = points.iter().map(|point| (count(point.members), of(point))).collect();
    exponent(&points)
}

/// The lowest load that was too much.
pub(super) fn first_too_much(steps: &[Step]) -> Option<&Step> {
    let too_much = steps.iter().filter(|step| !step.sustained);
    too_much.min_by(|one, other| one.rate.total_cmp(&other.rate))
}

/// The highest load that was sustained.
pub(super) fn best(steps: &[Step]) -> Option<&Step> {
    let sustained = steps.iter().filter(|step| step.sustained);
    sustained.max_by(|one, other| one.rate.total_cmp(&other.rate))
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
