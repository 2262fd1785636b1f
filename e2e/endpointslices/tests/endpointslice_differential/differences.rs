//! Where ours differs from the original on purpose, as far as random scenarios show it; [`crate::decided`] shows the
//! rest by hand. Each derives what follows from an outcome of the original: nothing else may differ.

use serde_json::{Value, json};

/// A decided difference.
pub(crate) struct Difference {
    pub(crate) name: &'static str,
    /// Scenario, the original's result, one of its outcomes, ours → the outcome to expect of ours.
    pub(crate) expected: fn(&Value, &Value, Value, &Value) -> Value,
}

/// All of them.
pub(crate) const ALL: [Difference; 4] = [
    // The original keeps a lone placeholder of an earlier Service of the name; ours replaces it.
    Difference { name: "placeholder of another owner", expected: replaced_placeholder },
    // The original sends some slices again unchanged; ours compares first.
    Difference { name: "update that changes nothing", expected: without_needless_updates },
    // The original may make a placeholder anew in the place of one that is the same; ours compares first here, too.
    Difference { name: "placeholder made of itself", expected: kept_placeholder },
    // The original marks a Service as hinted, ours each of its address types, so that both are announced.
    Difference { name: "mark per address type", expected: announced_per_type },
];

fn list<'a>(value: &'a mut Value, name: &str) -> &'a mut Vec<Value> {
    if value[name].is_null() {
        value[name] = json!([]);
    }
    value[name].as_array_mut().unwrap()
}

fn add(value: &mut Value, name: &str, more: i64) {
    value[name] = json!(value[name].as_i64().unwrap_or_default() + more);
}

fn replaced_placeholder(scenario: &Value, _: &Value, mut outcome: Value, _: &Value) -> Value {
    let dying = !scenario["service"]["metadata"]["deletionTimestamp"].is_null();
    let mut replaced = Vec::new();
    for group in list(&mut outcome, "groups") {
        let lone = group["ports"] == json!([]) && group["slices"].as_array().unwrap().len() == 1;
        let address_type = group["addressType"].clone();
        let slice = &mut group["slices"][0];
        if !lone || slice["owned"] == true || slice["fate"] != "unchanged" || slice["size"] != 0 {
            continue;
        }
        replaced.push((address_type, slice["name"].clone()));
        let mut labels = slice["labels"].clone();
        let ip = scenario["service"]["spec"]["clusterIP"].as_str().unwrap_or_default();
        if ip.is_empty() || ip == "None" {
            labels["service.kubernetes.io/headless"] = json!("");
        }
        *slice = json!({"fate": "fresh", "size": 0, "added": 0, "owned": true, "labels": labels});
        if let Some(time) = scenario["triggerTime"].as_str() {
            slice["annotations"] =
                json!({"endpoints.kubernetes.io/last-change-trigger-time": time});
        }
    }
    for (address_type, name) in replaced {
        add(&mut outcome["counts"], "delete", 1);
        add(&mut outcome["tracker"], "expectingDeletion", 1);
        let doomed = &mut outcome["doomed"][address_type.as_str().unwrap()];
        *doomed = json!({"names": [name], "deleted": 1, "recycled": 0});
        if dying {
            // Nothing is made for a Service that is being deleted.
            let gone =
                |group: &Value| group["addressType"] == address_type && group["ports"] == json!([]);
            list(&mut outcome, "groups").retain(|group| !gone(group));
            list(&mut outcome, "packing").retain(|group| !gone(group));
        } else {
            add(&mut outcome["counts"], "create", 1);
            add(&mut outcome["tracker"], "tracked", 1);
        }
    }
    outcome
}

