//! The table of crates in docs/architecture.md, against the manifests.

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, MetadataCommand};

use crate::finding::Finding;

const PAGE: &str = "docs/architecture.md";

/// A package of the workspace, as its manifest has it.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) folder: String,
    /// Names of direct dependencies.
    pub(crate) normal: BTreeSet<String>,
    /// Those of tests and benches.
    pub(crate) dev: BTreeSet<String>,
}

/// All packages of the workspace.
pub(crate) fn packages() -> Vec<Manifest> {
    let mut command = MetadataCommand::new();
    let metadata = command.no_deps().other_options(["--offline".to_owned()]).exec().unwrap();
    let root = metadata.workspace_root.clone();
    let packages = metadata.packages.into_iter().map(|package| {
        let named = |wanted: fn(DependencyKind) -> bool| {
            let all = package.dependencies.iter().filter(|one| wanted(one.kind));
            all.map(|one| one.name.clone()).collect()
        };
        let folder = package.manifest_path.parent().unwrap().strip_prefix(&root).unwrap();
        Manifest {
            normal: named(|kind| kind != DependencyKind::Development),
            dev: named(|kind| kind == DependencyKind::Development),
            folder: folder.to_string(),
            name: package.name.to_string(),
        }
    });
    packages.collect()
}

/// A row of the table.
#[derive(Debug, Default)]
struct Row {
    folder: String,
    name: String,
    /// Of our crates; `None` for all.
    allowed: Option<BTreeSet<String>>,
    /// All but these.
    excepted: BTreeSet<String>,
    forbidden: BTreeSet<String>,
}

/// Every package has a row, every row a package, and dependencies are those of the row.
pub(crate) fn check(page: &str, packages: &[Manifest]) -> Vec<Finding> {
    let rows = rows(page);
    let ours: BTreeSet<_> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for row in rows.iter().filter(|row| !packages.iter().any(|one| one.name == row.name)) {
        findings.push(Finding::new(
            "crate",
            PAGE,
            format!("no package {}", row.name),
            "delete its row",
        ));
    }
    for package in packages {
        let manifest = format!("{}/Cargo.toml", package.folder);
        let mut wrong = |what: String, remedy: &str| {
            findings.push(Finding::new("crate", &manifest, what, remedy));
        };
        let row = rows.iter().find(|row| row.name == package.name && row.folder == package.folder);
        let Some(row) = row else {
            wrong(format!("{} has no row", package.name), "add it to docs/architecture.md");
            continue;
        };
        for name in package.normal.iter().filter(|name| ours.contains(name.as_str())) {
            let allowed = row.allowed.as_ref().is_none_or(|allowed| allowed.contains(name));
            if !allowed || row.excepted.contains(name) {
                wrong(format!("depends on {name}"), "its row in docs/architecture.md forbids that");
            }
        }
        for name in package.normal.intersection(&row.forbidden) {
            wrong(format!("depends on {name}"), "its row in docs/architecture.md forbids that");
        }
        let of_tests = |name: &str| {
            packages.iter().any(|one| one.name == name && one.folder.starts_with("e2e"))
        };
        let outside = !package.folder.starts_with("e2e");
        for name in package.dev.iter().filter(|name| outside && of_tests(name)) {
            if name != "fleet-model-server" {
                wrong(format!("tests depend on {name}"), "nothing of e2e but the model server");
            }
        }
    }
    findings
}

/// The rows between the markers.
fn rows(page: &str) -> Vec<Row> {
    let inside = page.split("<!-- modules -->").nth(1).unwrap_or("");
    let inside = inside.split("<!-- /modules -->").next().unwrap_or("");
    let mut rows: Vec<Row> = Vec::new();
    for line in inside.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [folder, name, _, allowed, forbidden] = cells[..] else { continue };
        let mut row = Row {
            folder: folder.trim_matches('`').trim_end_matches('/').to_owned(),
            name: name.to_owned(),
            forbidden: names(forbidden, ""),
            ..Row::default()
        };
        if let Some(excepted) = allowed.strip_prefix("everything but ") {
            row.excepted = names(excepted, "fleet-");
        } else if let Some(more) = allowed.strip_prefix('+') {
            let above = rows.last().and_then(|row| row.allowed.clone()).unwrap_or_default();
            row.allowed = Some(above.into_iter().chain(names(more, "fleet-")).collect());
        } else if allowed != "everything" {
            row.allowed = Some(names(allowed, "fleet-"));
        }
        rows.push(row);
    }
    rows
}

/// Names of a cell, each also with the prefix that most of our packages have.
fn names(cell: &str, prefix: &str) -> BTreeSet<String> {
    let names = cell.split_whitespace().filter(|name| *name != "–");
    names.flat_map(|name| [name.to_owned(), format!("{prefix}{name}")]).collect()
}
