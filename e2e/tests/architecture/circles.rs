//! No circle of files, and no child takes what its parent's file defines.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::tree::{Import, Package};

const OPEN_CIRCLE: &str = "move what they share into a file that imports none of them";
const MOVE_DOWN: &str = "move the item into a file of its own, which both import";

/// Both rules, for one package.
pub(crate) fn check(package: &Package) -> Vec<Finding> {
    let imports = package.imports();
    let children = imports.iter().filter(|import| is_child(&import.from, &import.to));
    let child = |import: &Import| {
        let what = format!("takes `{}` from its parent {}", import.item, import.to);
        Finding::new("child", &import.from, what, MOVE_DOWN)
    };
    let circles = circles(&imports);
    let circle = |files: &BTreeSet<&str>| {
        let inside = imports.iter().filter(|import| {
            files.contains(import.from.as_str()) && files.contains(import.to.as_str())
        });
        let edges = inside.map(|import| {
            let short = |file: &str| file.replace(&format!("{}/src/", package.folder), "");
            format!("{} takes `{}` from {}", short(&import.from), import.item, short(&import.to))
        });
        let what =
            format!("{} files in a circle: {}", files.len(), edges.collect::<Vec<_>>().join("; "));
        Finding::new("circle", &package.folder, what, OPEN_CIRCLE)
    };
    children.map(child).chain(circles.iter().map(circle)).collect()
}

/// `x/y.rs` is a child of `x.rs`.
fn is_child(file: &str, parent: &str) -> bool {
    let parent = parent.strip_suffix(".rs").unwrap_or(parent);
    let root = ["/lib", "/main"].iter().find_map(|root| parent.strip_suffix(root));
    let parent = root.unwrap_or(parent);
    file.rsplit_once('/').is_some_and(|(folder, _)| folder == parent)
}

/// Sets of files that reach each other.
fn circles(imports: &[Import]) -> Vec<BTreeSet<&str>> {
    let mut direct: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in imports {
        direct.entry(&import.from).or_default().insert(&import.to);
    }
    let below: BTreeMap<_, _> = direct.keys().map(|file| (*file, reach(file, &direct))).collect();
    let reaches = |from: &str, to: &str| below.get(from).is_some_and(|all| all.contains(to));
    let own = |file: &&str| reaches(file, file);
    let sets = direct.keys().copied().filter(own).map(|file| {
        let mut set: BTreeSet<_> = below[file].clone();
        set.retain(|other| reaches(other, file));
        set
    });
    sets.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Everything that a file imports, directly or not.
fn reach<'a>(from: &str, direct: &BTreeMap<&str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = direct.get(from).into_iter().flatten().copied().collect();
    while let Some(file) = next.pop() {
        if reached.insert(file) {
            next.extend(direct.get(file).into_iter().flatten().copied());
        }
    }
    reached
}
