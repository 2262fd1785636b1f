//! The object in a write. What many writes have in common is stored once, and serialised once, when the first of them is
//! sent.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The field that bodies can share.
const SPEC: &str = "spec";

/// Serialises the content of a shared spec.
type Serialise = Box<dyn FnOnce() -> Box<RawValue> + Send>;

/// A spec that several bodies have. Its clones share one allocation.
#[derive(Clone)]
pub struct SharedSpec(Arc<LazyLock<Box<RawValue>, Serialise>>);

impl SharedSpec {
    /// The spec `content`, which is not copied. It is serialised when the first body with it is sent.
    pub fn new<T: Serialize + Send + Sync + 'static>(content: Arc<T>) -> Self {
        let text = move || to_raw_value(&*content).expect("our types have string keys");
        let text: Serialise = Box::new(text);
        Self(Arc::new(LazyLock::new(text)))
    }

    fn text(&self) -> &RawValue {
        &self.0
    }
}

impl Serialize for SharedSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text().serialize(serializer)
    }
}

/// A whole object as it is created or replaced.
#[derive(Clone)]
pub struct Body {
    fields: Value,
    spec: Option<SharedSpec>,
}

impl Body {
    /// An object with these fields and a spec that other bodies have too.
    pub fn sharing(fields: Value, spec: SharedSpec) -> Self {
        Self { fields, spec: Some(spec) }
    }

    /// The fields that are not shared, `metadata` among them.
    pub fn fields(&self) -> &Value {
        &self.fields
    }

    /// The fields that are not shared, to be changed.
    pub fn fields_mut(&mut self) -> &mut Value {
        &mut self.fields
    }

    /// The spec, if it is shared.
    pub fn shared_spec(&self) -> Option<&SharedSpec> {
        self.spec.as_ref()
    }

    /// A copy of the whole object: for readers of a plan, not for what is sent.
    pub fn to_value(&self) -> Value {
        let mut object = self.fields.clone();
        if let Some(spec) = &self.spec {
            object[SPEC] = serde_json::from_str(spec.text().get()).expect("it was serialised");
        }
        object
    }
}

impl From<Value> for Body {
    fn from(fields: Value) -> Self {
        Self { fields, spec: None }
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (Value::Object(fields), Some(spec)) = (&self.fields, &self.spec) else {
            return self.fields.serialize(serializer);
        };
        let mut map = serializer.serialize_map(Some(fields.len() + 1))?;
        for (field, value) in fields {
            map.serialize_entry(field, value)?;
        }
        map.serialize_entry(SPEC, spec)?;
        map.end()
    }
}

/// Equal objects are equal, whatever part of them is shared.
impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        let is_same = match (&self.spec, &other.spec) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(&one.0, &other.0),
            _ => false,
        };
        if is_same { self.fields == other.fields } else { self.to_value() == other.to_value() }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_value().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    /// Counts how often it is serialised.
    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Serialize for Counted {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.fetch_add(1, Ordering::Relaxed);
            json!({ "ports": [80] }).serialize(serializer)
        }
    }

    fn whole(name: &str) -> Value {
        json!({ "metadata": { "name": name }, "spec": { "ports": [80] } })
    }

    fn fields(name: &str) -> Value {
        json!({ "metadata": { "name": name } })
    }

    #[test]
    fn a_shared_spec_is_serialised_once_and_not_before_a_body_is_sent() {
        let content = Arc::new(Counted::default());
        let spec = SharedSpec::new(Arc::clone(&content));
        let bodies = ["one", "two"].map(|name| Body::sharing(fields(name), spec.clone()));
        assert_eq!(content.0.load(Ordering::Relaxed), 0);
        for (body, name) in bodies.iter().zip(["one", "two"]) {
            let text = serde_json::to_string(body).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), whole(name));
        }
        assert_eq!(content.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn bodies_are_compared_and_shown_by_what_they_contain() {
        let shared = || Body::sharing(fields("one"), SharedSpec::new(Arc::new(Counted::default())));
        let (body, plain) = (shared(), Body::from(whole("one")));
        assert_eq!(body, plain);
        assert_eq!(body, shared());
        assert_eq!(body, body.clone());
        assert_ne!(body, Body::from(fields("one")));
        assert_eq!(format!("{body:?}"), format!("{plain:?}"));
        let mut renamed = body.clone();
        renamed.fields_mut()["metadata"]["name"] = json!("two");
        assert_ne!(renamed, body);
    }
}
