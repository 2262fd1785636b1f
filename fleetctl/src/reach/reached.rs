//! What the reports of members mean: a cell for each importer and exporter, and what is not reached. Pure.

use std::fmt::Write as _;

use fleet_accumulator::{Object, View};
use fleet_api::ObjectName;
use fleet_api::multicluster::{ReachReportSpec, ReachTrouble};
use fleet_api::names::member_of_namespace;
use fleet_model::objects::multicluster::ReachReport;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::explain::words::age;
use crate::output::Paint;
use crate::output::terminal::line;
use crate::render::table;

/// A report is written anew every hour. An older one is of an agent that does not dial any more.
const LASTS: SignedDuration = SignedDuration::from_mins(125);

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
    pub fn of<'a>(
        reports: impl IntoIterator<Item = (&'a ObjectName, &'a ReachReportSpec)>,
        now: Timestamp,
    ) -> Self {
        let mut reached = Self::default();
        for (name, spec) in reports {
            let Some(importer) = importer_of(name) else { continue };
            reached.add(importer, spec, now);
        }
        reached.cells.sort_by(|one, other| {
            (&one.importer, &one.exporter).cmp(&(&other.importer, &other.exporter))
        });
        reached
    }

    fn add(&mut self, importer: &str, spec: &ReachReportSpec, now: Timestamp) {
        let seconds = spec.observed.as_ref().map(|at| now.duration_since(at.0).as_secs().max(0));
        self.unreachable = self.unreachable.saturating_add(spec.unreachable.into());
        self.cells.extend(spec.exporters.iter().map(|counts| Cell {
            importer: importer.to_owned(),
            exporter: counts.cluster.clone(),
            reachable: counts.reachable,
            unreachable: counts.unreachable,
            unknown: counts.unknown,
            not_dialled: counts.not_dialled,
            names: spec.names,
            written_seconds: seconds,
        }));
        let troubles = spec.troubles.iter();
        let trouble =
            |met: &ReachTrouble| Trouble { importer: importer.to_owned(), met: met.clone() };
        self.troubles.extend(troubles.map(trouble));
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

/// The reports that count now, of members that dial.
pub(crate) fn current(
    reports: &View<ReachReport>,
    now: Timestamp,
) -> impl Iterator<Item = (&ObjectName, &ReachReportSpec)> {
    reports.iter().filter(move |report| is_current(report, now)).map(|it| (&it.name, &it.spec))
}

/// What is not reached of a Service, with the member that imports it.
pub(crate) fn troubles<'a>(
    reports: &'a View<ReachReport>,
    service: &'a ObjectName,
    now: Timestamp,
) -> impl Iterator<Item = (&'a str, &'a ReachTrouble)> {
    let current = reports.by(service).filter(move |report| is_current(report, now));
    let named = current.filter_map(|report| Some((importer_of(&report.name)?, report)));
    named.flat_map(move |(importer, report)| {
        let troubles = report.spec.troubles.iter();
        let is_of = |it: &&ReachTrouble| {
            *it.namespace == *service.namespace && *it.service == *service.name
        };
        troubles.filter(is_of).map(move |trouble| (importer, trouble))
    })
}

/// A report counts that has the name of the member whose namespace it is in.
fn importer_of(name: &ObjectName) -> Option<&str> {
    member_of_namespace(&name.namespace).filter(|member| *member == &*name.name)
}

fn is_current(report: &Object<ReachReport>, now: Timestamp) -> bool {
    let observed = report.spec.observed.as_ref();
    observed.is_none_or(|at| now.duration_since(at.0) < LASTS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T00:10:00Z".parse().unwrap()
    }

    fn spec() -> ReachReportSpec {
        let spec = json!({
            "observed": "2026-01-01T00:09:00Z", "reachable": 1, "unreachable": 2,
            "exporters": [
                { "cluster": "west", "unreachable": 2 }, { "cluster": "north", "reachable": 1 },
            ],
            "troubles": [{
                "exporter": "west", "namespace": "shop", "service": "web", "api": "Standard", "hop": "Route",
                "since": "2026-01-01T00:08:00Z", "detail": "10.1.0.1:80: no\u{1b}[2J answer",
            }],
        });
        serde_json::from_value(spec).unwrap()
    }

    fn view(namespace: &str, name: &str) -> View<ReachReport> {
        let name = ObjectName::new(namespace, name);
        View::of([Object::new(name, "u".into(), "1".into(), ReachReport { spec: spec() })])
    }

    #[test]
    fn cells_and_troubles_are_shown() {
        let reached =
            Reached::of([(&ObjectName::new("fleet-member-east", "east"), &spec())], now());
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
        for (namespace, name) in [("fleet-member-west", "east"), ("shop", "east")] {
            let name = ObjectName::new(namespace, name);
            assert_eq!(Reached::of([(&name, &spec())], now()), Reached::default());
            let reports = view(&name.namespace, &name.name);
            assert_eq!(troubles(&reports, &ObjectName::new("shop", "web"), now()).count(), 0);
        }
    }

    /// An agent that does not dial any more leaves its last report.
    #[test]
    fn a_report_that_is_not_repeated_does_not_count() {
        let reports = view("fleet-member-east", "east");
        let web = ObjectName::new("shop", "web");
        let counts = |now: Timestamp| {
            (current(&reports, now).count(), troubles(&reports, &web, now).count())
        };
        assert_eq!(counts(now()), (1, 1));
        assert_eq!(troubles(&reports, &ObjectName::new("shop", "api"), now()).count(), 0);
        assert_eq!(counts("2026-01-01T02:10:00Z".parse().unwrap()), (1, 1));
        assert_eq!(counts("2026-01-01T02:20:00Z".parse().unwrap()), (0, 0));
    }
}
