//! A file is one idea, which fits into a reader's head.

use crate::finding::Finding;
use crate::repository::Text;

/// Lines of a file of code.
pub(crate) const LINES: usize = 600;

/// Code of more lines than that.
pub(crate) fn check(text: &Text) -> Option<Finding> {
    let lines = text.content.lines().count();
    let is_long = ["rs", "go"].contains(&text.ending()) && lines > LINES;
    is_long.then(|| {
        let remedy = "move a part that can be understood by itself into its own file";
        Finding::new("size", &text.path, format!("{lines} lines, more than {LINES}"), remedy)
    })
}
