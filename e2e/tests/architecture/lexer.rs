//! Rust text, cut into code, strings and comments. As exact as these tests need it.

/// One piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    /// From 1.
    pub(crate) line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier, a keyword or a number.
    Word,
    /// `::` or a single character.
    Sign,
    /// The content of a string literal.
    Text,
    /// A comment, without its slashes.
    Comment,
}

/// Cuts a file.
pub(crate) fn tokens(file: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = file;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (kind, text, length) = next(rest, first);
        if let Some(kind) = kind {
            tokens.push(Token { kind, text: text.to_owned(), line });
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

/// The next piece: what it is, its text, and how many bytes it takes.
fn next(rest: &str, first: char) -> (Option<Kind>, &str, usize) {
    if rest.starts_with("//") {
        let length = rest.find('\n').unwrap_or(rest.len());
        return (Some(Kind::Comment), rest[..length].trim_start_matches(['/', '!']), length);
    }
    if rest.starts_with("/*") {
        let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
        return (Some(Kind::Comment), rest[2..length].trim_end_matches("*/"), length);
    }
    if let Some((start, length)) = string(rest) {
        return (Some(Kind::Text), &rest[start..length], length);
    }
    if first == '\'' {
        return (None, "", character(rest));
    }
    if first.is_alphanumeric() || first == '_' {
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        return (Some(Kind::Word), &rest[..length], length);
    }
    if rest.starts_with("::") {
        return (Some(Kind::Sign), "::", 2);
    }
    let kind = (!first.is_whitespace()).then_some(Kind::Sign);
    (kind, &rest[..first.len_utf8()], first.len_utf8())
}

/// Where the content of a string literal starts, and where it ends.
fn string(rest: &str) -> Option<(usize, usize)> {
    let unmarked = rest.trim_start_matches(['b', 'c']);
    let raw = unmarked.strip_prefix('r');
    let hashes = raw.map_or(0, |raw| raw.len() - raw.trim_start_matches('#').len());
    let prefix = rest.len() - raw.unwrap_or(unmarked).len() + hashes;
    let start = rest[prefix..].strip_prefix('"').map(|_| prefix + 1).filter(|_| prefix < 8)?;
    if raw.is_some() {
        let end = rest[start..].find(&format!("\"{}", "#".repeat(hashes)))?;
        return Some((start, start + end + 1 + hashes));
    }
    let mut escaped = false;
    let end = rest[start..].find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    Some((start, start + end + 1))
}

/// The length of a character literal, or of the tick of a lifetime.
fn character(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), _) => rest[3..].find('\'').map_or(1, |end| end + 4),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}
