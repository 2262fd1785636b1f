//! Tables and their cells.

use crate::explain::words::age;
use crate::output::Paint;

/// Columns as wide as they have to be.
pub(super) fn table(head: &[&str], rows: &[Vec<String>], paint: Paint) -> String {
    let head: Vec<_> = head.iter().map(|&cell| cell.to_owned()).collect();
    let width = |at: usize| {
        let cells = rows.iter().chain([&head]).filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..head.len()).map(width).collect();
    let line = |row: &[String]| {
        let cells: Vec<_> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    let mut text = paint.bold(&line(&head)) + "\n";
    for row in rows {
        text += &line(row);
        text.push('\n');
    }
    text
}

/// A duration in seconds; `-` if it is not known.
pub(super) fn ages(seconds: Option<i64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), |it| age(jiff::SignedDuration::from_secs(it)))
}

/// Names, separated by commas; `-` if there is none.
pub(super) fn list<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(",") }
}
