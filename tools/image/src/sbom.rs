//! Software bill of materials, as `CycloneDX` 1.6. With it users can check whether a vulnerable crate is included.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{DependencyKind, Metadata, Package, PackageId, TargetKind};
use serde_json::{Value, json};

use crate::digest::sha256;

/// What a bill is of.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// The programs that are in it.
    pub programs: &'a [&'a str],
    /// Crates whose data is in it.
    pub data: &'a [&'a str],
    /// What is linked into each program and is no crate.
    pub parts: &'a [Part],
}

/// Something that is linked and is no crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Part {
    /// Parses a part as `NAME@VERSION`.
    ///
    /// # Errors
    /// If the text has another form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let allowed = |it: &str| {
            let mut bytes = it.bytes();
            !it.is_empty() && bytes.all(|it| it.is_ascii_alphanumeric() || b".-_+".contains(&it))
        };
        match text.split_once('@') {
            Some((name, version)) if allowed(name) && allowed(version) => {
                Ok(Self { name: name.to_owned(), version: version.to_owned() })
            }
            _ => Err("must be of the form NAME@VERSION".to_owned()),
        }
    }

    fn reference(&self) -> String {
        format!("pkg:generic/{}@{}", self.name, self.version)
    }
}

/// Lists what is in `subject`: crates, with licences, hashes and dependencies, and other parts. `metadata` is of the platforms that
/// programs are built for, and `lock` the text of `Cargo.lock`, which has the hashes.
///
/// cargo resolves the features of the whole workspace at once, with those of tests: a crate that only they switch on is in it.
/// What only runs while programs are built is left out: build dependencies, procedural macros, and what these alone need.
///
/// # Errors
/// If `metadata` lacks a package or a dependency graph, or `lock` the hash of a crate.
pub fn of(subject: &Subject<'_>, metadata: &Metadata, lock: &str) -> Result<Value> {
    let graph = uses(metadata)?;
    let hashes = hashes(lock);
    let ours = metadata.workspace_packages();
    let roots = subject.programs.iter().map(|program| {
        let found = ours.iter().find(|one| one.name == *program);
        found.map(|package| &package.id).with_context(|| format!("no package {program}"))
    });
    let roots: Vec<_> = roots.collect::<Result<_>>()?;
    let linked = linked(roots.clone(), &graph);
    let data = |package: &Package| subject.data.contains(&package.name.as_str());
    for name in subject.data {
        ensure!(metadata.packages.iter().any(|it| it.name == *name), "no package {name}");
    }
    let packages = metadata.packages.iter();
    let packages = packages.filter(|package| linked.contains(&package.id) || data(package));
    let mut packages: Vec<_> = packages.collect();
    packages.sort_by_key(|package| (package.name.to_string(), package.version.clone()));

    let root = format!("{}@{}", subject.name, subject.version);
    let references: BTreeMap<_, _> =
        packages.iter().map(|package| (&package.id, reference(package))).collect();
    let distinct: BTreeSet<_> = references.values().collect();
    ensure!(distinct.len() == references.len(), "two crates have the same name and version");
    let parts: BTreeSet<_> = subject.parts.iter().map(Part::reference).collect();

    let mut contained: BTreeSet<_> = roots.iter().map(|id| references[id].clone()).collect();
    contained.extend(packages.iter().filter(|it| data(it)).map(|it| reference(it)));
    contained.extend(parts.iter().cloned());
    let mut dependencies = vec![json!({ "ref": root, "dependsOn": contained })];
    for package in &packages {
        let mut uses = BTreeSet::new();
        // A crate of data alone brings nothing along.
        if linked.contains(&package.id) {
            let crates = graph.get(&package.id).into_iter().flatten();
            uses.extend(crates.filter_map(|id| references.get(id)));
        }
        dependencies.push(json!({ "ref": references[&package.id], "dependsOn": uses }));
    }
    let mut components = Vec::new();
    for package in &packages {
        let kind = match (package.source.is_none(), linked.contains(&package.id)) {
            (_, false) => "data",
            (true, _) if roots.contains(&&package.id) => "application",
            _ => "library",
        };
        components.push(component(package, kind, &hashes)?);
    }
    for part in subject.parts {
        let reference = part.reference();
        dependencies.push(json!({ "ref": reference, "dependsOn": [] }));
        components.push(json!({
            "type": "library",
            "bom-ref": reference,
            "name": part.name,
            "version": part.version,
            "purl": reference,
        }));
    }
    let component = json!({
        "type": "container",
        "bom-ref": root,
        "name": subject.name,
        "version": subject.version,
    });
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": serial(&json!([component, components, dependencies])),
        "version": 1,
        "metadata": { "component": component },
        "components": components,
        "dependencies": dependencies,
    }))
}

