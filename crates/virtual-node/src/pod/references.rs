//! Config maps and Secrets that a Pod refers to.

use std::collections::BTreeMap;

use fleet_api::offload::ConfigKind;
use fleet_api::offload::pod_fields::{POD, Record, Shape};
use serde_json::{Map, Value};

/// Config maps and Secrets of a Pod that crosses.
pub(super) const CONFIGS: usize = 8;

/// A reference of a Pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigReference {
    /// What it refers to.
    pub kind: ConfigKind,
    /// Its name.
    pub name: String,
}

/// What a Pod refers to, each once, and whether the Pod starts without it.
pub fn references(pod: &Map<String, Value>) -> BTreeMap<ConfigReference, bool> {
    let mut found = BTreeMap::new();
    collect(&POD, pod, &mut found);
    found
}

/// What of a Pod's config maps and Secrets is to be read: nothing if it refers to more than crosses, since such a Pod is refused. A
/// user could have thousands of them watched otherwise.
pub fn references_to_read(pod: &Map<String, Value>) -> BTreeMap<ConfigReference, bool> {
    let all = references(pod);
    if all.len() <= CONFIGS { all } else { BTreeMap::new() }
}

fn collect(
    record: &Record,
    fields: &Map<String, Value>,
    found: &mut BTreeMap<ConfigReference, bool>,
) {
    // A kubelet pulls an image without credentials if their Secret is missing, although no field marks it as optional.
    let is_pull_secret = record.find("optional").is_none();
    let optional = is_pull_secret || fields.get("optional") == Some(&Value::Bool(true));
    for (shape, value) in shapes(record, fields) {
        match (config_kind(shape), value) {
            (Some(kind), Value::String(name)) => {
                let reference = ConfigReference { kind, name: name.clone() };
                found.entry(reference).and_modify(|all| *all &= optional).or_insert(optional);
            }
            _ => each_object(shape, value, &mut |record, fields| collect(record, fields, found)),
        }
    }
}

/// Gives what a Pod refers to other names.
pub fn rename(pod: &mut Map<String, Value>, name: &impl Fn(ConfigKind, &str) -> String) {
    rename_in(&POD, pod, name);
}

fn rename_in(
    record: &Record,
    fields: &mut Map<String, Value>,
    rename: &impl Fn(ConfigKind, &str) -> String,
) {
    for (name, value) in fields {
        let Some(shape) = record.find(name).and_then(|field| field.rule.shape()) else { continue };
        match (config_kind(shape), &mut *value) {
            (Some(kind), Value::String(name)) => *name = rename(kind, name),
            _ => rename_below(shape, value, rename),
        }
    }
}

fn rename_below(shape: Shape, value: &mut Value, rename: &impl Fn(ConfigKind, &str) -> String) {
    match (shape, value) {
        (Shape::Object(record), Value::Object(fields)) => rename_in(record, fields, rename),
        (Shape::List(_, each), Value::Array(entries)) => {
            for entry in entries {
                rename_below(*each, entry, rename);
            }
        }
        _ => {}
    }
}

fn config_kind(shape: Shape) -> Option<ConfigKind> {
    match shape {
        Shape::ConfigMapName => Some(ConfigKind::ConfigMap),
        Shape::SecretName => Some(ConfigKind::Secret),
        _ => None,
    }
}

fn shapes<'a>(
    record: &'a Record,
    fields: &'a Map<String, Value>,
) -> impl Iterator<Item = (Shape, &'a Value)> {
    fields.iter().filter_map(|(name, value)| Some((record.find(name)?.rule.shape()?, value)))
}

fn each_object(shape: Shape, value: &Value, found: &mut dyn FnMut(&Record, &Map<String, Value>)) {
    match (shape, value) {
        (Shape::Object(record), Value::Object(fields)) => found(record, fields),
        (Shape::List(_, each), Value::Array(entries)) => {
            for entry in entries {
                each_object(*each, entry, found);
            }
        }
        _ => {}
    }
}