/// Which of the doomed slices becomes the placeholder, the original leaves to chance.
fn kept_placeholder(scenario: &Value, _: &Value, mut outcome: Value, _: &Value) -> Value {
    let mut kept = Vec::new();
    for group in list(&mut outcome, "groups") {
        let address_type = group["addressType"].clone();
        let [slice] = &mut list(group, "slices")[..] else { continue };
        if slice["fate"] != "fresh" || slice["size"] != 0 {
            continue;
        }
        let mut existing = scenario["slices"].as_array().into_iter().flatten();
        let same = existing.find(|old| {
            let empty = |name: &str| old[name].as_array().is_none_or(Vec::is_empty);
            let meta = &old["metadata"];
            old["addressType"] == address_type
                && empty("endpoints")
                && empty("ports")
                && meta["labels"] == slice["labels"]
                && meta["ownerReferences"][0]["uid"] == scenario["service"]["metadata"]["uid"]
        });
        let Some(same) = same else { continue };
        let meta = &same["metadata"];
        slice["fate"] = json!("unchanged");
        slice["name"] = meta["name"].clone();
        let fields = slice.as_object_mut().unwrap();
        fields.remove("annotations");
        fields.extend(meta.get("annotations").map(|old| ("annotations".to_owned(), old.clone())));
        kept.push((address_type, meta["name"].clone()));
    }
    for (address_type, name) in kept {
        let doomed = &mut outcome["doomed"][address_type.as_str().unwrap()];
        list(doomed, "names").retain(|doomed| *doomed != name);
        add(doomed, "recycled", -1);
        add(&mut outcome["counts"], "update", -1);
        add(&mut outcome["tracker"], "tracked", -1);
    }
    outcome
}

/// Needs the objects that the original sent, which it gives when it is asked again in doubt.
fn without_needless_updates(
    scenario: &Value,
    theirs: &Value,
    mut outcome: Value,
    ours: &Value,
) -> Value {
    if !is_annotated(scenario) {
        return outcome;
    }
    // The second time there are no more of them than in the original, where the needless ones are among them.
    let again = |outcome: &Value| outcome["settle"]["update"].as_i64().unwrap_or_default();
    if again(ours) < again(&outcome) {
        outcome["settle"]["update"] = ours["settle"]["update"].clone();
    }
    for sent in theirs["exact"]["updates"].as_array().into_iter().flatten() {
        let name = &sent["metadata"]["name"];
        let slices = scenario["slices"].as_array().unwrap();
        let Some(old) = slices.iter().find(|old| old["metadata"]["name"] == *name) else {
            continue;
        };
        if content(sent) != content(old) {
            continue;
        }
        for group in list(&mut outcome, "groups") {
            for slice in list(group, "slices").iter_mut().filter(|slice| slice["name"] == *name) {
                slice["fate"] = json!("unchanged");
                let fields = slice.as_object_mut().unwrap();
                fields.remove("annotations");
                if let Some(annotations) = old["metadata"].get("annotations") {
                    fields.insert("annotations".to_owned(), annotations.clone());
                }
            }
        }
        add(&mut outcome["counts"], "update", -1);
        add(&mut outcome["tracker"], "tracked", -1);
    }
    outcome
}

/// What makes an update necessary.
fn content(slice: &Value) -> Value {
    let sorted = |name: &str| {
        let mut items = slice[name].as_array().cloned().unwrap_or_default();
        items.sort_by_cached_key(Value::to_string);
        items
    };
    let meta = &slice["metadata"];
    json!([
        meta["labels"],
        meta["uid"],
        meta["ownerReferences"],
        sorted("ports"),
        sorted("endpoints")
    ])
}

fn announced_per_type(scenario: &Value, _: &Value, mut outcome: Value, ours: &Value) -> Value {
    let families = scenario["service"]["spec"]["ipFamilies"].as_array().map_or(0, Vec::len);
    if !is_annotated(scenario) || families == 1 {
        return outcome;
    }
    for event in ours["events"].as_array().into_iter().flatten() {
        let known = list(&mut outcome, "events");
        if event["cause"] == "enabled" && !known.contains(event) {
            known.push(event.clone());
        }
    }
    outcome
}

pub(crate) fn is_annotated(scenario: &Value) -> bool {
    scenario["service"]["metadata"]["annotations"].is_object()
}
