//! What workflows run is pinned: actions by a commit, images of containers by a digest. A tag can be moved.

#![allow(clippy::unwrap_used, reason = "clippy takes only #[test] functions for tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// What a file of YAML uses, each with whether it is pinned.
fn used(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    walk(&serde_saphyr::from_str(text).unwrap(), &mut found);
    found
}

fn walk(value: &Value, found: &mut Vec<(String, bool)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    // A folder of this repository is of the same commit.
                    ("uses", Value::String(it)) => {
                        let pinned = it.starts_with("./")
                            || if it.starts_with("docker://") {
                                has_digest(it)
                            } else {
                                has_commit(it)
                            };
                        found.push((it.clone(), pinned));
                    }
                    ("container" | "image", Value::String(it)) => {
                        found.push((it.clone(), has_digest(it)));
                    }
                    // Anything but text cannot be looked at.
                    ("uses" | "image", other) => found.push((format!("{key}: {other}"), false)),
                    (_, other) => walk(other, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| walk(value, found)),
        _ => {}
    }
}

/// `OWNER/NAME@COMMIT`
fn has_commit(text: &str) -> bool {
    text.split_once('@').is_some_and(|(name, commit)| name.contains('/') && is_hex(commit, 40))
}

/// `NAME@sha256:DIGEST`
fn has_digest(text: &str) -> bool {
    text.split_once("@sha256:").is_some_and(|(name, digest)| !name.is_empty() && is_hex(digest, 64))
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

#[test]
fn workflows_use_nothing_that_can_be_moved() {
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github")];
    let mut all = 0;
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            if !path.extension().is_some_and(|it| it == "yaml" || it == "yml") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for (it, pinned) in used(&text) {
                assert!(pinned, "{}: {it} is not pinned by a commit or digest", path.display());
                all += 1;
                // For readers, and for programs that look for new releases.
                let name = it.split('@').next().unwrap();
                let mut lines = text.lines().filter(|line| line.contains(&format!("{it} # v")));
                assert!(
                    it.starts_with("./") || lines.next().is_some(),
                    "{name}: no version beside it"
                );
            }
        }
    }
    assert!(all > 0, "no workflow was found");
}

/// Images that a script names, with their tag or digest. What stands beside a variable is put together there.
fn pulled(script: &str) -> Vec<&str> {
    let breaks = |c: char| c.is_whitespace() || "'\"=".contains(c);
    let words = script.split(breaks).filter(|word| {
        let registry = word.split_once('/').map_or("", |(registry, _)| registry);
        let name = word.rsplit('/').next().unwrap_or_default();
        let has_tag = name.split_once(':').is_some_and(|(_, tag)| !tag.is_empty());
        has_tag && registry.contains('.') && registry.starts_with(char::is_alphanumeric)
    });
    words.filter(|word| !word.contains("://") && !word.contains('$')).collect()
}

#[test]
fn scripts_pull_nothing_that_can_be_moved() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = 0;
    for folder in [".ci", "e2e/kind", "e2e/kind/stand-in"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let Ok(text) = fs::read_to_string(&path) else { continue };
            for image in pulled(&text) {
                assert!(has_digest(image), "{}: {image} has no digest", path.display());
                all += 1;
            }
        }
    }
    assert!(all > 0, "no script pulls the image of the Pods on kind");
    let script =
        "run --image 'ghcr.io/a/b:1' --image=docker.io/c:2@sha256:0 http://x.y:1/z \"$r/d:3\"";
    assert_eq!(pulled(script), ["ghcr.io/a/b:1", "docker.io/c:2@sha256:0"]);
}

#[test]
fn what_can_be_moved_is_found_however_it_is_written() {
    let (commit, digest) = ("a1".repeat(20), "b2".repeat(32));
    let text = format!(
        "jobs:
  one:
    container: debian:13
    services: {{db: {{image: 'postgres:18'}}}}
    steps:
    - {{\"uses\": actions/checkout@v7}}
    - uses:
        actions/cache@main
    - uses: actions/short@{}
    - uses: docker://alpine:3
    - uses: actions/none
    - uses: [actions/list@v1]
  two:
    container: {{image: 'debian@sha256:{digest}'}}
    uses: owner/repository/.github/workflows/it.yaml@{commit}
    steps:
    - uses: ./local
    - run: 'uses: nothing/here@v1'
    - uses: docker://alpine@sha256:{digest}
",
        &commit[..39],
    );
    let (right, wrong): (Vec<_>, _) = used(&text).into_iter().partition(|(_, pinned)| *pinned);
    let texts =
        |list: Vec<(String, bool)>| list.into_iter().map(|it| it.0).collect::<BTreeSet<_>>();
    let expected = [
        "debian:13",
        "postgres:18",
        "actions/checkout@v7",
        "actions/cache@main",
        &format!("actions/short@{}", &commit[..39]),
        "docker://alpine:3",
        "actions/none",
        "uses: [\"actions/list@v1\"]",
    ];
    assert_eq!(texts(wrong), expected.map(str::to_owned).into());
    assert_eq!(right.len(), 4);
}
