//! Completes a derived `CustomResourceDefinition` with what deriving cannot express.
//!
//! - Deriving makes an `Option` `nullable`. The mark is removed, so that the API server drops a `null` instead of storing
//!   it, as with the Go agents' definitions.
//! - Deriving turns an open enum into `anyOf`, which the API server does not treat as an enum.
//! - Types of Kubernetes lack the limits and list types of Kubernetes' own definitions.
//! - Deriving turns a flattened map into a map without named properties.
//! - A status subresource cannot be derived without a status.
//! - The bounds of what members write are in a table ([`limits`]), which other programs use too.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceSubresourceStatus, JSON, JSONSchemaProps,
    JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use crate::limits::{self, Bound, Unit};

/// Kinds with a status subresource but without a status, as in the Go agents' definitions. Without it, the two
/// definitions would differ for users who apply both.
const STATUS_WITHOUT_PROPERTY: [&str; 1] = ["EndpointSliceExport"];

/// Pattern of `type` of a condition, and of the error of a load balancer's port.
const QUALIFIED_NAME: &str = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
const QUALIFIED_NAME_LENGTH: i64 = 316;

/// Pattern of `reason` of a condition.
const REASON: &str = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

/// Turns a derived definition into the one that is installed. It is idempotent.
pub fn finish(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let kind = &crd.spec.names.kind;
    crd.spec.names.list_kind = Some(format!("{kind}List"));
    for version in &mut crd.spec.versions {
        if STATUS_WITHOUT_PROPERTY.contains(&kind.as_str()) {
            let status = CustomResourceSubresourceStatus(serde_json::json!({}));
            version.subresources.get_or_insert_default().status = Some(status);
        }
        let root = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        if let Some(root) = root {
            root.title = None;
            finish_schema(root);
            for (path, bound) in limits::of_kind(kind) {
                limit(at(root, &path), bound);
            }
        }
    }
    crd
}

/// The schema at a path of the table of bounds.
///
/// # Panics
/// If the kind has no such field: the table is about another version of the types.
fn at<'a>(root: &'a mut JSONSchemaProps, path: &str) -> &'a mut JSONSchemaProps {
    path.split('.').fold(root, |schema, segment| {
        let name = segment.trim_end_matches(['[', ']', '{', '}']);
        let schema = property(schema, name).expect("the table of bounds names fields of the kind");
        if segment == name { schema } else { each(schema).expect("a list has items") }
    })
}

/// Limits the length of a list or a text. One of fixed values needs no limit.
fn limit(schema: &mut JSONSchemaProps, bound: Bound) {
    let stored = i64::try_from(bound.stored).ok();
    match bound.unit {
        Unit::Entries if schema.additional_properties.is_some() => schema.max_properties = stored,
        Unit::Entries => schema.max_items = stored,
        Unit::Characters if schema.enum_.is_some() => {}
        Unit::Characters => schema.max_length = stored,
    }
}

fn finish_schema(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    close_enum(schema);
    open_map(schema);
    if is_condition(schema) {
        limit_condition(schema);
    }
    if is_workload_condition(schema) {
        limit_workload_condition(schema);
    }
    for (name, property) in schema.properties.iter_mut().flatten() {
        finish_schema(property);
        if name == "loadBalancer" {
            finish_load_balancer(property);
        }
    }
    if let Some(items) = items(schema) {
        finish_schema(items);
    }
}

/// Schema of the elements of a list, or of the values of a map.
fn each(schema: &mut JSONSchemaProps) -> Option<&mut JSONSchemaProps> {
    if schema.items.is_some() { items(schema) } else { values(schema) }
}

/// Schema of the values of a map.
fn values(schema: &mut JSONSchemaProps) -> Option<&mut JSONSchemaProps> {
    match schema.additional_properties.as_mut()? {
        JSONSchemaPropsOrBool::Schema(values) => Some(values),
        JSONSchemaPropsOrBool::Bool(_) => None,
    }
}

/// Schema of the elements of a list.
fn items(schema: &mut JSONSchemaProps) -> Option<&mut JSONSchemaProps> {
    match schema.items.as_mut()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(items),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

fn property<'a>(schema: &'a mut JSONSchemaProps, name: &str) -> Option<&'a mut JSONSchemaProps> {
    schema.properties.as_mut()?.get_mut(name)
}

/// Replaces alternatives that are fixed strings by one list of values.
fn close_enum(schema: &mut JSONSchemaProps) {
    let values = |alternative: &JSONSchemaProps| -> Option<Vec<JSON>> {
        alternative.enum_.clone().filter(|_| alternative.type_.as_deref() == Some("string"))
    };
    let Some(alternatives) = &schema.any_of else {
        return;
    };
    let values: Option<Vec<_>> = alternatives.iter().map(values).collect();
    if let Some(values) = values {
        schema.any_of = None;
        schema.type_ = Some("string".to_owned());
        schema.enum_ = Some(values.concat());
    }
}

fn open_map(schema: &mut JSONSchemaProps) {
    if let Some(JSONSchemaPropsOrBool::Bool(true)) = schema.additional_properties {
        schema.additional_properties = None;
        schema.x_kubernetes_preserve_unknown_fields = Some(true);
    }
}

fn is_condition(schema: &JSONSchemaProps) -> bool {
    let required = schema.required.iter().flatten().map(String::as_str);
    required.eq(["lastTransitionTime", "message", "reason", "status", "type"])
}

fn limit_condition(condition: &mut JSONSchemaProps) {
    if let Some(message) = property(condition, "message") {
        message.max_length = Some(32768);
    }
    if let Some(generation) = property(condition, "observedGeneration") {
        generation.minimum = Some(0.0);
    }
    if let Some(reason) = property(condition, "reason") {
        reason.min_length = Some(1);
        reason.max_length = Some(1024);
        reason.pattern = Some(REASON.to_owned());
    }
    if let Some(status) = property(condition, "status") {
        status.enum_ = Some(["True", "False", "Unknown"].map(|text| JSON(text.into())).into());
    }
    if let Some(type_) = property(condition, "type") {
        limit_qualified_name(type_);
    }
}

/// Whether a schema is that of an external workload's condition, which has a type of its own with a probe time.
fn is_workload_condition(schema: &JSONSchemaProps) -> bool {
    schema.properties.iter().flatten().any(|(name, _)| name == "lastProbeTime")
}

fn limit_workload_condition(condition: &mut JSONSchemaProps) {
    if let Some(type_) = property(condition, "type") {
        limit_qualified_name(type_);
    }
    if let Some(reason) = property(condition, "reason") {
        reason.pattern = Some(REASON.to_owned());
    }
}

fn limit_qualified_name(text: &mut JSONSchemaProps) {
    text.max_length = Some(QUALIFIED_NAME_LENGTH);
    text.pattern = Some(QUALIFIED_NAME.to_owned());
}

fn finish_load_balancer(load_balancer: &mut JSONSchemaProps) {
    let Some(ingress) = property(load_balancer, "ingress") else {
        return;
    };
    ingress.x_kubernetes_list_type = Some("atomic".to_owned());
    let Some(ports) = items(ingress).and_then(|ingress| property(ingress, "ports")) else {
        return;
    };
    ports.x_kubernetes_list_type = Some("atomic".to_owned());
    if let Some(error) = items(ports).and_then(|port| property(port, "error")) {
        limit_qualified_name(error);
    }
}
