//! A drawing that browsers show, in light and dark, without scripts and without anything from elsewhere.

use std::fmt::Write as _;

use super::drawing::Drawing;
use super::shape::{Line, Node, Tone};
use super::text::escaped;

/// Width of a box, in pixels.
const WIDTH: usize = 260;
/// Height of a box.
const HEIGHT: usize = 44;
/// Space between two boxes of a column, and around all.
const GAP: usize = 12;
/// Space between two columns.
const AISLE: usize = 240;
/// Characters of a name that fit into a box. Those who point at it see the whole.
const FITS: usize = 34;
/// Height of the titles of columns.
const TITLE: usize = 32;

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1f2328; --paper: #ffffff; --good: #1a7f37; --odd: #9a6700; --bad: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --good: #3fb950; --odd: #d29922; --bad: #ff7b72; } }
svg { background: var(--paper); font: 13px sans-serif; }
text { fill: var(--ink); } .title { font-weight: bold; } .note, .label { font-size: 11px; } .label { text-anchor: middle; }
rect, path { fill: none; stroke-width: 1.5; }
.good { stroke: var(--good); } .odd { stroke: var(--odd); stroke-dasharray: 2 3; } .bad { stroke: var(--bad); stroke-dasharray: 7 4; }
";

/// The picture as a document.
pub(super) fn svg(drawing: &Drawing) -> String {
    let (exporters, rows, importers) = (&drawing.exporters, &drawing.rows, &drawing.importers);
    let most = exporters.len().max(rows.len()).max(importers.len());
    // Members without a part stand below the importers, after a gap.
    let others =
        if drawing.others.is_empty() { most } else { importers.len() + 1 + drawing.others.len() };
    let most = most.max(others);
    let width = 2 * GAP + 3 * WIDTH + 2 * AISLE;
    let height = TITLE + most * (HEIGHT + GAP) + GAP;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Exporters, Services and importers of the fleet\">\n<style>\n{STYLE}</style>\n"
    );
    // Lines first, so that boxes and labels are above them.
    for line in &drawing.exports {
        edge(&mut text, left(0) + WIDTH, line.member, left(1), line.row, line);
    }
    for line in &drawing.imports {
        edge(&mut text, left(1) + WIDTH, line.row, left(2), line.member, line);
    }
    for (index, (title, nodes)) in
        [("Exporters", exporters), ("Services", rows), ("Importers", importers)].iter().enumerate()
    {
        column(&mut text, left(index), 0, title, nodes);
    }
    if !drawing.others.is_empty() {
        column(&mut text, left(2), importers.len() + 1, "Neither", &drawing.others);
    }
    text.push_str("</svg>\n");
    text
}

/// Left edge of a column.
fn left(column: usize) -> usize {
    GAP + column * (WIDTH + AISLE)
}

/// Upper edge of a box.
fn top(index: usize) -> usize {
    TITLE + GAP + index * (HEIGHT + GAP)
}

/// Boxes of one column from row `first` on, under a title.
fn column(text: &mut String, left: usize, first: usize, title: &str, nodes: &[Node]) {
    let y = top(first) - GAP - GAP / 2;
    let _ = writeln!(text, "<text class=\"title\" x=\"{left}\" y=\"{y}\">{title}</text>");
    for (index, node) in nodes.iter().enumerate() {
        let (y, class) = (top(first + index), class(node.tone));
        let (label, note) = (fitting(&node.label), fitting(&node.note));
        let whole = whole(&node.label, &node.note, &node.detail);
        let (x, upper, lower) = (left + GAP, y + 18, y + 35);
        let _ = writeln!(
            text,
            "<g><title>{whole}</title><rect class=\"{class}\" x=\"{left}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\"/>\
             <text x=\"{x}\" y=\"{upper}\">{label}</text><text class=\"note\" x=\"{x}\" y=\"{lower}\">{note}</text></g>"
        );
    }
}

/// A line from one box to another, with its label beside it.
fn edge(text: &mut String, from_x: usize, from: usize, to_x: usize, to: usize, line: &Line) {
    let (from_y, to_y) = (top(from) + HEIGHT / 2, top(to) + HEIGHT / 2);
    let middle = usize::midpoint(from_x, to_x);
    let label_y = usize::midpoint(from_y, to_y) - 4;
    let (class, label) = (class(line.tone), fitting(&line.label));
    let whole = whole(&line.label, "", &line.detail);
    let _ = writeln!(
        text,
        "<g><title>{whole}</title><path class=\"{class}\" d=\"M{from_x} {from_y} C{middle} {from_y} {middle} {to_y} {to_x} {to_y}\"/>\
         <text class=\"label\" x=\"{middle}\" y=\"{label_y}\">{label}</text></g>"
    );
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Odd => "odd",
        Tone::Bad => "bad",
    }
}

fn whole(label: &str, note: &str, detail: &str) -> String {
    let parts = [label, note, detail].into_iter().filter(|part| !part.is_empty());
    parts.map(escape).collect::<Vec<_>>().join(". ")
}

fn fitting(text: &str) -> String {
    match text.char_indices().nth(FITS) {
        Some((end, _)) => escape(&text[..end]) + "…",
        None => escape(text),
    }
}

/// Text of XML, within an element or an attribute.
fn escape(text: &str) -> String {
    escaped(text, |char| match char {
        '&' => Some("&amp;".to_owned()),
        '<' => Some("&lt;".to_owned()),
        '>' => Some("&gt;".to_owned()),
        '"' => Some("&quot;".to_owned()),
        '\'' => Some("&#39;".to_owned()),
        _ => None,
    })
}
