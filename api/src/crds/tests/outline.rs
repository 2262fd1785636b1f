//! A schema as one line per property, so that a table can be compared with it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

const QUALIFIED: &str = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

/// Types that occur in several kinds; an outline names them instead of repeating them.
const SHARED: [(&str, &[&str]); 4] = [
    (
        "Condition",
        &[
            " object",
            ".lastTransitionTime! string date-time",
            ".message! string length ..32768",
            ".observedGeneration integer int64 0..",
            ".reason! string length 1..1024 ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            ".status! string True|False|Unknown",
            ".type! string length ..316 QUALIFIED",
        ],
    ),
    (
        "ServicePort",
        &[
            " object",
            ".appProtocol string",
            ".name string",
            ".port! integer int32 1..65535",
            ".protocol string TCP|UDP|SCTP default TCP",
            ".targetPort int-or-string",
        ],
    ),
    (
        "BoundedServicePort",
        &[
            " object",
            ".appProtocol string length ..317",
            ".name string length ..63",
            ".port! integer int32 1..65535",
            ".protocol string TCP|UDP|SCTP default TCP",
            ".targetPort int-or-string length ..63",
        ],
    ),
    (
        "ExportedObjectReference",
        &[
            " object atomic",
            ".apiVersion string length ..317",
            ".clusterId! string length ..253",
            ".exportedSince string date-time",
            ".generation! integer int64",
            ".kind! string length ..63",
            ".name! string length ..253",
            ".namespace! string length ..63",
            ".namespacedName! string length ..317",
            ".resourceVersion! string length ..253",
            ".uid! string length ..253",
        ],
    ),
];

/// One line per property: path, `!` if required, type, limits. Items of a list are `path[]`.
pub(super) fn outline(root: &JSONSchemaProps) -> Vec<String> {
    assert_eq!(describe(root), " object");
    let mut lines = Vec::new();
    children(root, "", &mut lines);
    lines
}

/// Paths of properties that `kubectl explain` would have no text for.
pub(super) fn without_description(root: &JSONSchemaProps) -> Vec<String> {
    let mut silent = Vec::new();
    for (name, property) in root.properties.iter().flatten() {
        if property.description.is_none() {
            silent.push(name.clone());
        }
        let below = items(property).unwrap_or(property);
        silent.extend(without_description(below).into_iter().map(|path| format!("{name}.{path}")));
    }
    silent
}

fn children(schema: &JSONSchemaProps, path: &str, lines: &mut Vec<String>) {
    let required: Vec<_> = schema.required.iter().flatten().collect();
    for (name, property) in schema.properties.iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let mark = if required.contains(&name) { "!" } else { "" };
        node(property, &path, mark, lines);
    }
    if let Some(items) = items(schema) {
        node(items, &format!("{path}[]"), "", lines);
    }
    if let Some(values) = values(schema) {
        node(values, &format!("{path}{{}}"), "", lines);
    }
}

fn node(schema: &JSONSchemaProps, path: &str, mark: &str, lines: &mut Vec<String>) {
    let mut below = Vec::new();
    children(schema, path, &mut below);
    let itself = describe(schema) + &rules(schema);
    let relative = |line: &String| line.strip_prefix(path).map(str::to_owned);
    let whole: Option<Vec<_>> =
        std::iter::once(Some(itself.clone())).chain(below.iter().map(relative)).collect();
    let shared = SHARED.iter().find(|(_, shape)| whole.as_deref().is_some_and(|w| w == *shape));
    if let Some((name, _)) = shared {
        lines.push(format!("{path}{mark} {name}"));
    } else {
        lines.push(format!("{path}{mark}{itself}"));
        lines.append(&mut below);
    }
}

pub(super) fn items(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(items),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

pub(super) fn values(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.additional_properties.as_ref()? {
        JSONSchemaPropsOrBool::Schema(values) => Some(values),
        JSONSchemaPropsOrBool::Bool(_) => panic!("a map has a type"),
    }
}

/// The rules of a property. Those of a kind are in a table of their own.
fn rules(schema: &JSONSchemaProps) -> String {
    let rules = schema.x_kubernetes_validations.iter().flatten();
    rules.flat_map(|rule| [" rule ", rule.rule.as_str()]).collect()
}

/// Everything in a schema but descriptions, rules and what is below. Panics at what no kind may have.
fn describe(schema: &JSONSchemaProps) -> String {
    assert!(schema.any_of.is_none() && schema.one_of.is_none() && schema.nullable.is_none());
    assert!(schema.title.is_none());
    let mut text = String::new();
    let mut say = |part: String| {
        text.push(' ');
        text.push_str(&part);
    };
    match (&schema.type_, schema.x_kubernetes_int_or_string) {
        (Some(type_), None) => say(type_.clone()),
        (None, Some(true)) => say("int-or-string".to_owned()),
        other => panic!("{other:?}"),
    }
    let range = |low: Option<String>, high: Option<String>| {
        format!("{}..{}", low.unwrap_or_default(), high.unwrap_or_default())
    };
    if let Some(format) = &schema.format {
        say(format.clone());
    }
    if schema.minimum.is_some() || schema.maximum.is_some() {
        say(range(schema.minimum.map(|n| n.to_string()), schema.maximum.map(|n| n.to_string())));
    }
    if schema.min_length.is_some() || schema.max_length.is_some() {
        let range = range(
            schema.min_length.map(|n| n.to_string()),
            schema.max_length.map(|n| n.to_string()),
        );
        say(format!("length {range}"));
    }
    if let Some(max) = schema.max_items {
        say(format!("max {max}"));
    }
    if let Some(max) = schema.max_properties {
        say(format!("max {max}"));
    }
    if let Some(pattern) = &schema.pattern {
        say(if pattern == QUALIFIED { "QUALIFIED".to_owned() } else { pattern.clone() });
    }
    if let Some(values) = &schema.enum_ {
        let values: Vec<_> = values.iter().filter_map(|value| value.0.as_str()).collect();
        say(values.join("|"));
    }
    if let Some(default) = &schema.default {
        say(match default.0.as_str() {
            Some(text) => format!("default {text}"),
            None => format!("default {}", default.0),
        });
    }
    match (schema.x_kubernetes_list_type.as_deref(), &schema.x_kubernetes_list_map_keys) {
        (None, None) => {}
        (Some("map"), Some(keys)) => say(format!("map({})", keys.join(","))),
        (Some(other), None) => say(other.to_owned()),
        other => panic!("{other:?}"),
    }
    if let Some(map_type) = &schema.x_kubernetes_map_type {
        say(map_type.clone());
    }
    if schema.x_kubernetes_preserve_unknown_fields == Some(true) {
        say("open".to_owned());
    }
    text
}
