//! The walk over a Pod by the table: what is left of it, or the first field that is refused.
//!
//! Its work is bounded by the object: the table has no circle, and the number of entries is checked before they are walked.

use fleet_api::names::is_dns1123_subdomain;
use fleet_api::offload::Refusal;
use fleet_api::offload::pod_fields::{Record, Rule, Shape};
use serde_json::{Map, Value};

use super::path::Path;
use super::rejection::Rejection;

/// Characters of the key of a map.
const KEY: usize = 317;
/// Characters of an amount.
const QUANTITY: usize = 64;

/// The walk for an executor whose table of fields has this version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    /// Fields that came later are not known there.
    pub(super) version: i64,
}

impl Walk {
    /// What crosses of an object.
    pub(super) fn object(
        self,
        record: &Record,
        fields: &Map<String, Value>,
        path: &Path<'_>,
    ) -> Result<Map<String, Value>, Rejection> {
        let mut crossing = Map::new();
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            let at = path.field(name);
            let field = record.find(name).ok_or_else(|| Rejection::new(record.otherwise, at))?;
            if let Some(value) = self.by_rule(field.rule, value, &at)? {
                if field.since > self.version {
                    return Err(self.too_new(field.since, &at));
                }
                crossing.insert(name.clone(), value);
            }
        }
        Ok(crossing)
    }

    fn too_new(self, since: i64, path: &Path<'_>) -> Rejection {
        let why = format!(
            "its executor has profile version {}, and the field came with {since}",
            self.version
        );
        Rejection::new(Refusal::UnknownField, path).because(&why)
    }

    fn by_rule(
        self,
        rule: Rule,
        value: &Value,
        path: &Path<'_>,
    ) -> Result<Option<Value>, Rejection> {
        let refuse = |reason| Err(Rejection::new(reason, path));
        match rule {
            Rule::DropValue(left_out, shape) if value != left_out => {
                self.by_shape(shape, value, path).map(Some)
            }
            Rule::RejectValue(bad, reason, _) if value == bad => refuse(reason),
            Rule::Copy(shape) | Rule::RejectValue(_, _, shape) => {
                self.by_shape(shape, value, path).map(Some)
            }
            Rule::RejectUnless(good, reason) if value != good => refuse(reason),
            Rule::CopyFalse(refusal) => only_false(refusal, value, path),
            Rule::Reject(reason) if !is_default(value) => refuse(reason),
            Rule::DropValue(..) | Rule::RejectUnless(..) | Rule::Drop | Rule::Reject(_) => Ok(None),
        }
    }

    fn by_shape(self, shape: Shape, value: &Value, path: &Path<'_>) -> Result<Value, Rejection> {
        match (shape, value) {
            (Shape::Object(record), Value::Object(fields)) => {
                self.object(record, fields, path).map(Value::Object)
            }
            (Shape::List(most, each), Value::Array(entries)) => {
                within(entries.len(), most, path)?;
                let entries = entries.iter().enumerate();
                let entries =
                    entries.map(|(at, entry)| self.by_shape(*each, entry, &path.entry(at)));
                entries.collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            (Shape::Map(most, each), Value::Object(entries)) => {
                self.map(most, *each, entries, path)
            }
            _ => scalar(shape, value, path).map(|()| value.clone()),
        }
    }

    fn map(
        self,
        most: usize,
        each: Shape,
        entries: &Map<String, Value>,
        path: &Path<'_>,
    ) -> Result<Value, Rejection> {
        within(entries.len(), most, path)?;
        let entry = |(key, value): (&String, &Value)| {
            within(key.chars().count(), KEY, path)?;
            Ok((key.clone(), self.by_shape(each, value, &path.field(key))?))
        };
        entries.iter().map(entry).collect::<Result<Map<_, _>, _>>().map(Value::Object)
    }
}

fn only_false(
    refusal: Option<Refusal>,
    value: &Value,
    path: &Path<'_>,
) -> Result<Option<Value>, Rejection> {
    match (value, refusal) {
        (Value::Bool(false), _) => Ok(Some(Value::Bool(false))),
        (Value::Bool(true), None) => Ok(None),
        (Value::Bool(true), Some(reason)) => Err(Rejection::new(reason, path)),
        _ => Err(Rejection::new(Refusal::InvalidValue, path)),
    }
}

/// Whether a value is what Kubernetes takes for a field that is not set.
fn is_default(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn scalar(shape: Shape, value: &Value, path: &Path<'_>) -> Result<(), Rejection> {
    let valid = match (shape, value) {
        (Shape::Bool, Value::Bool(_)) | (Shape::Quantity, Value::Number(_)) => true,
        (Shape::Integer(least, most), Value::Number(number)) => {
            let number = number.as_i64().ok_or_else(|| invalid(path))?;
            return if (least..=most).contains(&number) { Ok(()) } else { Err(exceeded(path)) };
        }
        (Shape::Text(most), Value::String(text)) => return short(text, most, path),
        (Shape::Choice(values), Value::String(text)) => values.contains(&text.as_str()),
        (Shape::Quantity, Value::String(text)) => return short(text, QUANTITY, path),
        (Shape::Port, Value::Number(number)) => {
            number.as_i64().is_some_and(|port| (1..=65535).contains(&port))
        }
        (Shape::Port, Value::String(name)) => (1..=15).contains(&name.len()),
        (Shape::ConfigMapName | Shape::SecretName, Value::String(name)) => {
            is_dns1123_subdomain(name)
        }
        _ => false,
    };
    if valid { Ok(()) } else { Err(invalid(path)) }
}

fn short(text: &str, most: usize, path: &Path<'_>) -> Result<(), Rejection> {
    within(text.chars().count(), most, path)
}

fn within(count: usize, most: usize, path: &Path<'_>) -> Result<(), Rejection> {
    if count <= most { Ok(()) } else { Err(exceeded(path)) }
}

fn invalid(path: &Path<'_>) -> Rejection {
    Rejection::new(Refusal::InvalidValue, path)
}

fn exceeded(path: &Path<'_>) -> Rejection {
    Rejection::new(Refusal::LimitExceeded, path)
}
