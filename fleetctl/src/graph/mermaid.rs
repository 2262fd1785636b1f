//! Mermaid, which many wikis and issue trackers show.

use std::fmt::Write as _;

use super::drawing::Drawing;
use super::shape::{Line, Node, Tone};
use super::text::escaped;

/// The picture as a flowchart.
pub(super) fn mermaid(drawing: &Drawing) -> String {
    let mut text = "flowchart LR\n".to_owned();
    for (title, prefix, nodes) in drawing.columns() {
        column(&mut text, title, prefix, nodes);
    }
    for (from, to, line) in drawing.connections() {
        edge(&mut text, &from, &to, line);
    }
    text.push_str("  classDef good stroke:#1a7f37\n  classDef odd stroke:#9a6700,stroke-dasharray:2\n  classDef bad stroke:#cf222e,stroke-dasharray:6\n");
    text
}

fn column(text: &mut String, title: &str, prefix: char, nodes: &[Node]) {
    if nodes.is_empty() {
        return;
    }
    let _ = writeln!(text, "  subgraph {title}");
    for (index, node) in nodes.iter().enumerate() {
        let (label, note) = (quoted(&node.label), quoted(&node.note));
        let class = class(node.tone);
        let _ = writeln!(text, "    {prefix}{index}[\"{label}<br/>{note}\"]:::{class}");
    }
    text.push_str("  end\n");
}

/// A dotted line stops or has nothing ready.
fn edge(text: &mut String, from: &str, to: &str, line: &Line) {
    let label = quoted(&line.label);
    let arrow = if line.tone == Tone::Good { "-->" } else { "-.->" };
    let _ = writeln!(text, "  {from} {arrow}|\"{label}\"| {to}");
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Odd => "odd",
        Tone::Bad => "bad",
    }
}

/// Within double quotes, where Mermaid reads HTML, Markdown, directives and entities: only what means nothing there stays.
fn quoted(text: &str) -> String {
    let is_safe = |char: char| {
        char.is_alphanumeric()
            || matches!(char, ' ' | '.' | '-' | '/' | ',' | char::REPLACEMENT_CHARACTER)
    };
    escaped(text, |char| (!is_safe(char)).then(|| format!("#{};", u32::from(char))))
}
