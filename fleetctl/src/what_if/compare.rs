//! Which objects differ between two rehearsals of one fleet.

use std::collections::BTreeMap;

use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model_server::{ModelServer, normalized};
use serde_json::Value;

use super::answer::ObjectChange;
use super::rehearsal::Rehearsal;

/// Fields that servers and clocks fill in, wherever they are.
const INCIDENTAL: [&str; 9] = [
    "resourceVersion",
    "generation",
    "uid",
    "creationTimestamp",
    "managedFields",
    "lastTransitionTime",
    "lastReceivedHeartbeat",
    "observedGeneration",
    "serial",
];

/// The differences, by cluster, kind and name.
pub(super) fn changes(before: &Rehearsal, after: &Rehearsal) -> Vec<ObjectChange> {
    let mut changes = of_servers("hub", &before.hub, &after.hub);
    for (name, member) in &after.members {
        if let Some(earlier) = before.members.get(name) {
            changes.extend(of_servers(name, &earlier.server, &member.server));
        }
    }
    changes
}

pub(crate) fn of_servers(
    cluster: &str,
    before: &ModelServer,
    after: &ModelServer,
) -> Vec<ObjectChange> {
    let (old, new) = (objects(before), objects(after));
    let change = |verb, (kind, name): &(ResourceKind, &ObjectName)| ObjectChange {
        cluster: cluster.to_owned(),
        verb,
        kind: kind.label(),
        name: name.to_string(),
    };
    let decisive = |kind, object| content(&normalized(kind, object));
    let mut changes = Vec::new();
    for (key, object) in &new {
        match old.get(key) {
            None => changes.push(change("create", key)),
            Some(earlier)
                if earlier != object && decisive(key.0, earlier) != decisive(key.0, object) =>
            {
                changes.push(change("update", key));
            }
            Some(_) => {}
        }
    }
    changes
        .extend(old.keys().filter(|key| !new.contains_key(key)).map(|key| change("delete", key)));
    changes.sort();
    changes
}

/// What decides: all but Leases.
fn objects(server: &ModelServer) -> BTreeMap<(ResourceKind, &ObjectName), &Value> {
    let all = server.all_objects().filter(|(kind, ..)| *kind != kinds::LEASE);
    all.map(|(kind, name, object)| ((kind, name), object)).collect()
}

/// An object without what servers and clocks fill in.
fn content(object: &Value) -> Value {
    match object {
        Value::Object(fields) => {
            let is_kept = |name: &&String| !INCIDENTAL.contains(&name.as_str());
            let kept = fields.iter().filter(|(name, _)| is_kept(name));
            Value::Object(kept.map(|(name, value)| (name.clone(), content(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(content).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_people_and_agents_decide_counts() {
        let object = |version: &str, state: &str| {
            json!({
                "metadata": { "resourceVersion": version, "labels": { "a": "b" } },
                "status": { "conditions": [{ "status": state, "lastTransitionTime": version }] },
            })
        };
        assert_eq!(content(&object("1", "True")), content(&object("2", "True")));
        assert_ne!(content(&object("1", "True")), content(&object("1", "False")));
    }
}
