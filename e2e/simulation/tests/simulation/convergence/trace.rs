//! What became of every object, one content after the other.

use std::collections::BTreeMap;

use fleet_api::kinds::kinds_written;
use fleet_api::{ObjectName, ResourceKind};
use fleet_model_server::ModelServer;
use serde_json::Value;

/// What a server sets, or what only dates something.
const NOT_CONTENT: [&str; 6] = [
    "resourceVersion",
    "generation",
    "observedGeneration",
    "creationTimestamp",
    "lastTransitionTime",
    "exportedSince",
];

/// Contents of every object of several servers since another party than an agent changed something.
#[derive(Clone, Default)]
pub(crate) struct Trace {
    contents: BTreeMap<(String, ResourceKind, ObjectName), Vec<Value>>,
}

impl Trace {
    /// Begins anew with what is there.
    pub(crate) fn clear(&mut self) {
        self.contents.clear();
    }

    /// Notes what is another than it was.
    pub(crate) fn look(&mut self, cluster: &str, server: &ModelServer) {
        let mut seen = BTreeMap::new();
        for kind in kinds_written() {
            for name in server.names(kind) {
                let object = server.get(kind, &name).unwrap();
                let mut object = content(object);
                // Another incarnation of the same content is the same again.
                object["metadata"]["uid"].take();
                seen.insert((cluster.to_owned(), kind, name), object);
            }
        }
        for (key, contents) in self.contents.iter_mut().filter(|(key, _)| key.0 == cluster) {
            note(contents, seen.remove(key).unwrap_or_default());
        }
        self.contents.extend(seen.into_iter().map(|(key, content)| {
            // It was not there before; where nothing was noted yet, that is no news either.
            (key, vec![content])
        }));
    }

    /// An object that is again what it was before it was something else.
    pub(crate) fn oscillation(&self) -> Option<String> {
        self.contents.iter().find_map(|((cluster, kind, name), contents)| {
            let again = (0..contents.len()).any(|at| contents[..at].contains(&contents[at]));
            again.then(|| format!("{cluster}: {} {name}: {contents:#?}", kind.kind))
        })
    }
}

fn note(contents: &mut Vec<Value>, now: Value) {
    if contents.last() != Some(&now) {
        contents.push(now);
    }
}

fn content(object: &Value) -> Value {
    without(object, &NOT_CONTENT)
}

/// An object without these fields, wherever in it they are.
pub(crate) fn without(object: &Value, fields: &[&str]) -> Value {
    match object {
        Value::Object(map) => {
            let kept = map.iter().filter(|(field, _)| !fields.contains(&field.as_str()));
            kept.map(|(field, value)| (field.clone(), without(value, fields))).collect()
        }
        Value::Array(list) => list.iter().map(|value| without(value, fields)).collect(),
        other => other.clone(),
    }
}
