//! Versions of the table of fields.

use fleet_api::offload::pod_fields::{POD, Record, Rule, Shape};

use super::*;
use crate::pod::path::Path;
use crate::pod::walk::Walk;

const fn field(name: &'static str, rule: Rule) -> fleet_api::offload::pod_fields::Field {
    fleet_api::offload::pod_fields::Field { name, rule, since: 1 }
}

const LATER: Record = Record {
    fields: &[
        field("image", Rule::Copy(Shape::Text(10))),
        field("gpu", Rule::Copy(Shape::Text(10))).since(2),
        field("note", Rule::Drop).since(3),
    ],
    otherwise: Refusal::UnknownField,
};

fn walked(version: i64, given: Value) -> Result<Value, Rejection> {
    Walk { version }.object(&LATER, &map(given), &Path::SPEC).map(Value::Object)
}

/// An executor whose table is older would refuse it, too, but only after it has crossed.
#[test]
fn a_field_that_the_executor_does_not_know_is_refused_by_its_name() {
    let given = json!({ "image": "web", "gpu": "one" });
    assert_eq!(walked(2, given.clone()), Ok(given.clone()));
    let refused = walked(1, given).unwrap_err();
    assert_eq!((refused.reason, &*refused.field), (Refusal::UnknownField, "spec.gpu"));
    let message = "spec.gpu is not known to this version: its executor has profile version 1, and the field came with 2";
    assert_eq!(refused.message(), message);
}

#[test]
fn what_does_not_cross_needs_no_version() {
    assert_eq!(walked(1, json!({ "image": "web", "note": "n" })), Ok(json!({ "image": "web" })));
}

/// Otherwise an older executor would get what it does not know.
#[test]
fn no_field_is_newer_than_the_table() {
    fn newest(record: &Record) -> i64 {
        let of = |shape: Shape| shape.record().map_or(1, newest);
        let fields = record.fields.iter();
        fields.map(|field| field.since.max(field.rule.shape().map_or(1, of))).max().unwrap_or(1)
    }
    assert_eq!(newest(&POD), fleet_api::offload::PROFILE_VERSION);
}
