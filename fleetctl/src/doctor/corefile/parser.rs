//! Words and blocks of a Corefile, as the parser of CoreDNS finds them (`caddyfile` of github.com/coredns/caddy).

use std::fmt;
use std::iter::Peekable;

/// The directive that brings in another file.
pub(super) const IMPORT: &str = "import";
/// Braces in braces: a server, a plugin, an option, and one more for plugins to come.
const DEPTH: usize = 4;

/// A word, without quotes around it, and without what `#` hides in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// Where it begins and ends in the text, all included.
    pub(super) begin: usize,
    pub(super) end: usize,
    line: usize,
    last_line: usize,
}

impl Word<'_> {
    fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { line: self.line, what }
    }
}

/// The text in a pair of braces, or that of the only server, which needs none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// Where the text begins.
    pub(super) begin: usize,
    pub(super) directives: Vec<Directive<'a>>,
}

/// A server with its addresses, a plugin or an option with its arguments. It has a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Directive<'a> {
    pub(super) words: Vec<Word<'a>>,
    pub(super) block: Option<Block<'a>>,
}

/// A text that CoreDNS would not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    line: usize,
    what: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Malformed {}

type Words<'a> = Peekable<std::vec::IntoIter<Word<'a>>>;

/// Reads all servers, snippets, and imports among them.
///
/// # Errors
/// If a brace has no partner, or nothing before it; or a quote is not closed: CoreDNS reads on to the end, but no user means that.
pub(super) fn servers(text: &str) -> Result<Vec<Directive<'_>>, Malformed> {
    let words = words(text);
    if let Some(last) = words.last().filter(|last| is_open(&text[last.begin..])) {
        return Err(last.malformed("this quote is not closed"));
    }
    let mut words = words.into_iter().peekable();
    let mut servers = Vec::new();
    while let Some(first) = words.peek().copied() {
        if first.text == "}" {
            return Err(first.malformed("no brace is open"));
        }
        if first.text == IMPORT {
            words.next();
            servers.push(directive(first, &mut words, &[])?);
            continue;
        }
        let addresses = addresses(&mut words);
        let begin = addresses.last().map_or(first.begin, |last| last.end);
        let block = match words.next_if(|word| word.text == "{") {
            Some(brace) => Some(block(brace, &mut words, &[])?),
            None if words.peek().is_none() => None,
            None => Some(Block { begin, directives: directives(&mut words, &[])? }),
        };
        // CoreDNS skips a block without any address.
        if !addresses.is_empty() {
            servers.push(Directive { words: addresses, block });
        }
    }
    Ok(servers)
}

/// The addresses of a server: those of a line, and of the next one after a comma.
fn addresses<'a>(words: &mut Words<'a>) -> Vec<Word<'a>> {
    let mut addresses: Vec<Word<'a>> = Vec::new();
    let mut line = None;
    let belongs = |word: &Word<'a>, line: Option<usize>| {
        !matches!(word.text, "{" | "}") && line.is_none_or(|line| word.line == line)
    };
    while let Some(word) = words.next_if(|word| belongs(word, line)) {
        line = (!word.text.ends_with(',')).then_some(word.last_line);
        addresses.push(word);
    }
    addresses
}

/// What is in a pair of braces, the first of which was read. `open` are the braces around them.
fn block<'a>(
    brace: Word<'a>,
    words: &mut Words<'a>,
    open: &[Word<'a>],
) -> Result<Block<'a>, Malformed> {
    if open.len() == DEPTH {
        return Err(brace.malformed("too many braces in braces"));
    }
    let directives = directives(words, &[open, &[brace]].concat())?;
    Ok(Block { begin: brace.end, directives })
}

/// Reads directives up to the brace that ends them, or to the end of the text.
fn directives<'a>(
    words: &mut Words<'a>,
    open: &[Word<'a>],
) -> Result<Vec<Directive<'a>>, Malformed> {
    let mut directives = Vec::new();
    loop {
        match (words.next(), open.last()) {
            (None, None) => return Ok(directives),
            (None, Some(open)) => return Err(open.malformed("this brace is not closed")),
            (Some(word), None) if word.text == "}" => {
                return Err(word.malformed("no brace is open"));
            }
            (Some(word), Some(_)) if word.text == "}" => return Ok(directives),
            (Some(word), _) if word.text == "{" => {
                return Err(word.malformed("this brace has nothing before it"));
            }
            (Some(first), _) => directives.push(directive(first, words, open)?),
        }
    }
}

/// Reads the rest of a directive: its line, and the braces after it.
fn directive<'a>(
    first: Word<'a>,
    words: &mut Words<'a>,
    open: &[Word<'a>],
) -> Result<Directive<'a>, Malformed> {
    let mut directive = Directive { words: vec![first], block: None };
    let mut line = first.last_line;
    let belongs = |word: &Word<'a>, line| match word.text {
        // Also in the next line.
        "{" => true,
        "}" => false,
        _ => word.line == line,
    };
    while let Some(word) = words.next_if(|word| belongs(word, line)) {
        if word.text == "{" {
            directive.block = Some(block(word, words, open)?);
            break;
        }
        line = word.last_line;
        directive.words.push(word);
    }
    Ok(directive)
}

/// All words, without comments.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    // A byte order mark is none of the text.
    let mut at = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut line = 1;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match first {
            '"' => quoted(rest).unwrap_or(rest.len()),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            _ if first.is_whitespace() => first.len_utf8(),
            _ => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        let whole = &rest[..length];
        let (end, last_line) = (at + length, line + whole.matches('\n').count());
        if first != '#' && !first.is_whitespace() {
            words.push(Word { text: inside(whole), begin: at, end, line, last_line });
        }
        (at, line) = (end, last_line);
    }
    words
}

/// What a word means: what is in its quotes, or before `#`, which within a word hides the rest of it, and not of the line.
fn inside(whole: &str) -> &str {
    match whole.strip_prefix('"') {
        Some(inside) => inside.strip_suffix('"').unwrap_or(inside),
        None => whole.split('#').next().unwrap_or_default(),
    }
}

/// Whether a word begins with a quote that nothing ends.
fn is_open(word: &str) -> bool {
    word.starts_with('"') && quoted(word).is_none()
}

/// How long a word in quotes is. It may have several lines, and ends with the text if nothing else ends it.
fn quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, letter)| {
        let ends = *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        ends
    });
    end.map(|(at, _)| at + 1)
}
