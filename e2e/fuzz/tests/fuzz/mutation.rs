//! Changes of JSON values, by chance.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// One change: where it is, by a number that is taken modulo the number of places, and what it is.
#[derive(Clone, Debug)]
pub(crate) struct Mutation {
    place: usize,
    change: Change,
}

#[derive(Clone, Debug)]
enum Change {
    /// Another value of any type.
    Put(Value),
    /// Another value of the same type.
    Alter(u64),
    Remove,
    /// An element or a field twice.
    Double,
    Reverse,
    /// The value of another place.
    CopyFrom(usize),
    /// One of the annotations that agents read and write, wherever it belongs.
    Annotate(usize, String),
    /// The same with a label.
    Label(usize, String),
}

/// Changes of any kind.
pub(crate) fn any_mutation() -> impl Strategy<Value = Mutation> {
    let change = prop_oneof![
        3 => value().prop_map(Change::Put),
        3 => any::<u64>().prop_map(Change::Alter),
        2 => Just(Change::Remove),
        1 => Just(Change::Double),
        1 => Just(Change::Reverse),
        2 => any::<usize>().prop_map(Change::CopyFrom),
        2 => (any::<usize>(), text()).prop_map(|(which, text)| Change::Annotate(which, text)),
        1 => (any::<usize>(), text()).prop_map(|(which, text)| Change::Label(which, text)),
    ];
    (any::<usize>(), change).prop_map(|(place, change)| Mutation { place, change })
}

/// Changes that leave each value of the type that it had: what a client can store.
pub(crate) fn typed_mutation() -> impl Strategy<Value = Mutation> {
    let change = prop_oneof![
        4 => any::<u64>().prop_map(Change::Alter),
        2 => (any::<usize>(), text()).prop_map(|(which, text)| Change::Annotate(which, text)),
        2 => Just(Change::Double),
        1 => Just(Change::Reverse),
    ];
    (any::<usize>(), change).prop_map(|(place, change)| Mutation { place, change })
}

/// Texts that are something elsewhere, or nothing.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0..TEXTS.len()).prop_map(|at| TEXTS[at].to_owned()),
        2 => "[a-z0-9./:*=,-]{0,24}",
        1 => ".{0,40}",
        1 => (0_usize..600).prop_map(|length| "x".repeat(length)),
    ]
}

const TEXTS: [&str; 34] = [
    "",
    "*",
    "/",
    "..",
    "-",
    "shop/web",
    "shop/db",
    "team/mail",
    "shop",
    "team",
    "fleet-system",
    "kube-system",
    "fleet-member-m00",
    "fleet-member-m01",
    "fleet-member-",
    "m00",
    "m01",
    "m02",
    "10.1.0.1",
    "255.255.255.255/33",
    "::/0",
    "fd00:1::7",
    "2026-01-01T00:20:40Z",
    "-009999-01-02T01:59:59Z",
    "9999-12-30T22:00:00Z",
    "99999999999999999999",
    "1000",
    "0",
    "+7",
    "true",
    "\u{0}",
    "\u{2028}é",
    "{\"MemberClusters\":{\"fleet-member-m00\":\"m00\"}}",
    "[{\"name\":\"net\",\"ips\":[\"10.9.0.1\"]}]",
];

const NUMBERS: [i64; 10] = [0, 1, -1, 50, 99, 100, 65_535, i32::MAX as i64, i64::MAX, i64::MIN];

/// A small value.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..NUMBERS.len()).prop_map(|at| NUMBERS[at].into()),
        Just(json!(0.5)),
        Just(json!(-1.0e300)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{0,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

impl Mutation {
    /// Changes a value, but for the fields of its metadata that the API server sets.
    pub(crate) fn apply(&self, object: &mut Value) {
        let mut places = Vec::new();
        list(object, "", &mut places);
        if places.is_empty() {
            return;
        }
        let place = &places[self.place % places.len()];
        let other = match &self.change {
            Change::CopyFrom(other) => object.pointer(&places[other % places.len()]).cloned(),
            _ => None,
        };
        match &self.change {
            Change::Annotate(which, text) => {
                name(object, "annotations", &ANNOTATIONS, *which, text);
            }
            Change::Label(which, text) => name(object, "labels", &LABELS, *which, text),
            Change::Remove => remove(object, place),
            Change::CopyFrom(_) => put(object, place, other.unwrap_or_default()),
            Change::Put(value) => put(object, place, value.clone()),
            Change::Alter(by) => {
                if let Some(value) = object.pointer_mut(place) {
                    alter(value, *by);
                }
            }
            Change::Double => double(object, place),
            Change::Reverse => {
                if let Some(Value::Array(list)) = object.pointer_mut(place) {
                    list.reverse();
                }
            }
        }
    }
}

/// The keys that agents know, from where they are declared: one that is new is tried, too.
static ANNOTATIONS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let all = [
        include_str!("../../../../api/src/annotations.rs"),
        include_str!("../../../../api/src/traffic/lease.rs"),
    ];
    all.into_iter().flat_map(declared).filter(|key| key.contains('/')).collect()
});
static LABELS: LazyLock<Vec<&str>> =
    LazyLock::new(|| declared(include_str!("../../../../api/src/labels.rs")));

/// The texts of all constants of a file.
fn declared(source: &str) -> Vec<&str> {
    let constants = source.split("pub const ").skip(1);
    constants.filter_map(|constant| constant.split('"').nth(1)).collect()
}

/// Puts one of these keys into a map of the metadata; what has no such map gets one.
fn name(object: &mut Value, map: &str, keys: &[&str], which: usize, text: &str) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let map = metadata.entry(map).or_insert_with(|| json!({}));
    if let Some(map) = map.as_object_mut() {
        map.insert(keys[which % keys.len()].to_owned(), text.into());
    }
}

