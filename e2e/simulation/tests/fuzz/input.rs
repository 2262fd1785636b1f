//! Changed copies of inputs.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A change of bytes.
#[derive(Clone, Debug)]
pub(crate) enum Cut {
    Replace(u32, u8),
    Remove(u32, u8),
    Insert(u32, Vec<u8>),
    /// A part again, some times.
    Repeat(u32, u8, u8),
    End(u32),
}

/// A change of JSON at a place, which is counted from its beginning.
#[derive(Clone, Debug)]
pub(crate) enum Graft {
    Remove(u32),
    Replace(u32, Odd),
    /// The member of a list again, some times; a field of an object under other names.
    Repeat(u32, u8),
    /// What stands at another place.
    Copy(u32, u32),
    /// A text that is longer.
    Lengthen(u32, u16),
}

/// Values that readers stumble over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Odd(u8);

impl Odd {
    fn value(self) -> Value {
        let odd = [
            json!(null),
            json!(true),
            json!(0),
            json!(-1),
            json!(i64::MAX),
            json!(i64::MIN),
            json!(u64::MAX),
            json!(1e300),
            json!(2_147_483_648_u64),
            json!(""),
            json!(" "),
            json!("-"),
            json!("\u{0}"),
            json!("ä\u{202e}\u{1f980}"),
            json!("a/b/c"),
            json!("../.."),
            json!("0.0.0.0"),
            json!("::"),
            json!("::ffff:10.0.0.1"),
            json!("010.0.0.1"),
            json!("9999-12-31T23:59:59Z"),
            json!("-009999-01-01T00:00:00Z"),
            json!("NaN"),
            json!("*"),
            json!("None"),
            json!("99999999999999999999"),
            json!("a".repeat(300)),
            json!([]),
            json!([null]),
            json!([[], {}]),
            json!({}),
            json!({ "": {} }),
        ];
        odd[usize::from(self.0) % odd.len()].clone()
    }
}

/// How an input is made.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    /// Which input it begins with.
    pub(crate) seed: u32,
    pub(crate) grafts: Vec<Graft>,
    pub(crate) cuts: Vec<Cut>,
}

/// Most changes are of structure: changed bytes are rarely JSON any more.
pub(crate) fn recipes(is_json: bool) -> BoxedStrategy<Recipe> {
    let grafts = prop::collection::vec(graft(), 0..if is_json { 8 } else { 1 });
    let cuts = if is_json {
        prop_oneof![9 => Just(Vec::new()), 1 => prop::collection::vec(cut(), 1..4)].boxed()
    } else {
        prop::collection::vec(cut(), 0..8).boxed()
    };
    (any::<u32>(), grafts, cuts)
        .prop_map(|(seed, grafts, cuts)| Recipe { seed, grafts, cuts })
        .boxed()
}

fn cut() -> impl Strategy<Value = Cut> {
    let text = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..8),
        "[-/.:,=*@a-z0-9 ]{1,12}".prop_map(String::into_bytes),
    ];
    prop_oneof![
        (any::<u32>(), any::<u8>()).prop_map(|(at, byte)| Cut::Replace(at, byte)),
        (any::<u32>(), any::<u8>()).prop_map(|(at, count)| Cut::Remove(at, count)),
        (any::<u32>(), text).prop_map(|(at, text)| Cut::Insert(at, text)),
        (any::<u32>(), any::<u8>(), any::<u8>()).prop_map(|(at, count, times)| Cut::Repeat(at, count, times)),
        any::<u32>().prop_map(Cut::End),
    ]
}

fn graft() -> impl Strategy<Value = Graft> {
    let odd = any::<u8>().prop_map(Odd);
    prop_oneof![
        any::<u32>().prop_map(Graft::Remove),
        (any::<u32>(), odd).prop_map(|(at, odd)| Graft::Replace(at, odd)),
        (any::<u32>(), any::<u8>()).prop_map(|(at, times)| Graft::Repeat(at, times)),
        (any::<u32>(), any::<u32>()).prop_map(|(at, from)| Graft::Copy(at, from)),
        (any::<u32>(), any::<u16>()).prop_map(|(at, length)| Graft::Lengthen(at, length)),
    ]
}

impl Recipe {
    /// The input.
    pub(crate) fn make(&self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let seed = place(self.seed, seeds.len()).map_or(&[][..], |at| &seeds[at]);
        let mut input = match serde_json::from_slice::<Value>(seed) {
            Ok(mut value) if !self.grafts.is_empty() => {
                self.grafts.iter().for_each(|graft| apply(&mut value, graft));
                serde_json::to_vec(&value).unwrap()
            }
            _ => seed.to_vec(),
        };
        for cut in &self.cuts {
            change(&mut input, cut);
        }
        input
    }
}

fn place(at: u32, len: usize) -> Option<usize> {
    (len > 0).then(|| at as usize % len)
}

