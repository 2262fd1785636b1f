//! Fields of objects, and flags in workloads. What an object lacks is empty.

use fleet_api::ObjectName;
use serde_json::Value;

/// A text.
pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The texts of a list.
pub(super) fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The name of an object.
pub(super) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Namespace and name of an object.
pub(super) fn object_name(object: &Value) -> ObjectName {
    ObjectName::new(object["metadata"]["namespace"].as_str().unwrap_or_default(), name(object))
}

/// The name of an object.
pub(super) fn name_of(object: &Value) -> String {
    name(object).to_owned()
}

/// The containers of a workload.
pub(super) fn containers(workload: &Value) -> impl Iterator<Item = &Value> {
    workload["spec"]["template"]["spec"]["containers"].as_array().into_iter().flatten()
}

/// The value of a flag, or else of its variable, as far as the Deployment shows it.
pub(super) fn plain_setting(deployment: &Value, (flag, variable): (&str, &str)) -> Option<String> {
    let flag = of_flag(deployment, flag).map(str::to_owned);
    flag.or_else(|| of_variable(deployment, variable).ok().flatten())
}

/// The last value of a flag, as `--flag=value` or `--flag value`.
pub(super) fn of_flag<'a>(deployment: &'a Value, flag: &str) -> Option<&'a str> {
    let words =
        containers(deployment).flat_map(|it| texts(&it["command"]).chain(texts(&it["args"])));
    let words: Vec<_> = words.collect();
    let value = |at: usize| match words[at].strip_prefix(flag)? {
        "" => words.get(at + 1).copied(),
        rest => rest.strip_prefix('='),
    };
    (0..words.len()).rev().find_map(value)
}

/// The value of a variable, unless it is empty.
///
/// # Errors
/// If it is in another object.
pub(super) fn of_variable(deployment: &Value, variable: &str) -> Result<Option<String>, String> {
    let all = containers(deployment).flat_map(|it| it["env"].as_array().into_iter().flatten());
    let Some(found) = all.filter(|entry| entry["name"] == variable).last() else {
        return Ok(None);
    };
    if found["valueFrom"].is_object() {
        return Err(format!("the variable {variable} is read from another object"));
    }
    Ok(Some(text(&found["value"]).unwrap_or_default()).filter(|value| !value.is_empty()))
}
