//! The schema of what crosses, made from the table.

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::rule::{Record, Shape};

/// Characters of the name of an object.
const NAME: usize = 253;
/// Characters of an amount of a resource.
const QUANTITY: usize = 64;

/// The schema of an object of the table: its fields that cross, each with its bound.
pub fn schema(record: &Record) -> Schema {
    let Value::Object(schema) = object(record) else { return Schema::default() };
    Schema::from(schema)
}

fn object(record: &Record) -> Value {
    let fields = record.fields.iter();
    let crossing = fields.filter_map(|field| Some((field.name, field.rule.shape()?)));
    let properties: Map<String, Value> =
        crossing.map(|(name, shape)| (name.to_owned(), of(shape))).collect();
    json!({ "type": "object", "properties": properties })
}

fn of(shape: Shape) -> Value {
    match shape {
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Integer(min, max) => json!({
            "type": "integer", "format": "int64", "minimum": min, "maximum": max,
        }),
        Shape::Text(max) => text(max),
        Shape::Choice(values) => json!({ "type": "string", "enum": values }),
        Shape::ConfigMapName | Shape::SecretName => text(NAME),
        Shape::Quantity => int_or_string(QUANTITY),
        Shape::Port => int_or_string(63),
        Shape::List(max, each) => json!({
            "type": "array", "maxItems": max, "items": of(*each), "x-kubernetes-list-type": "atomic",
        }),
        Shape::Map(max, each) => json!({
            "type": "object", "maxProperties": max, "additionalProperties": of(*each),
        }),
        Shape::Object(record) => object(record),
    }
}

fn text(max: usize) -> Value {
    json!({ "type": "string", "maxLength": max })
}

fn int_or_string(max: usize) -> Value {
    json!({ "x-kubernetes-int-or-string": true, "maxLength": max })
}
