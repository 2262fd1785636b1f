//! What a text cites has a row, or a page with that heading.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::passages::Passage;
use crate::repository::{Repository, Text};

/// Pages whose tables define codes.
const PAGES: [&str; 3] =
    ["docs/design/contract.md", "docs/design/invariants.md", "docs/security.md"];

/// Look like codes, and are none.
const NO_CODES: [&str; 6] = ["UTF-8", "SHA-1", "SHA-256", "ISO-8601", "P-256", "CVE-20"];

/// What can be cited.
pub(crate) struct Rows {
    codes: BTreeSet<String>,
    /// `docs/page.md` and `docs/page.md#heading`.
    places: BTreeSet<String>,
    files: Vec<String>,
}

impl Rows {
    pub(crate) fn of(repository: &Repository) -> Self {
        let pages = repository.texts().into_iter().filter(|text| text.ending() == "md");
        Self::new(&pages.collect::<Vec<_>>(), repository.files().to_vec())
    }

    pub(crate) fn new(pages: &[Text], files: Vec<String>) -> Self {
        let mut rows = Self { codes: BTreeSet::new(), places: BTreeSet::new(), files };
        for page in pages {
            rows.places.insert(page.path.clone());
            let headings = page.content.lines().filter(|line| line.starts_with('#'));
            rows.places.extend(headings.map(|line| format!("{}#{}", page.path, anchor(line))));
            if PAGES.contains(&page.path.as_str()) {
                let cells = page.content.lines().filter_map(|line| line.strip_prefix("| "));
                let codes = cells.filter_map(|cells| cells.split(" |").next());
                rows.codes.extend(codes.filter(|code| is_code(code)).map(str::to_owned));
            }
        }
        rows
    }
}

impl Rows {
    /// Whether there is such a file or folder.
    fn has_file(&self, path: &str) -> bool {
        let below =
            |file: &String| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        self.files.iter().any(|file| file == path || below(file))
    }
}

/// Folders at the top of the repository that hold its parts.
const TOPS: [&str; 8] =
    ["api/", "charts/", "crates/", "e2e/", "fleetctl/", "hub-agent/", "member-agent/", "tools/"];

/// Paths in backticks, from the root of the repository; `{a,b}` is two.
fn paths(text: &str) -> impl Iterator<Item = String> {
    let spans = text.split('`').skip(1).step_by(2);
    let paths = spans.filter(|span| TOPS.iter().any(|top| span.starts_with(top)));
    let exact = paths.filter(|path| !path.contains(['*', '<', '$', ' ', ':', '#']));
    exact
        .flat_map(|path| {
            let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
            let (inside, after) = rest.split_once('}').unwrap_or((rest, ""));
            inside.split(',').map(|one| format!("{before}{one}{after}")).collect()
        })
        .map(|path| path.trim_end_matches('/').to_owned())
}

/// Codes without a row, pages and headings that do not exist, numbers of lists that are nowhere.
pub(crate) fn check(file: &str, passages: &[Passage], rows: &Rows) -> Vec<Finding> {
    let mut findings = Vec::new();
    for passage in passages {
        let place = format!("{file}:{}", passage.line);
        let mut wrong = |what: String, remedy: &str| {
            findings.push(Finding::new("reference", &place, what, remedy));
        };
        for code in codes(&passage.text).filter(|code| !rows.codes.contains(*code)) {
            wrong(
                format!("`{code}` has no row"),
                "add it to a table of docs/design, or name the rule",
            );
        }
        for page in pages(&passage.text).filter(|page| !rows.places.contains(*page)) {
            wrong(format!("no `{page}`"), "cite a page and a heading that exist");
        }
        for path in paths(&passage.text).filter(|path| !rows.has_file(path)) {
            wrong(format!("no `{path}`"), "name a file or folder that exists");
        }
        if passage.is_comment && starts_with_number(&passage.text) {
            wrong(
                "cites a bare number".to_owned(),
                "cite the row of docs/design/contract.md, EPS-n",
            );
        }
    }
    findings
}

/// Words that look like a row's code.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"-_./:$\\{}%#@".contains(c));
    let words = words.map(|word| word.trim_matches(['.', ':', '-', '/']));
    // A range is two codes.
    let ends = words.flat_map(|word| match word.split_once('-') {
        Some((first, last)) if is_code(first) && is_code(last) => vec![first, last],
        _ => vec![word],
    });
    ends.filter(|word| is_code(word))
}

/// `S13`, `MCS-3`, `EW-D1`.
fn is_code(word: &str) -> bool {
    let letters = word.chars().take_while(char::is_ascii_uppercase).count();
    let rest = &word[letters..];
    let number = |text: &str| {
        (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let short = letters == 1 && "SLMFCP".contains(&word[..1]) && number(rest);
    let dashed = rest.strip_prefix('-').map(|rest| rest.trim_start_matches('D'));
    let long = (2..=4).contains(&letters) && dashed.is_some_and(number);
    (short || long) && !NO_CODES.iter().any(|other| word.starts_with(other))
}

/// Pages of docs that the text names from the root of the repository.
fn pages(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || "`()[],;\"'|<>".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':', ',', '?']));
    words.filter(|word| word.starts_with("docs/") && word.contains(".md"))
}

/// `12: ...` and `12, 13: ...`, as the cases of a list are cited.
fn starts_with_number(text: &str) -> bool {
    let Some((before, _)) = text.split_once(": ") else { return false };
    let mut words = before.trim().split([',', ' ', '-']).filter(|word| !word.is_empty()).peekable();
    let number = |word: &str| word == "to" || word.bytes().all(|byte| byte.is_ascii_digit());
    // 404 and its like are answers of an API server.
    let answer = before.len() == 3 && before.trim() >= "200";
    words.peek().is_some() && !answer && words.all(number)
}

/// How GitHub calls a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().replace(' ', "-")
}
