//! The result of all checks. Pure.

use std::fmt::Write as _;

use serde::Serialize;

use super::finding::{Finding, Level};
use crate::output::Paint;

/// The most characters of a finding.
const LONGEST: usize = 1000;

/// What all checks have found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The number of failures.
    pub failures: usize,
    /// The number of warnings.
    pub warnings: usize,
    /// All results, by cluster and in the order of the checks.
    pub results: Vec<Line>,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// The member, or `hub`.
    pub cluster: String,
    /// The check.
    pub check: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What was found, or, if nothing, what was looked at.
    pub finding: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Line {
    /// The line of a finding.
    pub fn of(cluster: &str, check: &'static str, finding: Finding) -> Self {
        let Finding { level, what, advice } = finding;
        let cluster = cluster.to_owned();
        Self { cluster, check, level, finding: plain(&what), advice: advice.as_deref().map(plain) }
    }

    /// The line of a check that has found nothing.
    pub fn ok(cluster: &str, check: &'static str, looks_at: &str) -> Self {
        let (cluster, finding) = (cluster.to_owned(), looks_at.to_owned());
        Self { cluster, check, level: Level::Ok, finding, advice: None }
    }
}

impl Report {
    /// With these results.
    pub fn new(results: Vec<Line>) -> Self {
        let count = |level| results.iter().filter(|line| line.level == level).count();
        let (failures, warnings) = (count(Level::Failure), count(Level::Warning));
        Self { failures, warnings, results }
    }

    /// The report as text; `wide` has what is well, too.
    pub fn text(&self, wide: bool, paint: Paint) -> String {
        let mut text = String::new();
        let shown = self.results.iter().filter(|line| wide || line.level != Level::Ok);
        for Line { cluster, check, level, finding, advice } in shown {
            let level = painted(paint, *level, &format!("{level:11}"));
            let _ =
                writeln!(text, "{level}  {}  {finding}", paint.bold(&format!("{cluster} {check}")));
            if let Some(advice) = advice {
                let _ = writeln!(text, "             {advice}");
            }
        }
        let count = |level| self.results.iter().filter(|line| line.level == level).count();
        let (ok, unchecked) = (count(Level::Ok), count(Level::NotChecked));
        let _ = writeln!(
            text,
            "{} failures, {} warnings, {unchecked} not checked, {ok} ok",
            self.failures, self.warnings
        );
        text
    }
}

/// A text that clusters had a part in, as one line of bounded length: nothing in it moves the cursor of a terminal.
fn plain(text: &str) -> String {
    let shown = text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    let mut shown = shown.take(LONGEST + 1).collect::<String>();
    if let Some((end, _)) = shown.char_indices().nth(LONGEST) {
        shown.truncate(end);
        shown.push_str("...");
    }
    shown
}

fn painted(paint: Paint, level: Level, text: &str) -> String {
    match level {
        Level::Failure => paint.bad(text),
        Level::Warning | Level::NotChecked => paint.odd(text),
        Level::Information => text.to_owned(),
        Level::Ok => paint.good(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_well_is_counted_and_shown_only_on_request() {
        let failure = Finding::failure("it is broken", "mend it");
        let lines =
            vec![Line::of("west", "claim", failure), Line::ok("west", "corefile", "the Corefile")];
        let report = Report::new(lines);
        assert_eq!((report.failures, report.warnings), (1, 0));
        let expected = "failure      west claim  it is broken\n             mend it\n1 failures, 0 warnings, 0 not checked, 1 ok\n";
        assert_eq!(report.text(false, Paint(false)), expected);
        let wide = report.text(true, Paint(true));
        assert!(wide.contains("\u{1b}[31mfailure"), "{wide}");
        assert!(wide.contains("the Corefile"), "{wide}");
    }

    #[test]
    fn what_a_hostile_cluster_writes_stays_in_its_line() {
        let what = format!("uid \u{1b}[2J\n{}", "x".repeat(1_000_000));
        let line = Line::of("west", "claim", Finding::failure(what, "look\u{7}"));
        assert!(line.finding.starts_with("uid \u{fffd}[2J\u{fffd}xxx"), "{}", &line.finding[..20]);
        assert_eq!(line.finding.chars().count(), LONGEST + 3);
        assert_eq!(line.advice.as_deref(), Some("look\u{fffd}"));
        let exact = "y".repeat(LONGEST);
        assert_eq!(plain(&exact), exact);
    }

    #[test]
    fn data_has_no_advice_where_there_is_none() {
        let report = Report::new(vec![Line::ok("hub", "published", "marks")]);
        let json = serde_json::to_value(&report).unwrap();
        let expected = serde_json::json!({ "failures": 0, "warnings": 0, "results": [
            { "cluster": "hub", "check": "published", "level": "ok", "finding": "marks" },
        ]});
        assert_eq!(json, expected);
    }
}
