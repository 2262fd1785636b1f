//! Each attack in the table of docs/security.md is shown by a test that exists.

use crate::finding::Finding;

/// The page with the table.
pub(crate) const PAGE: &str = "docs/security.md";
/// The heading of the table.
const HEADING: &str = "## What was tried";

/// Rows that name no test, or one that its file does not have. `read` gives the content of a file, if there is one.
pub(crate) fn check(page: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<Finding> {
    let lines = page.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
    let section = lines.take_while(|(_, line)| !line.starts_with("## "));
    let rows: Vec<_> =
        section.filter(|(_, line)| line.starts_with("| ") && line.contains('`')).collect();
    if rows.is_empty() {
        let remedy = "a table below it, a row for each attack";
        return vec![Finding::new("reference", PAGE, HEADING, remedy)];
    }
    let wrong = rows.into_iter().filter(|(_, row)| !shown(row, read));
    wrong
        .map(|(at, row)| {
            let place = format!("{PAGE}:{}", at + 1);
            Finding::new("reference", &place, row, "`test` in `path`, of a test that exists")
        })
        .collect()
}

/// Whether the last cell names a test and the file that has it.
fn shown(row: &str, read: &dyn Fn(&str) -> Option<String>) -> bool {
    let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
    let Some((test, path)) = cell.split_once(" in ") else { return false };
    let (test, path) = (test.trim_matches('`'), path.trim_matches('`'));
    let is_there = |content: String| {
        [format!("fn {test}("), format!("::{test}\""), format!("fn {test}<")]
            .iter()
            .any(|name| content.contains(name))
    };
    !test.is_empty() && read(path).is_some_and(is_there)
}
