//! Text that others wrote, on its way to a terminal.
//!
//! Names, annotations, messages of conditions and errors of API servers come from members and from all who may write there. A
//! terminal takes some characters for commands: they could hide a line, forge one, or change the order of what is shown. All output
//! passes through here, so that no part of the program has to remember it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Begins bold text.
pub(super) const BOLD: &str = "\x1b[1m";
/// Begins red text.
pub(super) const RED: &str = "\x1b[31m";
/// Begins green text.
pub(super) const GREEN: &str = "\x1b[32m";
/// Begins yellow text.
pub(super) const YELLOW: &str = "\x1b[33m";
/// Ends any of them.
pub(super) const OFF: &str = "\x1b[0m";

/// Whether a terminal acts on the character, or shows text in another order because of it.
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text in one line: each active character as Rust writes it, `\n` and `\u{1b}`.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_active, |c, out| out.extend(c.escape_default()))
}

/// The text with its lines, tabs and the colours that [`Paint`](super::Paint) gives; nothing else in it is active.
pub(super) fn block(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| is_active(c) && !is_layout(c)) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| is_active(c) && !is_layout(c)) {
        let (before, from) = rest.split_at(at);
        shown.push_str(before);
        let colour =
            [BOLD, RED, GREEN, YELLOW, OFF].into_iter().find(|colour| from.starts_with(colour));
        let end = colour.map_or_else(|| from.chars().next().map_or(0, char::len_utf8), str::len);
        let (active, after) = from.split_at(end);
        shown.push_str(&colour.map_or_else(|| line(active), Cow::from));
        rest = after;
    }
    shown.push_str(rest);
    shown.into()
}

/// JSON that means the same and has no active character but line feeds: those inside texts are escaped as JSON does.
pub(super) fn json(text: &str) -> Cow<'_, str> {
    let is_inside = |c: char| is_active(c) && c != '\n';
    escaped(text, is_inside, |c, out| {
        let _ = write!(out, "\\u{:04x}", u32::from(c));
    })
}

/// Whether data can be shown as they are.
pub(super) fn is_inert(text: &str) -> bool {
    !text.contains(|c: char| is_active(c) && !is_layout(c))
}

fn is_layout(c: char) -> bool {
    matches!(c, '\n' | '\t')
}

fn escaped(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) { escape(c, &mut shown) } else { shown.push(c) }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Paint;

    /// Clears the screen, forges a line, rings, sets a title by control codes beyond ASCII, and reverses what follows.
    const HOSTILE: &str = "a\u{1b}[2J\nb\r\u{7}\u{9d}0;x\u{9c}\u{202e}c\u{2028}d\u{7f}";

    #[test]
    fn a_line_stays_one_line_without_commands() {
        assert_eq!(
            line(HOSTILE),
            "a\\u{1b}[2J\\nb\\r\\u{7}\\u{9d}0;x\\u{9c}\\u{202e}c\\u{2028}d\\u{7f}"
        );
        assert!(matches!(line("für 東京"), Cow::Borrowed("für 東京")));
    }

    #[test]
    fn a_block_keeps_lines_and_our_colours_alone() {
        let text = format!("{}\n\t{HOSTILE}\n", Paint(true).bad("stop"));
        let shown = block(&text);
        assert!(shown.starts_with("\u{1b}[31mstop\u{1b}[0m\n\ta\\u{1b}[2J\nb\\r"), "{shown:?}");
        assert!(!shown.contains(['\r', '\u{7}', '\u{9d}', '\u{202e}', '\u{7f}']), "{shown:?}");
        assert_eq!(shown.matches('\u{1b}').count(), 2, "{shown:?}");
    }

    #[test]
    fn json_means_the_same_without_active_characters() {
        let text = serde_json::to_string_pretty(&[HOSTILE]).unwrap();
        let shown = json(&text);
        assert!(is_inert(&shown), "{shown:?}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&shown).unwrap(), [HOSTILE]);
    }
}
