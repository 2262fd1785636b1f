//! Each row of the tables of attacks and of failures is shown by tests that exist.

use crate::finding::Finding;

/// The pages with such a table, and its heading.
pub(crate) const TABLES: [(&str, &str); 4] = [
    ("docs/security.md", "## What was tried"),
    ("docs/design/failures.md", "## The table"),
    ("docs/design/virtual-node.md", "## The original's defects"),
    ("docs/design/virtual-node.md", "## The original's cases"),
];

/// Rows of a page that name no test, or one that its file does not have. `read` gives the content of a file, if there is one.
pub(crate) fn check(
    (path, heading): (&str, &str),
    page: &str,
    read: &dyn Fn(&str) -> Option<String>,
) -> Vec<Finding> {
    let lines = page.lines().enumerate().skip_while(|(_, line)| *line != heading).skip(1);
    let section: Vec<_> = lines.take_while(|(_, line)| !line.starts_with("## ")).collect();
    // The first row of a table is its head.
    let rows: Vec<_> = section
        .windows(2)
        .filter(|pair| pair[0].1.starts_with('|') && pair[1].1.starts_with("| "))
        .map(|pair| pair[1])
        .collect();
    if rows.is_empty() {
        let remedy = "a table below it, whose rows name tests";
        return vec![Finding::new("reference", path, heading, remedy)];
    }
    let wrong = rows.into_iter().filter(|(_, row)| !shown(row, read));
    wrong
        .map(|(at, row)| {
            let place = format!("{path}:{}", at + 1);
            Finding::new("reference", &place, row, "`test` in `path`, of tests that exist")
        })
        .collect()
}

/// Whether the last cell names tests, and the files that have them.
fn shown(row: &str, read: &dyn Fn(&str) -> Option<String>) -> bool {
    let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
    cell.split("; ").all(|reference| is_test(reference, read))
}

fn is_test(reference: &str, read: &dyn Fn(&str) -> Option<String>) -> bool {
    let Some((test, path)) = reference.split_once(" in ") else { return false };
    let (test, path) = (test.trim_matches('`'), path.trim_matches('`'));
    let is_there = |content: String| {
        let names = [
            format!("fn {test}("),
            format!("::{test}\""),
            format!("fn {test}<"),
            format!(" {test}: "),
        ];
        names.iter().any(|name| content.contains(name))
    };
    !test.is_empty() && read(path).is_some_and(is_there)
}
