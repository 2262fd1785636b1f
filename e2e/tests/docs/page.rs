//! What of a page is to be run: its shell blocks, and what comments that no reader sees add to them.
//!
//! - `<!-- not tested: REASON -->` before a block: it is not run.
//! - `<!-- test: COMMANDS -->`: is run here; what a reader has done, or what happens meanwhile, and checks.

use std::iter::Peekable;
use std::str::Lines;

use anyhow::{Context, Result, bail, ensure};

/// A block, where it begins (from 1), and what is in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) line: usize,
    pub(crate) content: Content,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Commands: ```` ```sh ````, or a comment.
    Script(String),
    /// Commands after a prompt, each with what it prints: ```` ```console ````.
    Transcript(Vec<(String, Vec<String>)>),
    /// Not to be run, for a reason.
    Excused(String),
}

const EXCUSE: &str = "<!-- not tested:";
const HIDDEN: &str = "<!-- test:";
const END: &str = "-->";

/// The blocks of a page in their order.
pub(crate) fn blocks(page: &str) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut excuse = None;
    let mut lines = Numbered { lines: page.lines().peekable(), number: 0 };
    while let Some(text) = lines.next() {
        let line = lines.number;
        let content = if let Some(language) = text.trim_start().strip_prefix("```") {
            let code = lines.until("```").with_context(|| format!("line {line}"))?;
            match (language, excuse.take()) {
                ("sh" | "console", Some(reason)) => Content::Excused(reason),
                ("sh", None) => Content::Script(code.join("\n")),
                ("console", None) => Content::Transcript(transcript(&code)?),
                (_, Some(_)) => bail!("line {line}: only shell blocks are excused"),
                (_, None) => continue,
            }
        } else if let Some(rest) = text.strip_prefix(EXCUSE) {
            let reason = lines.comment(rest)?.join(" ");
            ensure!(!reason.trim().is_empty(), "line {line}: say why it is not tested");
            ensure!(
                lines.lines.peek().is_some_and(|next| next.starts_with("```")),
                "line {line}: the block has to follow"
            );
            excuse = Some(reason.trim().to_owned());
            continue;
        } else if let Some(rest) = text.strip_prefix(HIDDEN) {
            Content::Script(lines.comment(rest)?.join("\n"))
        } else {
            continue;
        };
        blocks.push(Block { line, content });
    }
    Ok(blocks)
}

struct Numbered<'a> {
    lines: Peekable<Lines<'a>>,
    number: usize,
}

impl<'a> Numbered<'a> {
    fn next(&mut self) -> Option<&'a str> {
        self.number += 1;
        self.lines.next()
    }

    /// Lines up to one that begins with `end`.
    fn until(&mut self, end: &str) -> Result<Vec<&'a str>> {
        let mut found = Vec::new();
        loop {
            let line = self.next().context("the block does not end")?;
            if line.trim_start().starts_with(end) {
                return Ok(found);
            }
            found.push(line);
        }
    }

    /// The rest of a comment whose first line has begun.
    fn comment(&mut self, first: &'a str) -> Result<Vec<&'a str>> {
        let (mut found, mut line) = (Vec::new(), first);
        loop {
            if let Some((last, _)) = line.split_once(END) {
                found.push(last);
                return Ok(found);
            }
            found.push(line);
            line = self.next().context("the comment does not end")?;
        }
    }
}

fn transcript(code: &[&str]) -> Result<Vec<(String, Vec<String>)>> {
    let mut transcript: Vec<(String, Vec<String>)> = Vec::new();
    for line in code {
        if let Some(command) = line.strip_prefix("$ ") {
            transcript.push((command.to_owned(), Vec::new()));
        } else {
            let (_, output) = transcript.last_mut().context("a transcript begins with a prompt")?;
            output.push((*line).to_owned());
        }
    }
    Ok(transcript)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_blocks_are_found_in_their_order() {
        let page = "Text.\n```sh\na \\\n  b\n```\n```yaml\nno: no\n```\n```console\n$ c\nout\n$ d\n```\n<!-- test: e\nf -->\n";
        let blocks = blocks(page).unwrap();
        let transcript =
            vec![("c".to_owned(), vec!["out".to_owned()]), ("d".to_owned(), Vec::new())];
        assert_eq!(
            blocks,
            [
                Block { line: 2, content: Content::Script("a \\\n  b".to_owned()) },
                Block { line: 9, content: Content::Transcript(transcript) },
                Block { line: 14, content: Content::Script(" e\nf ".to_owned()) },
            ]
        );
    }

    #[test]
    fn an_excuse_has_a_reason_and_a_block() {
        let excused = blocks("<!-- not tested: takes\nminutes -->\n```sh\na\n```\n").unwrap();
        assert_eq!(excused[0].content, Content::Excused("takes minutes".to_owned()));
        for wrong in
            ["<!-- not tested: -->\n```sh\na\n```\n", "<!-- not tested: x -->\n\n```sh\na\n```\n"]
        {
            assert!(blocks(wrong).is_err(), "{wrong}");
        }
        assert!(blocks("```sh\na\n").is_err());
    }
}
