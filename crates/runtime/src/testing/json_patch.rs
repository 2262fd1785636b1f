//! The operations of RFC 6902 that plans use: `add`, `replace` and `remove`.

use serde_json::Value;

/// Applies the operations in order; `None` where one does not fit.
pub(super) fn apply(document: &mut Value, operations: &[Value]) -> Option<()> {
    for operation in operations {
        let (parent, key) = operation["path"].as_str()?.rsplit_once('/')?;
        let key = key.replace("~1", "/").replace("~0", "~");
        let parent = document.pointer_mut(parent)?;
        match operation["op"].as_str()? {
            "add" => add(parent, &key, operation["value"].clone())?,
            "remove" => remove(parent, &key)?,
            "replace" => {
                remove(parent, &key)?;
                add(parent, &key, operation["value"].clone())?;
            }
            _ => return None,
        }
    }
    Some(())
}

fn add(parent: &mut Value, key: &str, value: Value) -> Option<()> {
    match parent {
        Value::Object(map) => {
            map.insert(key.to_owned(), value);
        }
        Value::Array(list) if key == "-" => list.push(value),
        Value::Array(list) => {
            let at = key.parse().ok().filter(|at| *at <= list.len())?;
            list.insert(at, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(parent: &mut Value, key: &str) -> Option<()> {
    match parent {
        Value::Object(map) => map.remove(key).map(drop),
        Value::Array(list) => {
            let at = key.parse().ok().filter(|at| *at < list.len())?;
            list.remove(at);
            Some(())
        }
        _ => None,
    }
}
