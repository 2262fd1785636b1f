//! Controllers stand side by side, and their plans are pure.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::tree::{Import, Package};

/// Who wires controllers.
const WIRING: [&str; 3] = ["app", "lib", "main"];

/// What plans do without.
const IMPURE: [&str; 8] = [
    "tokio",
    "prometheus",
    "parking_lot",
    "tracing",
    "kube::Api",
    "kube::Client",
    "std::sync",
    "std::time::Instant",
];

/// Shares what does not change.
const SHARED: &str = "std::sync::Arc";

/// All rules, for one agent. A controller is a module at the root of the crate, with all files in its folder.
pub(crate) fn check(package: &Package, page: &str) -> Vec<Finding> {
    let controllers: BTreeSet<_> = if package.folder.ends_with("-agent") {
        let files = package.implementing("Controller");
        files.into_iter().map(|file| module(package, file)).collect()
    } else {
        BTreeSet::new()
    };
    let imports = package.imports();
    let beside = imports.iter().filter_map(|import| across(package, import, &controllers));
    let paths = package.paths();
    let in_plans = paths.iter().filter(|path| controllers.contains(&module(package, &path.file)));
    let impure = in_plans.filter_map(|named| {
        let path = named.path.join("::");
        let within = |one: &str| {
            path.strip_prefix(one).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let what = IMPURE.iter().find(|one| within(one) && !within(SHARED))?;
        let remedy = "hand it over as data of the plan, or do it in the writer or the recorder";
        Some(Finding::new("plan", &named.file, format!("names `{what}`"), remedy))
    });
    let unknown = controllers.iter().filter(|name| !has_row(page, &package.folder, name));
    let unknown = unknown.map(|name| {
        let what = format!("no row for the controller `{name}` of {}", package.folder);
        Finding::new("controller", "docs/architecture.md", what, "add it to the table in Plans")
    });
    let all: BTreeSet<_> = beside.chain(impure).chain(unknown).collect();
    all.into_iter().collect()
}

/// Whether the table of controllers has one of this name: its rows begin with the agent, `hub` or `member`.
fn has_row(page: &str, folder: &str, name: &str) -> bool {
    let row = format!("| {} ", folder.trim_end_matches("-agent"));
    let mut rows = page.lines().filter(|line| line.starts_with(&row));
    rows.any(|line| line.split(" | ").next().unwrap_or(line).contains(&format!("`{name}`")))
}

fn across(package: &Package, import: &Import, controllers: &BTreeSet<String>) -> Option<Finding> {
    let (from, to) = (module(package, &import.from), module(package, &import.to));
    if from == to || !controllers.contains(&to) || WIRING.contains(&from.as_str()) {
        return None;
    }
    let what = format!("takes `{}` from the controller `{to}` ({})", import.item, import.to);
    let remedy = "move it to the ground of the crate, or to crates/model if both agents need it";
    Some(Finding::new("controller", &import.from, what, remedy))
}

/// The module at the root of the crate that a file belongs to.
fn module(package: &Package, file: &str) -> String {
    let inner = file.strip_prefix(&format!("{}/src/", package.folder)).unwrap_or(file);
    let first = inner.split('/').next().unwrap_or(inner);
    first.strip_suffix(".rs").unwrap_or(first).to_owned()
}
