//! Tables and their cells.

use crate::explain::words::age;
use crate::named::named;
use crate::output::Paint;
use crate::output::terminal::line;

/// Columns as wide as they have to be.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>], paint: Paint) -> String {
    let head: Vec<_> = head.iter().map(|&cell| cell.to_owned()).collect();
    let shown = |row: &Vec<String>| row.iter().map(|cell| line(cell).into_owned()).collect();
    let rows: Vec<Vec<_>> = rows.iter().map(shown).collect();
    let width = |at: usize| {
        let cells = rows.iter().chain([&head]).filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..head.len()).map(width).collect();
    let joined = |row: &[String]| {
        let cells: Vec<_> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    let mut text = paint.bold(&joined(&head)) + "\n";
    for row in &rows {
        text += &joined(row);
        text.push('\n');
    }
    text
}

/// A duration in seconds; `-` if it is not known.
pub(super) fn ages(seconds: Option<i64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), |it| age(jiff::SignedDuration::from_secs(it)))
}

/// As many names as fit beside other columns; the data formats have all.
pub(super) const NAMED: usize = 10;

/// The first names, separated by commas; `-` if there is none.
pub(super) fn list<T: AsRef<str>>(names: &[T]) -> String {
    if names.is_empty() { "-".to_owned() } else { named(names, NAMED, ",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_stays_in_its_cell() {
        let rows = [vec!["web\u{1b}[1A\nok".to_owned(), "1".to_owned()]];
        let text = table(&["SERVICE", "EXPORTS"], &rows, Paint(false));
        assert_eq!(text, "SERVICE           EXPORTS\nweb\\u{1b}[1A\\nok  1\n");
    }

    #[test]
    fn a_list_names_ten_and_counts_the_others() {
        let names: Vec<_> = (0..1000).map(|number| format!("m{number}")).collect();
        assert_eq!(list(&names[..0]), "-");
        assert_eq!(list(&names[..10]), "m0,m1,m2,m3,m4,m5,m6,m7,m8,m9");
        assert_eq!(list(&names), "m0,m1,m2,m3,m4,m5,m6,m7,m8,m9 and 990 more");
    }
}
