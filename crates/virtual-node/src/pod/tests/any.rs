//! Pods at random, made by the table itself.

use fleet_api::offload::pod_fields::{Record, Rule, Shape};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// An object with some of its fields: what they may be, other values, and fields that nothing knows.
pub(super) fn object(record: &'static Record) -> BoxedStrategy<Map<String, Value>> {
    let known = record.fields.iter().map(|field| {
        let value = prop_oneof![3 => field_value(field.rule), 1 => junk()];
        option::weighted(0.15, value).prop_map(|value| (field.name.to_owned(), value)).boxed()
    });
    let known: Vec<_> = known.collect();
    let unknown = option::weighted(0.05, junk()).prop_map(|value| ("tomorrow".to_owned(), value));
    (known, unknown)
        .prop_map(|(mut fields, unknown)| {
            fields.push(unknown);
            fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
        })
        .boxed()
}

/// An object with some of its fields that cross, each as it may be.
pub(super) fn valid(record: &'static Record) -> BoxedStrategy<Map<String, Value>> {
    let crossing = record.fields.iter().filter_map(|field| Some((field.name, field.rule.shape()?)));
    let fields: Vec<_> = crossing
        .map(|(name, shape)| {
            option::weighted(0.3, of(shape, true))
                .prop_map(move |value| (name.to_owned(), value))
                .boxed()
        })
        .collect();
    fields
        .prop_map(|fields| {
            fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
        })
        .boxed()
}

fn field_value(rule: Rule) -> BoxedStrategy<Value> {
    match rule.shape() {
        Some(shape) => of(shape, false),
        None => prop_oneof![junk(), Just(json!(false)), Just(json!(null))].boxed(),
    }
}

fn of(shape: Shape, only_valid: bool) -> BoxedStrategy<Value> {
    match shape {
        Shape::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Shape::Integer(least, most) => (least..=most).prop_map(Value::from).boxed(),
        Shape::Text(_) => "[a-z]{0,9}".prop_map(Value::from).boxed(),
        Shape::Choice(values) => (0..values.len()).prop_map(|at| values[at].into()).boxed(),
        Shape::Quantity => prop_oneof![Just(json!("1Gi")), Just(json!(1))].boxed(),
        Shape::Port => prop_oneof![Just(json!("http")), Just(json!(80))].boxed(),
        Shape::ConfigMapName | Shape::SecretName => Just(json!("c")).boxed(),
        Shape::List(most, each) => {
            vec(of(*each, only_valid), 0..=most.min(2)).prop_map(Value::from).boxed()
        }
        Shape::Map(_, each) => btree_map("[a-z]{1,5}", of(*each, only_valid), 0..3)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
            .boxed(),
        Shape::Object(record) if only_valid => valid(record).prop_map(Value::Object).boxed(),
        Shape::Object(record) => object(record).prop_map(Value::Object).boxed(),
    }
}

fn junk() -> BoxedStrategy<Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(-1)),
        Just(json!(1.5)),
        Just(json!("\u{0}x")),
        Just(json!([[], {}])),
        Just(json!({ "a": { "b": [] } })),
        "[a-z]{0,70}".prop_map(Value::from),
    ]
    .boxed()
}
