//! The result of all checks. Pure.

use std::fmt::Write as _;

use serde::Serialize;

use super::finding::{Finding, Level};
use crate::output::Paint;
use crate::output::terminal::line;

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
    /// The command that mends it, where one does and there is nothing to decide first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Line {
    /// The line of a finding.
    pub fn of(cluster: &str, check: &'static str, finding: Finding) -> Self {
        let Finding { level, what, advice, command } = finding;
        let cluster = cluster.to_owned();
        Self {
            cluster,
            check,
            level,
            finding: bounded(&what),
            advice: advice.as_deref().map(bounded),
            // A part of a command is another command.
            command: command.filter(|command| command.len() <= LONGEST),
        }
    }

    /// The line of a check that has found nothing.
    pub fn ok(cluster: &str, check: &'static str, looks_at: &str) -> Self {
        let (cluster, finding) = (cluster.to_owned(), looks_at.to_owned());
        Self { cluster, check, level: Level::Ok, finding, advice: None, command: None }
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
        for Line { cluster, check, level, finding, advice, command } in shown {
            let level = painted(paint, *level, &format!("{level:11}"));
            let place = paint.bold(&format!("{cluster} {check}"));
            let _ = writeln!(text, "{level}  {place}  {}", line(finding));
            if let Some(advice) = advice {
                let _ = writeln!(text, "             {}", line(advice));
            }
            if let Some(command) = command {
                let _ = writeln!(text, "             $ {}", line(command));
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

/// A text that clusters had a part in, of bounded length.
fn bounded(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST).map(|(end, _)| end);
    end.map_or_else(|| text.to_owned(), |end| format!("{}...", &text[..end]))
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
        assert_eq!(line.finding.chars().count(), LONGEST + 3);
        let text = Report::new(vec![line]).text(false, Paint(false));
        assert!(text.starts_with("failure      west claim  uid \\u{1b}[2J\\nxxx"), "{text}");
        assert!(text.contains("...\n             look\\u{7}\n"), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
        let exact = "y".repeat(LONGEST);
        assert_eq!(bounded(&exact), exact);
    }

    #[test]
    fn a_command_has_a_line_of_its_own_and_is_never_cut() {
        let broken = || Finding::failure("it is broken", "mend it");
        let line = Line::of("west", "claim", broken().mend("kubectl get pods"));
        let text = Report::new(vec![line]).text(false, Paint(false));
        assert!(text.contains("mend it\n             $ kubectl get pods\n"), "{text}");
        let long = Line::of("west", "claim", broken().mend("x".repeat(LONGEST + 1)));
        assert_eq!(long.command, None);
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