type Uses<'a> = BTreeMap<&'a PackageId, Vec<&'a PackageId>>;

/// Dependencies that are linked: none for building or tests, and no procedural macros.
fn uses(metadata: &Metadata) -> Result<Uses<'_>> {
    let resolve = metadata.resolve.as_ref().context("no dependency graph")?;
    let macros: BTreeSet<_> =
        metadata.packages.iter().filter(|it| is_macro(it)).map(|it| &it.id).collect();
    let nodes = resolve.nodes.iter().map(|node| {
        let normal = node.deps.iter().filter(|dependency| {
            let mut kinds = dependency.dep_kinds.iter();
            kinds.any(|kind| kind.kind == DependencyKind::Normal)
                && !macros.contains(&dependency.pkg)
        });
        (&node.id, normal.map(|dependency| &dependency.pkg).collect())
    });
    Ok(nodes.collect())
}

fn is_macro(package: &Package) -> bool {
    package.targets.iter().any(|target| target.kind.contains(&TargetKind::ProcMacro))
}

fn linked<'a>(roots: Vec<&'a PackageId>, graph: &Uses<'a>) -> BTreeSet<&'a PackageId> {
    let mut found = BTreeSet::new();
    let mut open = roots;
    while let Some(id) = open.pop() {
        if found.insert(id) {
            open.extend(graph.get(id).into_iter().flatten());
        }
    }
    found
}

/// SHA-256 of the package of each crate in `Cargo.lock`, by name and version.
fn hashes(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let entries = lock.split("[[package]]").filter_map(|entry| {
        let value = |field: &str| {
            let mut lines = entry.lines();
            lines
                .find_map(|line| line.strip_prefix(field)?.strip_prefix(" = \"")?.strip_suffix('"'))
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    });
    entries.collect()
}

/// Package URL of a crate.
fn reference(package: &Package) -> String {
    // A plus starts the version's metadata, and stands for a space in a URL.
    let version = package.version.to_string().replace('+', "%2B");
    format!("pkg:cargo/{}@{version}", package.name)
}

fn component(
    package: &Package,
    kind: &str,
    hashes: &BTreeMap<(&str, &str), &str>,
) -> Result<Value> {
    let version = package.version.to_string();
    let mut component = json!({
        "type": kind,
        "bom-ref": reference(package),
        "name": package.name,
        "version": version,
        "purl": reference(package),
    });
    match hashes.get(&(package.name.as_str(), version.as_str())) {
        Some(hash) => component["hashes"] = json!([{ "alg": "SHA-256", "content": hash }]),
        // Crates of a folder have none.
        None if package.source.is_none() => {}
        None => bail!("Cargo.lock has no hash of {} {version}", package.name),
    }
    if let Some(license) = &package.license {
        // A slash is the old separator of alternatives, which SPDX does not allow.
        component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    Ok(component)
}

/// A UUID derived from the content, so that equal bills have equal serial numbers.
fn serial(content: &Value) -> String {
    let digits = sha256(content.to_string().as_bytes());
    let (a, b, c, d) = (&digits[..8], &digits[8..12], &digits[13..16], &digits[17..20]);
    // Version 8: a custom UUID (RFC 9562 section 5.8).
    format!("urn:uuid:{a}-{b}-8{c}-8{d}-{}", &digits[20..32])
}

#[cfg(test)]
mod tests;
