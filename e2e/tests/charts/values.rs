//! `docs/charts.md` contains what `values.yaml` of the charts contains.

use std::fmt::Write;
use std::path::Path;

use fleet_testbed::helm::chart;

use crate::CHARTS;

const BEGIN: &str = "<!-- values: made by e2e/tests/charts/values.rs -->\n";

/// `WRITE_GOLDEN=1 cargo test -p fleet-e2e --test charts values` writes the tables.
#[test]
fn the_table_of_values_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/charts.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (own, _) = text.split_once(BEGIN).expect("docs/charts.md has a place for the tables");
    let current = format!("{own}{BEGIN}{}", tables());
    if std::env::var_os("WRITE_GOLDEN").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        current,
        "docs/charts.md is stale; WRITE_GOLDEN=1 writes it"
    );
}

fn tables() -> String {
    let mut tables = String::new();
    for name in CHARTS {
        let text = std::fs::read_to_string(chart(name).join("values.yaml")).unwrap();
        write!(tables, "\n### {name}\n\n| value | default | meaning |\n|---|---|---|\n").unwrap();
        for (path, default, meaning) in values(&text) {
            let default = default.replace('|', "\\|");
            writeln!(tables, "| `{path}` | `{default}` | {meaning} |").unwrap();
        }
    }
    tables
}

/// Path, default and meaning of every value that a comment `# --` describes.
fn values(text: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let mut above: Vec<(usize, &str)> = Vec::new();
    let mut meaning = String::new();
    for line in text.lines() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if let Some(said) = content.strip_prefix("# -- ") {
            said.clone_into(&mut meaning);
        } else if let (Some(said), false) = (content.strip_prefix("# "), meaning.is_empty()) {
            meaning = format!("{meaning} {said}");
        } else if let Some((key, default)) =
            content.split_once(':').filter(|_| !content.starts_with('#'))
        {
            above.retain(|(of, _)| *of < indent);
            above.push((indent, key));
            if !meaning.is_empty() {
                let path: Vec<_> = above.iter().map(|(_, key)| *key).collect();
                let default = default.trim();
                let default = if default.is_empty() { "see values.yaml" } else { default };
                found.push((path.join("."), default.to_owned(), std::mem::take(&mut meaning)));
            }
        }
    }
    found
}

/// What `--set` and its kin set in calls of Helm in the README and the docs.
#[test]
fn what_the_docs_set_is_a_value_of_the_chart() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut count = 0;
    // Measured results lie in folders among the pages.
    let pages = docs.filter(|path| path.is_file()).chain([root.join("README.md")]);
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap().replace("\\\n", " ");
        for call in text.lines().filter(|line| line.contains("helm ") && line.contains(" --set")) {
            let name = CHARTS.into_iter().find(|name| call.contains(&format!("charts/{name}")));
            let name = name.unwrap_or_else(|| panic!("{}: of which chart? {call}", page.display()));
            let values = std::fs::read_to_string(chart(name).join("values.yaml")).unwrap();
            let known: Vec<_> = values_and_groups(&values);
            for path in set(call) {
                count += 1;
                assert!(known.contains(&path), "{}: {name} has no value {path}", page.display());
            }
        }
    }
    assert!(count > 3, "only {count} values are set");
}

/// Paths of all values, described or not.
fn values_and_groups(text: &str) -> Vec<String> {
    let described = text.lines().map(|line| {
        let indent = &line[..line.len() - line.trim_start().len()];
        let is_value = line.contains(':') && !line.trim_start().starts_with('#');
        if is_value { format!("{indent}# -- It\n{line}\n") } else { String::new() }
    });
    values(&described.collect::<String>()).into_iter().map(|(path, ..)| path).collect()
}

/// The paths that a call sets.
fn set(call: &str) -> Vec<String> {
    let words: Vec<_> = call.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| pair[0].starts_with("--set"));
    let entries = pairs.flat_map(|pair| pair[1].trim_matches(['"', '\'']).split(','));
    let paths = entries.filter_map(|entry| entry.split_once('=')).map(|(path, _)| path);
    paths.map(|path| path.split('[').next().unwrap_or(path).to_owned()).collect()
}

#[test]
fn values_are_found_with_their_paths() {
    let text = "# A file.\n\na:\n  # -- One\n  # two\n  b: \"x\"\n  c:\n    # -- Three\n    d: []\n# -- Four\ne: 1\n";
    let text = values(text);
    let short: Vec<_> =
        text.iter().map(|(path, default, meaning)| [path, default, meaning]).collect();
    assert_eq!(short[0], ["a.b", "\"x\"", "One two"]);
    assert_eq!(short[1], ["a.c.d", "[]", "Three"]);
    assert_eq!(short[2], ["e", "1", "Four"]);
}
