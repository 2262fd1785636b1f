//! Software bill of materials, as `CycloneDX` 1.6. With it users can check whether a vulnerable crate is included.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, Package, PackageId};
use serde_json::{Value, json};

use crate::digest::sha256;

/// Lists the crates that are linked into `programs`, with licences and dependencies.
///
/// # Errors
/// If `metadata` has no package for a program, or no dependency graph.
pub fn of(programs: &[&str], metadata: &Metadata) -> Result<Value> {
    let graph = uses(metadata)?;
    let roots = programs.iter().map(|program| {
        let found = metadata.workspace_packages().into_iter().find(|one| one.name == *program);
        found.map(|package| &package.id).with_context(|| format!("no package {program}"))
    });
    let linked = linked(roots.collect::<Result<_>>()?, &graph);
    let packages = metadata.packages.iter().filter(|package| linked.contains(&package.id));
    let mut packages: Vec<_> = packages.collect();
    packages.sort_by_key(|package| (package.name.to_string(), package.version.clone()));
    let references: BTreeMap<_, _> =
        packages.iter().map(|package| (&package.id, reference(package))).collect();
    let dependencies = packages.iter().map(|package| {
        let uses = graph.get(&package.id).into_iter().flatten();
        let uses: BTreeSet<_> = uses.filter_map(|id| references.get(id)).collect();
        json!({ "ref": references[&package.id], "dependsOn": uses })
    });
    let components: Vec<_> = packages.iter().map(|package| component(package)).collect();
    let dependencies: Vec<_> = dependencies.collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": serial(&json!([components, dependencies])),
        "version": 1,
        "metadata": { "component": { "type": "container", "name": "fleet-networking" } },
        "components": components,
        "dependencies": dependencies,
    }))
}

type Uses<'a> = BTreeMap<&'a PackageId, Vec<&'a PackageId>>;

/// Dependencies that are linked; build and test dependencies are left out.
fn uses(metadata: &Metadata) -> Result<Uses<'_>> {
    let resolve = metadata.resolve.as_ref().context("no dependency graph")?;
    let nodes = resolve.nodes.iter().map(|node| {
        let normal = node.deps.iter().filter(|dependency| {
            dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
        });
        (&node.id, normal.map(|dependency| &dependency.pkg).collect())
    });
    Ok(nodes.collect())
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

/// Package URL of a crate.
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn component(package: &Package) -> Value {
    let ours = package.source.is_none();
    let mut component = json!({
        "type": if ours { "application" } else { "library" },
        "bom-ref": reference(package),
        "name": package.name,
        "version": package.version,
        "purl": reference(package),
    });
    if let Some(license) = &package.license {
        // A slash is the old separator of alternatives, which SPDX does not allow.
        component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    component
}

/// A UUID derived from the content, so that equal bills have equal serial numbers.
fn serial(content: &Value) -> String {
    let digits = sha256(content.to_string().as_bytes());
    let (a, b, c, d) = (&digits[..8], &digits[8..12], &digits[13..16], &digits[17..20]);
    // Version 8: a custom UUID (RFC 9562 section 5.8).
    format!("urn:uuid:{a}-{b}-8{c}-8{d}-{}", &digits[20..32])
}

#[cfg(test)]
mod tests {
    use cargo_metadata::MetadataCommand;

    use super::*;

    #[test]
    fn the_bill_lists_linked_crates_without_test_dependencies() {
        // Only packages that the build has fetched are needed.
        let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let options = ["--locked", "--offline", "--filter-platform", &platform];
        let options = options.map(str::to_owned).to_vec();
        let metadata = MetadataCommand::new().other_options(options).exec().unwrap();
        let bill = of(&["hub-agent"], &metadata).unwrap();
        let components = bill["components"].as_array().unwrap();
        let find = |name: &str| components.iter().find(|component| component["name"] == name);
        assert_eq!(find("hub-agent").unwrap()["type"], "application");
        let kube = find("kube").unwrap();
        let version = kube["version"].as_str().unwrap();
        assert_eq!(kube["purl"], format!("pkg:cargo/kube@{version}"));
        assert_eq!(kube["licenses"][0]["expression"], "Apache-2.0");
        assert!(find("member-agent").is_none() && find("tower-test").is_none());
        let dependencies = bill["dependencies"].as_array().unwrap();
        let hub = dependencies.iter().find(|one| one["ref"] == find("hub-agent").unwrap()["purl"]);
        assert!(hub.unwrap()["dependsOn"].as_array().unwrap().contains(&kube["purl"]));
        assert_eq!(bill, of(&["hub-agent"], &metadata).unwrap(), "the bill is reproducible");
        assert!(of(&["no-agent"], &metadata).is_err());
    }
}
