//! What an importer reaches of what it imports, by the connections that its agent opens.

use std::collections::BTreeMap;

use fleet_api::ObjectName;
use jiff::Timestamp;
use serde::Serialize;

use crate::picture::Picture;
use crate::reach::reached::{Cell, troubles};

/// What an importer of a Service does not reach of one exporter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unreached {
    /// The exporting member.
    pub member: String,
    /// Where it stops: `Name`, `Address`, `Route` or `Endpoint`.
    pub hop: &'static str,
    /// Since when, by the importer's clock.
    pub since: Timestamp,
    /// What the last attempts have met.
    pub detail: String,
}

/// How many pairs of a Service and an exporter a member reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReachCounts {
    /// Those that are reached.
    pub reachable: i64,
    /// Those that are not.
    pub unreachable: i64,
    /// Those of which nothing is known yet, or that are not dialled.
    pub other: i64,
}

impl ReachCounts {
    /// The sums of the cells of each importer; none of one that does not dial.
    pub(super) fn by_importer(cells: &[Cell]) -> BTreeMap<&str, Self> {
        let mut counts = BTreeMap::<&str, Self>::new();
        for cell in cells {
            let own = counts.entry(&cell.importer).or_default();
            own.reachable += i64::from(cell.reachable);
            own.unreachable += i64::from(cell.unreachable);
            own.other += i64::from(cell.unknown) + i64::from(cell.not_dialled);
        }
        counts
    }
}

/// What importers of a Service do not reach.
pub(super) fn by_importer<'a>(
    picture: &'a Picture,
    service: &'a ObjectName,
) -> BTreeMap<&'a str, Vec<Unreached>> {
    let mut unreached = BTreeMap::<&str, Vec<Unreached>>::new();
    for (importer, trouble) in troubles(&picture.reach, service, picture.heard) {
        unreached.entry(importer).or_default().push(Unreached {
            member: trouble.exporter.clone(),
            hop: trouble.hop.as_str(),
            since: trouble.since.0,
            detail: trouble.detail.clone(),
        });
    }
    unreached
}
