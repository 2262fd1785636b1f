//! The documents of `what-if apply`.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use fleet_accumulator::Tracked;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model::objects::MemberPolicy;
use fleet_model::objects::traffic::{FleetTraffic, MemberTraffic, ServiceTraffic};
use serde_json::{Value, json};

use crate::recorded::decoded;
use crate::yaml;

/// Maximum size of a file, in bytes.
const MAX_SIZE: u64 = 4 * 1024 * 1024;

/// A document: kind, name and content.
type Document = (ResourceKind, ObjectName, Value);

/// Reads a file, or standard input for `-`.
///
/// # Errors
/// If it cannot be read, or holds anything but policies.
pub(super) fn read(path: &Path) -> Result<Vec<Document>> {
    let mut text = String::new();
    let limit = MAX_SIZE + 1;
    if path == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(limit)
            .read_to_string(&mut text)
            .context("read standard input")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| format!("open {}", path.display()))?;
        let read = file.take(limit).read_to_string(&mut text);
        read.with_context(|| format!("read {}", path.display()))?;
    }
    ensure!(text.len() as u64 <= MAX_SIZE, "{} has more than 4 MiB", path.display());
    parse(&text).with_context(|| path.display().to_string())
}

/// The documents of a text.
pub(super) fn parse(text: &str) -> Result<Vec<Document>> {
    let documents: Vec<Value> = yaml::read_all(text)?;
    let documents = documents.into_iter().filter(|document| !document.is_null());
    let documents: Vec<_> = documents.map(document).collect::<Result<_>>()?;
    ensure!(!documents.is_empty(), "there is no document in it");
    let mut seen = BTreeSet::new();
    for (kind, name, _) in &documents {
        ensure!(seen.insert((kind.kind, name)), "{} {name} is there twice", kind.kind);
    }
    Ok(documents)
}

fn document(mut object: Value) -> Result<Document> {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let known =
        [kinds::SERVICE_TRAFFIC, kinds::FLEET_TRAFFIC, kinds::MEMBER_TRAFFIC, kinds::CONFIG_MAP];
    let known =
        known.into_iter().find(|known| known.kind == kind && known.api_version() == version);
    let Some(known) = known else {
        bail!(
            "{kind:?} of {version:?} is no policy: ServiceTraffic, FleetTraffic, MemberTraffic or ConfigMap"
        );
    };
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().context("a document has no metadata.name")?;
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    if known.namespaced == namespace.is_empty() {
        bail!(
            "{kind} {name} {} a namespace",
            if known.namespaced { "lacks" } else { "cannot have" }
        );
    }
    let name = ObjectName::new(namespace, name);
    if known == kinds::CONFIG_MAP {
        ensure!(
            *name.name == *MemberPolicy::NAME,
            "of ConfigMaps, only {} is a policy",
            MemberPolicy::NAME
        );
    }
    object["metadata"] = json!({ "labels": object["metadata"]["labels"] });
    ensure!(is_readable(known, &name, &object), "{kind} {name} is not valid");
    Ok((known, name, object))
}

/// Whether agents could read it.
fn is_readable(kind: ResourceKind, name: &ObjectName, object: &Value) -> bool {
    let mut object = object.clone();
    object["metadata"] = json!({
        "name": name.name, "namespace": name.namespace, "uid": "new", "resourceVersion": "1",
    });
    match kind {
        kinds::SERVICE_TRAFFIC => decodes::<ServiceTraffic>(name, &object),
        kinds::FLEET_TRAFFIC => decodes::<FleetTraffic>(name, &object),
        kinds::MEMBER_TRAFFIC => decodes::<MemberTraffic>(name, &object),
        _ => decodes::<MemberPolicy>(name, &object),
    }
}

fn decodes<T: Tracked>(name: &ObjectName, object: &Value) -> bool {
    decoded::<T>(name, object).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "\
apiVersion: traffic.networking.fleet.azure.com/v1alpha1
kind: ServiceTraffic
metadata: { name: web, namespace: shop }
spec: { preference: LocalFirst }
";

    #[test]
    fn an_object_is_there_once() {
        refuses(&format!("{POLICY}---\n{POLICY}"), "twice");
    }

    #[track_caller]
    fn refuses(text: &str, word: &str) {
        let error = format!("{:#}", parse(text).unwrap_err());
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }

    #[test]
    fn policies_are_read() {
        let two = format!("{POLICY}---\n{}", POLICY.replace("web", "api"));
        let found = parse(&two).unwrap();
        let names: Vec<_> = found.iter().map(|(_, name, _)| name.to_string()).collect();
        assert_eq!(names, ["shop/web", "shop/api"]);
        assert_eq!(found[0].2["spec"]["preference"], "LocalFirst");
    }

    #[test]
    fn anything_else_is_refused() {
        refuses("", "no document");
        refuses("a: [", "");
        refuses("apiVersion: v1\nkind: Secret\nmetadata: { name: a, namespace: b }", "no policy");
        refuses("apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a, namespace: b }", "only");
        refuses(&POLICY.replace(", namespace: shop", ""), "lacks a namespace");
        refuses(&POLICY.replace("name: web, ", ""), "no metadata.name");
        refuses(&POLICY.replace("LocalFirst", "Nearest"), "not valid");
    }
}
