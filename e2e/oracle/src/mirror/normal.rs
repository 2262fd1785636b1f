//! Objects without what no two runs share.

use serde_json::{Map, Value};

use fleet_testbed::fault_proxy::RACED;
use fleet_testbed::objects::Found;

/// What stands for the name that everything of one story mentions.
pub const NAME: &str = "NAME";

/// Metadata and addresses that the API server chooses, and how often something was written.
const MASKED: [&str; 10] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "clusterIP",
    "clusterIPs",
    "nodePort",
    "healthCheckNodePort",
    "managedFields",
];

/// Where an object is, and what it is.
pub(super) fn place(found: &Found, name: &str) -> String {
    let metadata = &found.object.metadata;
    let place = [metadata.namespace.as_deref(), metadata.name.as_deref()];
    let place = place.map(Option::unwrap_or_default).join("/");
    format!("{}: {} {}", found.cluster, found.kind.kind, text(&place, name))
}

/// An object's place, and the object.
pub(super) fn form(found: &Found, name: &str) -> (String, Value) {
    let key = place(found, name);
    let mut object = serde_json::to_value(&found.object).unwrap_or(Value::Null);
    // Further writes of the same content do not change it, but an outcome may be reached in more steps.
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("generation");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(RACED);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    (key, value(object, name))
}

fn value(object: Value, name: &str) -> Value {
    match object {
        Value::String(string) => Value::String(text(&string, name)),
        Value::Array(values) => values.into_iter().map(|one| value(one, name)).collect(),
        Value::Object(map) => Value::Object(fields(map, name)),
        other => other,
    }
}

fn fields(map: Map<String, Value>, name: &str) -> Map<String, Value> {
    let field = |(key, one): (String, Value)| {
        // That it is set may matter, to what does not.
        let one = if MASKED.contains(&key.as_str()) { "MASKED".into() } else { value(one, name) };
        (text(&key, name), one)
    };
    map.into_iter().map(field).collect()
}

/// Replaces the name, uids, times and the hashes at the ends of names.
fn text(string: &str, name: &str) -> String {
    let string = string.replace(name, NAME);
    let (mut rest, mut result) = (string.as_str(), String::new());
    while let Some(first) = rest.chars().next() {
        let fresh = !result.ends_with(|last: char| last.is_ascii_alphanumeric());
        if let Some((length, mask)) = fresh.then(|| masked(rest)).flatten() {
            result.push_str(mask);
            rest = &rest[length..];
        } else {
            result.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    result
}

/// What no two runs share at the beginning of `text`: its length, and what stands for it.
fn masked(text: &str) -> Option<(usize, &'static str)> {
    let masks = [(uid as fn(&str) -> usize, "UID"), (time, "TIME"), (hash, "HASH")];
    let mut masks = masks.into_iter().map(|(length, mask)| (length(text), mask));
    masks.find(|(length, _)| *length > 0)
}

/// Length of the beginning of `text` that looks like `pattern`, 0 if none does: `x` is a hexadecimal digit, `9` a
/// decimal one, everything else itself.
fn beginning(text: &str, pattern: &str) -> usize {
    let fits = |(byte, wanted): (u8, u8)| match wanted {
        b'x' => byte.is_ascii_hexdigit(),
        b'9' => byte.is_ascii_digit(),
        other => byte == other,
    };
    let fits = text.len() >= pattern.len() && text.bytes().zip(pattern.bytes()).all(fits);
    if fits { pattern.len() } else { 0 }
}

fn uid(text: &str) -> usize {
    beginning(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
}

/// RFC 3339 in UTC, with or without fractions of a second.
fn time(text: &str) -> usize {
    let seconds = beginning(text, "9999-99-99T99:99:99");
    let rest = text.get(seconds..).unwrap_or_default();
    let fraction = rest.bytes().take_while(|byte| *byte == b'.' || byte.is_ascii_digit()).count();
    let ends = rest.as_bytes().get(fraction) == Some(&b'Z');
    if seconds > 0 && ends { seconds + fraction + 1 } else { 0 }
}

/// 26 characters of base32: what makes names unique.
fn hash(text: &str) -> usize {
    let length = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let base32 = |byte: u8| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte);
    if length == 26 && text.bytes().take(length).all(base32) { length } else { 0 }
}

#[cfg(test)]
mod tests {
    use fleet_api::kinds;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_no_two_runs_share_is_masked() {
        let hashed = "member-1-team-w07x-abcdefghijklmnopqrstuvwx23";
        assert_eq!(text(hashed, "w07x"), "member-1-team-NAME-HASH");
        let uid = "a 01234567-89ab-cdef-0123-456789abcdef!";
        assert_eq!(text(uid, "w07x"), "a UID!");
        assert_eq!(text("2026-01-02T03:04:05Z", "w07x"), "TIME");
        assert_eq!(text("since 2026-01-02T03:04:05.678Z.", "w07x"), "since TIME.");
        for plain in ["10.128.0.1", "team/web", "2026-01-02", "ünïcode"] {
            assert_eq!(text(plain, "w07x"), plain);
        }
    }

    #[test]
    fn two_runs_have_one_normal_form() {
        let run = |name: &str, version: &str, port: u16| {
            let object = serde_json::from_value(json!({
                "metadata": {
                    "namespace": "team", "name": name, "resourceVersion": version,
                    "generation": 3, "annotations": { RACED: "x" },
                },
                "spec": { "ports": [{ "port": port }], "clusterIP": version },
            }));
            let object = object.unwrap();
            form(&Found { cluster: "hub".to_owned(), kind: kinds::SERVICE, object }, name)
        };
        assert_eq!(run("w07x", "1", 80), run("w08x", "2", 80));
        assert_eq!(run("w07x", "1", 80).0, "hub: Service team/NAME");
        assert_ne!(run("w07x", "1", 80), run("w07x", "1", 81));
    }
}