fn change(input: &mut Vec<u8>, cut: &Cut) {
    let len = input.len();
    let range = |at: u32, count: u8| {
        place(at, len).map(|at| at..(at + usize::from(count)).min(len))
    };
    match cut {
        Cut::Replace(at, byte) => {
            if let Some(at) = place(*at, len) {
                input[at] = *byte;
            }
        }
        Cut::Remove(at, count) => {
            if let Some(range) = range(*at, *count) {
                input.drain(range);
            }
        }
        Cut::Insert(at, text) => {
            let at = *at as usize % (len + 1);
            input.splice(at..at, text.iter().copied());
        }
        Cut::Repeat(at, count, times) => {
            if let Some(range) = range(*at, *count) {
                let part = input[range.clone()].repeat(usize::from(*times));
                input.splice(range.end..range.end, part);
            }
        }
        Cut::End(at) => input.truncate(*at as usize % (len + 1)),
    }
}

/// Places of a document, each by the keys and positions that lead to it.
fn places(value: &Value, path: &mut Vec<String>, found: &mut Vec<String>) {
    found.push(path.iter().map(|key| format!("/{}", escaped(key))).collect());
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                path.push(name.clone());
                places(field, path, found);
                path.pop();
            }
        }
        Value::Array(items) => {
            // Long lists are alike.
            for (at, item) in items.iter().enumerate().take(8) {
                path.push(at.to_string());
                places(item, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn apply(value: &mut Value, graft: &Graft) {
    let mut found = Vec::new();
    places(value, &mut Vec::new(), &mut found);
    let path = |at: u32| found[at as usize % found.len()].clone();
    match graft {
        Graft::Remove(at) => remove(value, &path(*at)),
        Graft::Replace(at, odd) => set(value, &path(*at), odd.value()),
        Graft::Repeat(at, times) => repeat(value, &path(*at), *times),
        Graft::Copy(at, from) => {
            let copied = value.pointer(&path(*from)).cloned().unwrap_or_default();
            set(value, &path(*at), copied);
        }
        Graft::Lengthen(at, length) => {
            if let Some(Value::String(text)) = value.pointer_mut(&path(*at)) {
                let longer = text.repeat(usize::from(*length) / text.len().max(1) + 1);
                *text = longer;
            }
        }
    }
}

fn set(value: &mut Value, path: &str, new: Value) {
    if let Some(place) = value.pointer_mut(path) {
        *place = new;
    }
}

fn remove(value: &mut Value, path: &str) {
    let Some((parent, last)) = path.rsplit_once('/') else { return };
    let last = last.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.remove(&last);
        }
        Some(Value::Array(items)) => {
            if let Some(at) = last.parse().ok().filter(|at: &usize| *at < items.len()) {
                items.remove(at);
            }
        }
        _ => {}
    }
}

fn repeat(value: &mut Value, path: &str, times: u8) {
    match value.pointer_mut(path) {
        Some(Value::Array(items)) if !items.is_empty() => {
            let all: Vec<_> = items.iter().cycle().take(items.len() * usize::from(times)).cloned().collect();
            *items = all;
            items.truncate(1000);
        }
        Some(Value::Object(fields)) if !fields.is_empty() => {
            let more: Map<_, _> = (0..usize::from(times))
                .zip(fields.iter().cycle())
                .map(|(at, (name, field))| (format!("{name}{at}"), field.clone()))
                .collect();
            fields.extend(more);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(input: &str, grafts: Vec<Graft>, cuts: Vec<Cut>) -> String {
        let recipe = Recipe { seed: 0, grafts, cuts };
        String::from_utf8(recipe.make(&[input.as_bytes().to_vec()])).unwrap()
    }

    #[test]
    fn structure_is_changed_where_it_is_asked_for() {
        let json = r#"{"a":[1,2],"b":"x"}"#;
        let made = |graft| made(json, vec![graft], Vec::new());
        assert_eq!(made(Graft::Remove(1)), r#"{"b":"x"}"#);
        assert_eq!(made(Graft::Remove(3)), r#"{"a":[1],"b":"x"}"#);
        assert_eq!(made(Graft::Replace(4, Odd(0))), r#"{"a":[1,2],"b":null}"#);
        assert_eq!(made(Graft::Repeat(1, 2)), r#"{"a":[1,2,1,2],"b":"x"}"#);
        assert_eq!(made(Graft::Copy(4, 1)), r#"{"a":[1,2],"b":[1,2]}"#);
        assert_eq!(made(Graft::Lengthen(4, 2)), r#"{"a":[1,2],"b":"xxx"}"#);
    }

    #[test]
    fn bytes_are_changed_whatever_they_are() {
        let made = |cut| made("abc", Vec::new(), vec![cut]);
        assert_eq!(made(Cut::Replace(4, b'x')), "axc");
        assert_eq!(made(Cut::Remove(0, 2)), "c");
        assert_eq!(made(Cut::Insert(3, b"d".to_vec())), "abcd");
        assert_eq!(made(Cut::Repeat(1, 1, 2)), "abbbc");
        assert_eq!(made(Cut::End(1)), "a");
    }
}
