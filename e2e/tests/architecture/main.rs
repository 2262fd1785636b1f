//! What docs/architecture.md and docs/design promise about the code, checked as text: which crate depends on which, that
//! controllers stand side by side, that no files import each other in a circle, that plan code is free of clocks and
//! clients, that every code, page and test that a text cites exists, that texts keep to the project's words, and files to a size.
//!
//! `allowed.txt` lists findings that are tolerated for now; an entry that matches nothing fails too. All findings of the
//! last run are in `target/architecture.txt`.

#![allow(clippy::unwrap_used, reason = "clippy takes only #[test] functions for tests")]

mod allowed;
mod attacks;
mod circles;
mod controllers;
mod crates;
mod finding;
mod lexer;
mod passages;
mod references;
mod repository;
mod sizes;
mod syntax;
mod tests;
mod tree;
mod words;

use repository::Repository;

#[test]
fn the_code_is_built_as_the_docs_say() {
    let repository = Repository::open();
    let page = repository.read("docs/architecture.md");
    let mut findings = crates::check(&page, &crates::packages());
    for package in repository.sources() {
        findings.extend(circles::check(&package));
        findings.extend(controllers::check(&package, &page));
    }
    let rows = references::Rows::of(&repository);
    for text in repository.texts() {
        findings.extend(sizes::check(&text));
        let passages = passages::of(&text);
        findings.extend(references::check(&text.path, &passages, &rows));
        findings.extend(words::check(&text.path, &passages));
    }
    let file =
        |path: &str| repository.files().contains(&path.to_owned()).then(|| repository.read(path));
    for table in attacks::TABLES {
        findings.extend(attacks::check(table, &repository.read(table.0), &file));
    }
    findings.sort();
    repository.keep("target/architecture.txt", &finding::lines(&findings));
    let problems = allowed::judge(include_str!("allowed.txt"), &findings);
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}
