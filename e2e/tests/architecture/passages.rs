//! What people read in a file.

use crate::lexer::{Kind, tokens};
use crate::repository::Text;

/// A comment, a string or a paragraph.
pub(crate) struct Passage {
    pub(crate) text: String,
    pub(crate) line: usize,
    pub(crate) is_comment: bool,
}

/// Of code the comments and, outside of tests, the strings; else everything.
pub(crate) fn of(text: &Text) -> Vec<Passage> {
    let is_test = ["/tests/", "/benches/", "/examples/"]
        .iter()
        .any(|part| format!("/{}", text.path).contains(part))
        || text.path.ends_with("tests.rs");
    match text.ending() {
        "rs" | "go" => in_code(&text.content, !is_test),
        "md" | "txt" => {
            let lines = text.content.lines().enumerate();
            lines.map(|(at, line)| passage(line, at + 1, false)).collect()
        }
        _ => {
            let lines = text.content.lines().enumerate();
            let comments = lines.filter_map(|(at, line)| Some((at, line.split_once("# ")?.1)));
            comments.map(|(at, comment)| passage(comment, at + 1, true)).collect()
        }
    }
}

fn passage(text: &str, line: usize, is_comment: bool) -> Passage {
    Passage { text: text.trim().to_owned(), line, is_comment }
}

/// Comments on lines that follow each other are one.
fn in_code(content: &str, with_strings: bool) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut last = 0;
    for token in tokens(content) {
        match token.kind {
            Kind::Comment if last > 0 && token.line == last + 1 => {
                last = token.line;
                let before = passages.iter_mut().rfind(|passage| passage.is_comment);
                if let Some(before) = before {
                    before.text = format!("{} {}", before.text, token.text.trim());
                }
            }
            Kind::Comment => {
                last = token.line;
                passages.push(passage(&token.text, token.line, true));
            }
            Kind::Text if with_strings && token.text.contains(' ') => {
                passages.push(passage(&token.text, token.line, false));
            }
            _ => last = 0,
        }
    }
    passages
}
