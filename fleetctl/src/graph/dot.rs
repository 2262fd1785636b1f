//! Graphviz.

use std::fmt::Write as _;

use super::drawing::Drawing;
use super::shape::{Line, Node, Tone};
use super::text::escaped;

/// The picture for `dot`.
pub(super) fn dot(drawing: &Drawing) -> String {
    let mut text = "digraph fleet {\n  rankdir=LR;\n  ordering=out;\n  ranksep=2;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n".to_owned();
    for (title, prefix, nodes) in drawing.columns() {
        column(&mut text, title, prefix, nodes);
    }
    for (from, to, line) in drawing.connections() {
        edge(&mut text, &from, &to, line);
    }
    text.push_str("}\n");
    text
}

/// Boxes of one rank. Lines that are not seen keep their order.
fn column(text: &mut String, title: &str, prefix: char, nodes: &[Node]) {
    let _ = writeln!(text, "  subgraph {title} {{\n    rank=same;");
    for (index, node) in nodes.iter().enumerate() {
        let (label, note) = (quoted(&node.label), quoted(&node.note));
        let (color, style) = look(node.tone);
        let tooltip = quoted(&node.detail);
        let _ = writeln!(
            text,
            "    {prefix}{index} [label=\"{label}\\n{note}\", color=\"{color}\", style={style}, tooltip=\"{tooltip}\"];"
        );
    }
    for index in 1..nodes.len() {
        let _ = writeln!(text, "    {prefix}{} -> {prefix}{index} [style=invis];", index - 1);
    }
    text.push_str("  }\n");
}

fn edge(text: &mut String, from: &str, to: &str, line: &Line) {
    let (label, tooltip) = (quoted(&line.label), quoted(&line.detail));
    let (color, style) = look(line.tone);
    let _ = writeln!(
        text,
        "  {from} -> {to} [label=\"{label}\", color=\"{color}\", style={style}, tooltip=\"{tooltip}\"];"
    );
}

/// Not by colour alone.
fn look(tone: Tone) -> (&'static str, &'static str) {
    match tone {
        Tone::Good => ("#1a7f37", "solid"),
        Tone::Odd => ("#9a6700", "dotted"),
        Tone::Bad => ("#cf222e", "dashed"),
    }
}

/// Within double quotes. Graphviz reads entities of HTML there, and escapes of its own.
fn quoted(text: &str) -> String {
    escaped(text, |char| match char {
        '"' => Some("\\\"".to_owned()),
        '\\' => Some("\\\\".to_owned()),
        '&' => Some("&amp;".to_owned()),
        _ => None,
    })
}
