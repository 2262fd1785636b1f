//! What the reports of members mean: a cell for each importer and exporter, and what is not reached. Pure.

use std::fmt::Write as _;

use fleet_api::multicluster::{ReachReport, ReachTrouble};
use fleet_api::names::member_of_namespace;
use jiff::Timestamp;
use serde::Serialize;

use crate::explain::words::age;
use crate::output::Paint;
use crate::output::terminal::line;
use crate::render::table;

/// What all members reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reached {
    /// One for each importer and exporter.
    pub cells: Vec<Cell>,
    /// What is not reached, as far as reports name it.
    pub troubles: Vec<Trouble>,
    /// What is not reached, in number.
    pub unreachable: i64,
}

/// What one member reaches of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// The member that imports.
    pub importer: String,
    /// The member that exports.
    pub exporter: String,
    /// Services that are reached.
    pub reachable: i32,
    /// Services that are not.
    pub unreachable: i32,
    /// Services of which nothing is known yet.
    pub unknown: i32,
    /// Services that are not dialled.
    pub not_dialled: i32,
    /// Whether names are resolved, too.
    pub names: bool,
    /// Seconds since the importer has written its report; it writes on change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_seconds: Option<i64>,
}

/// A Service of one exporter that a member does not reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    /// The member that imports.
    pub importer: String,
    /// What it has met.
    #[serde(flatten)]
    pub met: ReachTrouble,
}

impl Reached {
    /// What these reports mean now. A report counts that has the name of the member whose namespace it is in.
    pub fn of(reports: Vec<ReachReport>, now: Timestamp) -> Self {
        let mut reached = Self::default();
        for report in reports {
            let namespace = report.metadata.namespace.as_deref().unwrap_or_default();
            let name = report.metadata.name.as_deref();
            let Some(importer) = member_of_namespace(namespace).filter(|it| Some(*it) == name)
            else {
                continue;
            };
            let spec = report.spec;
            let seconds = spec.observed.map(|at| now.duration_since(at.0).as_secs().max(0));
            reached.unreachable = reached.unreachable.saturating_add(spec.unreachable.into());
            reached.cells.extend(spec.exporters.into_iter().map(|counts| Cell {
                importer: importer.to_owned(),
                exporter: counts.cluster,
                reachable: counts.reachable,
                unreachable: counts.unreachable,
                unknown: counts.unknown,
                not_dialled: counts.not_dialled,
                names: spec.names,
                written_seconds: seconds,
            }));
            let importer = importer.to_owned();
            let troubles = spec.troubles.into_iter();
            reached
                .troubles
                .extend(troubles.map(|met| Trouble { importer: importer.clone(), met }));
        }
        reached.cells.sort_by(|one, other| {
            (&one.importer, &one.exporter).cmp(&(&other.importer, &other.exporter))
        });
        reached
    }

    /// As text.
    pub fn text(&self, now: Timestamp, paint: Paint) -> String {
        let head = [
            "IMPORTER",
            "EXPORTER",
            "REACHABLE",
            "UNREACHABLE",
            "UNKNOWN",
            "NOT-DIALLED",
            "WRITTEN",
        ];
        let row = |cell: &Cell| {
            let counts = [cell.reachable, cell.unreachable, cell.unknown, cell.not_dialled];
            let written = cell.written_seconds.map(jiff::SignedDuration::from_secs).map(age);
            let names = [cell.importer.clone(), cell.exporter.clone()].into_iter();
            let counts = counts.iter().map(ToString::to_string);
            names.chain(counts).chain([written.unwrap_or_else(|| "-".to_owned())]).collect()
        };
        let rows: Vec<Vec<_>> = self.cells.iter().map(row).collect();
        let mut text = table(&head, &rows, paint);
        for Trouble { importer, met } in &self.troubles {
            let ReachTrouble { exporter, namespace, service, hop, since, detail, .. } = met;
            let hop = format!("{:8}", hop.as_str());
            let since = age(now.duration_since(since.0));
            let says = format!(
                "{importer} does not reach {namespace}/{service} of {exporter}, since {since}: {detail}"
            );
            let _ = write!(text, "\n{}  {}", paint.bad(&hop), line(&says));
        }
        if !self.troubles.is_empty() {
            text.push('\n');
        }
        let named = i64::try_from(self.troubles.len()).unwrap_or(i64::MAX);
        if self.unreachable > named {
            let _ = writeln!(text, "and {} more", self.unreachable - named);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T00:10:00Z".parse().unwrap()
    }

    fn report(namespace: &str, name: &str) -> ReachReport {
        let object = json!({
            "apiVersion": "multicluster.networking.fleet.azure.com/v1alpha1", "kind": "ReachReport",
            "metadata": { "namespace": namespace, "name": name },
            "spec": {
                "observed": "2026-01-01T00:09:00Z", "reachable": 1, "unreachable": 2,
                "exporters": [
                    { "cluster": "west", "unreachable": 2 }, { "cluster": "north", "reachable": 1 },
                ],
                "troubles": [{
                    "exporter": "west", "namespace": "shop", "service": "web", "api": "Standard", "hop": "Route",
                    "since": "2026-01-01T00:08:00Z", "detail": "10.1.0.1:80: no\u{1b}[2J answer",
                }],
            },
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn cells_and_troubles_are_shown() {
        let reached = Reached::of(vec![report("fleet-member-east", "east")], now());
        let cells: Vec<_> =
            reached.cells.iter().map(|it| (it.exporter.as_str(), it.unreachable)).collect();
        assert_eq!(cells, [("north", 0), ("west", 2)]);
        let text = reached.text(now(), Paint(false));
        assert!(text.contains("east      north     1          0"), "{text}");
        assert!(
            text.contains("Route     east does not reach shop/web of west, since 2m"),
            "{text}"
        );
        assert!(text.ends_with("answer\nand 1 more\n"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn a_report_in_the_name_of_another_does_not_count() {
        let forged = [report("fleet-member-west", "east"), report("shop", "east")];
        assert_eq!(Reached::of(forged.into(), now()), Reached::default());
    }
}
