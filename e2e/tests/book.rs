//! The pages as a book: each is in the table of contents, and every link leads to a page and a heading that are there.

#![allow(clippy::unwrap_used, reason = "clippy takes only #[test] functions for tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The table of contents.
const CONTENTS: &str = "docs/SUMMARY.md";
/// The first page is read in one go.
const README_LINES: usize = 200;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All pages by their path in the repository.
fn pages() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root().join("docs")];
    let alone = ["README.md", "CHANGELOG.md", "e2e/README.md"].map(|page| root().join(page));
    let mut add = |path: &Path| {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        found.insert(name, std::fs::read_to_string(path).unwrap());
    };
    for path in &alone {
        add(path);
    }
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                add(&path);
            }
        }
    }
    found
}

/// A page without blocks of code and without what stands in backticks.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let mut text = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            text.extend(line.split('`').step_by(2));
        }
        text.push('\n');
    }
    text
}

/// What the links of a page lead to.
fn links(page: &str) -> Vec<String> {
    let text = prose(page);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

/// Names of the headings of a page, as links have them; a second one of the same name is numbered.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut is_code = false;
    let mut found = BTreeSet::new();
    for line in page.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let level = line.chars().take_while(|c| *c == '#').count();
        let Some(title) = line[level..].strip_prefix(' ').filter(|_| !is_code && level > 0) else {
            continue;
        };
        let kept = title.trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
        let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let count = counts.entry(name.clone()).or_default();
        found.insert(if *count == 0 { name } else { format!("{name}-{count}") });
        *count += 1;
    }
    found
}

/// The path in the repository that a link on a page leads to; `None` if it leads out of it.
fn resolved(page: &str, target: &str) -> Option<String> {
    let folder = Path::new(page).parent().unwrap_or_else(|| Path::new(""));
    let mut parts: Vec<String> = Vec::new();
    for component in folder.join(target).components() {
        match component {
            Component::ParentDir => drop(parts.pop()?),
            Component::Normal(part) => parts.push(part.to_str()?.to_owned()),
            Component::CurDir | Component::Prefix(_) | Component::RootDir => {}
        }
    }
    Some(parts.join("/"))
}

/// What is wrong with the links of a page.
fn broken(page: &str, text: &str, pages: &BTreeMap<String, String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for link in links(text).iter().filter(|link| !link.starts_with("https://")) {
        let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
        let place = if target.is_empty() { Some(page.to_owned()) } else { resolved(page, target) };
        let Some(place) = place.filter(|place| root().join(place).is_file()) else {
            wrong.push(format!("{page}: {link} leads nowhere"));
            continue;
        };
        let in_book =
            place.starts_with("docs/") || pages.contains_key(&place) || place == "LICENSE";
        if !in_book {
            wrong.push(format!("{page}: {link} is not in the book"));
        }
        let has_anchor = pages.get(&place).is_some_and(|it| anchors(it).contains(anchor));
        if !anchor.is_empty() && !has_anchor {
            wrong.push(format!("{page}: {link} leads to no heading"));
        }
    }
    wrong
}

#[test]
fn every_link_leads_to_a_page_and_a_heading() {
    let pages = pages();
    let wrong: Vec<_> = pages.iter().flat_map(|(page, text)| broken(page, text, &pages)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_name_the_version_that_is_released() {
    let pages = pages();
    for page in ["README.md", "docs/release.md"] {
        let named =
            ["hub-agent", "release"].iter().flat_map(|name| pages[page].split(name).skip(1));
        let versions = named.filter_map(|rest| rest.strip_prefix(['-', ':']));
        let versions: Vec<_> =
            versions.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).collect();
        assert!(!versions.is_empty(), "{page}");
        for version in versions {
            assert!(version.starts_with(env!("CARGO_PKG_VERSION")), "{page}: {version:.20}");
        }
    }
}

#[test]
fn every_page_is_in_the_table_of_contents_once() {
    let mut pages = pages();
    let contents = pages.remove(CONTENTS).unwrap();
    let mut listed: Vec<_> =
        links(&contents).iter().map(|link| resolved(CONTENTS, link).unwrap()).collect();
    listed.sort();
    assert_eq!(listed, pages.into_keys().collect::<Vec<_>>());
}

/// `make help` prints what the page shows.
#[test]
fn the_targets_of_make_are_listed() {
    let mut make = Command::new("make");
    make.args(["--no-print-directory", "help"]).current_dir(root()).env_remove("MAKEFLAGS");
    let help = String::from_utf8(make.output().unwrap().stdout).unwrap();
    assert!(help.lines().count() > 20, "{help}");
    let page = &pages()["docs/development.md"];
    assert!(
        page.contains(&help),
        "docs/development.md has to show what `make help` prints:\n{help}"
    );
}

#[test]
fn the_first_page_is_short() {
    let lines = pages()["README.md"].lines().count();
    assert!(lines <= README_LINES, "README.md has {lines} lines, of at most {README_LINES}");
}

#[test]
fn broken_links_are_found() {
    let page = |text: &str| text.to_owned();
    let pages = BTreeMap::from([
        ("README.md".to_owned(), page("# Top\n## Two words, and `code`\n")),
        ("docs/concepts.md".to_owned(), page("# A\n```sh\n# no heading\n```\n# A\n")),
    ]);
    let found = |text: &str| broken("docs/map.md", text, &pages);
    for sound in [
        "[a](../README.md#two-words-and-code)",
        "[a](concepts.md#a-1) and `[code](nowhere.md)`",
        "```\n[a](nowhere.md)\n```",
        "[a](https://example.com/nowhere.md)",
        "![a](map/map-light.png)",
    ] {
        assert!(found(sound).is_empty(), "{sound}: {:?}", found(sound));
    }
    for wrong in [
        "[a](nowhere.md)",
        "[a](concepts.md#no-heading)",
        "[a](#nothing-here)",
        "[a](../../../../README.md)",
        "[a](../Makefile)",
        "![a](map/none.png)",
    ] {
        assert_eq!(found(wrong).len(), 1, "{wrong}: {:?}", found(wrong));
    }
}
