//! When two answers count as the same.

use serde_json::Value;

use crate::differences;

pub(crate) enum Comparison {
    Equal,
    /// Equal but for this decided difference.
    Explained(&'static str),
    /// What differs.
    Different(String),
}

/// Compares the answers to a scenario.
pub(crate) fn judge(scenario: &Value, theirs: &Value, ours: &Value) -> Comparison {
    let ours = normal(&ours["result"]["outcomes"][0]);
    let theirs = &theirs["result"];
    let outcomes: Vec<Value> = theirs["outcomes"].as_array().unwrap().iter().map(normal).collect();
    if fits(theirs, &outcomes, &ours) {
        return Comparison::Equal;
    }
    for difference in differences::ALL {
        let expected: Vec<Value> = outcomes
            .iter()
            .map(|outcome| normal(&(difference.expected)(scenario, theirs, outcome.clone(), &ours)))
            .collect();
        if expected != outcomes && fits(theirs, &expected, &ours) {
            return Comparison::Explained(difference.name);
        }
    }
    let all = differences::ALL.iter();
    let expected: Vec<Value> = outcomes
        .iter()
        .map(|outcome| {
            let apply = |outcome, difference: &differences::Difference| {
                normal(&(difference.expected)(scenario, theirs, outcome, &ours))
            };
            all.clone().fold(outcome.clone(), apply)
        })
        .collect();
    if fits(theirs, &expected, &ours) {
        return Comparison::Explained("several");
    }
    Comparison::Different(describe(&outcomes[0], &ours))
}

/// One of the outcomes; or, where the original chose, the first in all that it always agrees in.
fn fits(theirs: &Value, outcomes: &[Value], ours: &Value) -> bool {
    if outcomes.contains(ours) {
        return true;
    }
    let agreed = theirs["agreed"].as_array().unwrap();
    theirs["stable"] == false
        && agreed.iter().all(|part| {
            let part = part.as_str().unwrap();
            outcomes[0].get(part) == ours.get(part)
        })
}

/// An outcome without how often it was seen. Its lists have no order that means anything.
fn normal(outcome: &Value) -> Value {
    let mut outcome = outcome.clone();
    outcome.as_object_mut().unwrap().remove("seen");
    sort(&mut outcome);
    outcome
}

fn sort(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(sort);
            items.sort_by_cached_key(Value::to_string);
        }
        Value::Object(fields) => fields.values_mut().for_each(sort),
        _ => {}
    }
}

fn describe(theirs: &Value, ours: &Value) -> String {
    let empty = serde_json::Map::new();
    let (theirs, ours) = (theirs.as_object().unwrap_or(&empty), ours.as_object().unwrap_or(&empty));
    let mut parts: Vec<&String> = theirs.keys().chain(ours.keys()).collect();
    parts.sort();
    parts.dedup();
    parts.retain(|part| theirs.get(*part) != ours.get(*part));
    let line = |part: &&String| {
        let of = |map: &serde_json::Map<_, Value>| {
            map.get(*part).map_or_else(String::new, Value::to_string)
        };
        format!("{part}\n  theirs {}\n  ours   {}\n", of(theirs), of(ours))
    };
    parts.iter().map(line).collect()
}