/// Fields that no client chooses.
const SERVERS: [&str; 7] = [
    "/metadata/name",
    "/metadata/namespace",
    "/metadata/uid",
    "/metadata/resourceVersion",
    "/metadata/creationTimestamp",
    "/metadata/deletionTimestamp",
    "/metadata/generation",
];

/// Pointers of all that can be changed.
fn list(value: &Value, at: &str, places: &mut Vec<String>) {
    if SERVERS.contains(&at) || at == "/apiVersion" || at == "/kind" {
        return;
    }
    if !at.is_empty() && at != "/metadata" {
        places.push(at.to_owned());
    }
    match value {
        Value::Array(all) => {
            for (index, value) in all.iter().enumerate() {
                list(value, &format!("{at}/{index}"), places);
            }
        }
        Value::Object(all) => {
            for (name, value) in all {
                let name = name.replace('~', "~0").replace('/', "~1");
                list(value, &format!("{at}/{name}"), places);
            }
        }
        _ => {}
    }
}

fn put(object: &mut Value, place: &str, value: Value) {
    if let Some(at) = object.pointer_mut(place) {
        *at = value;
    }
}

fn alter(value: &mut Value, by: u64) {
    let at = usize::try_from(by % 1_000_003).unwrap();
    match value {
        Value::Bool(value) => *value = !*value,
        Value::Number(_) => *value = json!(NUMBERS[at % NUMBERS.len()]),
        Value::String(text) if by.is_multiple_of(5) => {
            let cut = text.char_indices().nth(at % 7).map_or(text.len(), |(cut, _)| cut);
            text.truncate(cut);
        }
        Value::String(text) if by.is_multiple_of(7) => *text = text.repeat(2),
        Value::String(text) => TEXTS[at % TEXTS.len()].clone_into(text),
        Value::Array(list) if !list.is_empty() => {
            list.remove(at % list.len());
        }
        Value::Object(map) => {
            let name = map.keys().nth(at % map.len().max(1)).cloned();
            if let Some(text) = name.as_ref().and_then(|name| map[name].as_str()) {
                let text = Value::from(text);
                map.insert(TEXTS[at % TEXTS.len()].to_owned(), text);
            }
        }
        _ => {}
    }
}

/// The list or object that a place is in, and its name there.
fn parent<'a, 'b>(object: &'a mut Value, place: &'b str) -> Option<(&'a mut Value, &'b str)> {
    let (parent, name) = place.rsplit_once('/')?;
    Some((object.pointer_mut(parent)?, name))
}

fn remove(object: &mut Value, place: &str) {
    match parent(object, place) {
        Some((Value::Array(list), at)) => {
            list.remove(at.parse().unwrap());
        }
        Some((Value::Object(map), name)) => {
            map.remove(&name.replace("~1", "/").replace("~0", "~"));
        }
        _ => {}
    }
}

fn double(object: &mut Value, place: &str) {
    match parent(object, place) {
        Some((Value::Array(list), at)) => {
            let value = list[at.parse::<usize>().unwrap()].clone();
            list.push(value);
        }
        Some((Value::Object(map), name)) => {
            let value = map.get(&name.replace("~1", "/").replace("~0", "~")).cloned();
            map.insert(format!("{name}x"), value.unwrap_or_default());
        }
        _ => {}
    }
}

/// The text of a value with the fields of objects in the other order, so many levels deep.
pub(crate) fn reversed(value: &Value, levels: usize) -> String {
    let Some(left) = levels.checked_sub(1) else { return value.to_string() };
    match value {
        Value::Array(list) => {
            let all = list.iter().map(|value| reversed(value, left));
            format!("[{}]", all.collect::<Vec<_>>().join(","))
        }
        Value::Object(map) => {
            let field = |(name, value): (&String, &Value)| {
                format!("{}:{}", Value::from(name.as_str()), reversed(value, left))
            };
            format!("{{{}}}", map.iter().rev().map(field).collect::<Vec<_>>().join(","))
        }
        value => value.to_string(),
    }
}

#[test]
fn all_keys_of_ours_are_known() {
    assert!(ANNOTATIONS.contains(&fleet_api::annotations::WEIGHT));
    assert!(ANNOTATIONS.contains(&fleet_api::annotations::TERMINATING_AT_EXPORTER));
    assert!(ANNOTATIONS.contains(&fleet_api::traffic::REACHED));
    assert!(LABELS.contains(&fleet_api::labels::OFFLOADED_LABEL_PREFIX));
    assert!(ANNOTATIONS.len() > 35 && LABELS.len() > 15, "{ANNOTATIONS:?}, {LABELS:?}");
}

#[test]
fn a_change_of_a_place_changes_it_alone() {
    let before = json!({ "metadata": { "name": "n" }, "a/b": { "c": [1, 2] } });
    let changed = |place, change| {
        let mut object = before.clone();
        Mutation { place, change }.apply(&mut object);
        object
    };
    // The places: a/b, a/b/c, and its two elements.
    assert_eq!(changed(1, Change::Remove)["a/b"], Value::Object(Map::new()));
    assert_eq!(changed(2, Change::Double)["a/b"]["c"], json!([1, 2, 1]));
    assert_eq!(changed(3, Change::CopyFrom(2))["a/b"]["c"], json!([1, 1]));
    assert_eq!(changed(4, Change::Remove), json!({ "metadata": { "name": "n" } }));
    let text: Value = serde_json::from_str(&reversed(&before, 9)).unwrap();
    assert_eq!(text, before);
}
