//! Pods of others: what arrives for an executor is what an origin with these agents makes of a Pod, or is refused.

use fleet_api::offload::{OffloadTerms, PodExportSpec, PodImportSpec, PolicyProfile};
use fleet_virtual_node::pod::{LocalPod, check as check_pod, spec_hash, translate};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::corpus::samples;
use crate::memory::bounded;
use crate::mutation::{any_mutation, reversed};
use crate::runner::check;

const SEEDS: &str = "corpus/pods.txt";

fn terms() -> OffloadTerms {
    OffloadTerms {
        namespaces: vec!["shop".to_owned()],
        policy_profile: PolicyProfile::Baseline,
        ..OffloadTerms::default()
    }
}

/// A Pod of the corpus.
fn pod() -> Value {
    let samples = samples();
    let import = samples.iter().find(|sample| sample.kind == fleet_api::kinds::POD_IMPORT).unwrap();
    json!({
        "metadata": { "namespace": "shop", "name": "web-0", "uid": "u1", "labels": { "app": "web" } },
        "spec": import.object["spec"]["export"]["pod"],
    })
}

fn export(pod: &Value) -> Option<PodExportSpec> {
    let mut export = translate(&LocalPod::read(pod), "m00", "m01", &terms(), None).ok()?;
    export.spec_hash = spec_hash(&export);
    Some(export)
}

/// What would give a container the machine, or what is not its own.
const POWERS: [&str; 12] = [
    "hostPath",
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "hostUsers",
    "privileged",
    "nodeName",
    "serviceAccountName",
    "serviceAccount",
    "projected",
    "csi",
    "hostPort",
];

fn powers(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| powers(value, found)),
        Value::Object(map) => {
            for (name, value) in map {
                let is_off = [json!(false), json!(0), json!(null), json!("")].contains(value);
                if POWERS.contains(&&**name) && !is_off {
                    found.push(name.clone());
                }
                powers(value, found);
            }
        }
        _ => {}
    }
}

#[test]
fn what_crosses_has_no_power_over_the_executor() {
    let (sample, mutations) = (pod(), prop::collection::vec(any_mutation(), 0..5));
    let more = prop::option::of((0..POWERS.len(), any::<bool>()));
    check(SEEDS, 192, &(mutations, more), |(mutations, more)| {
        let mut pod = sample.clone();
        for mutation in &mutations {
            mutation.apply(&mut pod);
        }
        if let (Some((power, of_container)), true) = (more, pod["spec"]["containers"].is_array()) {
            let place = if of_container { "/spec/containers/0" } else { "/spec" };
            if let Some(at) = pod.pointer_mut(place).and_then(Value::as_object_mut) {
                at.insert(POWERS[power].to_owned(), json!(true));
            }
        }
        let size = pod.to_string().len();
        let Some(made) = bounded(size, 96, || export(&pod))? else { return Ok(()) };
        let mut found = Vec::new();
        powers(&Value::Object(made.pod.0.clone()), &mut found);
        prop_assert!(found.is_empty(), "{:?}", found);
        // The config maps that it refers to come later; all else is as the hub and the executor want it.
        let refused = check_pod(&made, "m00", &terms());
        prop_assert!(refused.is_ok() || !made.configs.is_empty() || refers(&made), "{:?}", refused);
        prop_assert!(check_pod(&made, "m02", &terms()).is_err(), "of another member");
        // The order of fields is none of the Pod's.
        let turned: Value = serde_json::from_str(&reversed(&pod, usize::MAX)).unwrap();
        prop_assert_eq!(export(&turned), Some(made));
        Ok(())
    });
}

fn refers(export: &PodExportSpec) -> bool {
    !fleet_virtual_node::pod::references_to_read(&export.pod.0).is_empty()
}

/// An import that was changed on its way is noticed: what is accepted is what its hash is of.
#[test]
fn an_import_that_was_changed_is_refused() {
    let made = export(&json!({
        "metadata": { "namespace": "shop", "name": "web-0", "uid": "u1" },
        "spec": { "containers": [{ "name": "web", "image": "web", "args": ["a"] }] },
    }));
    let made = made.unwrap();
    check_pod(&made, "m00", &terms()).unwrap();
    let whole = serde_json::to_value(PodImportSpec { export: made.clone(), stop: None }).unwrap();
    let mutations = prop::collection::vec(any_mutation(), 1..4);
    check(SEEDS, 192, &mutations, |mutations| {
        let mut import = whole.clone();
        for mutation in &mutations {
            mutation.apply(&mut import);
        }
        let text = import.to_string();
        let read = bounded(text.len(), 64, || serde_json::from_value::<PodImportSpec>(import))?;
        let Ok(PodImportSpec { export, .. }) = read else { return Ok(()) };
        if check_pod(&export, "m00", &terms()).is_ok() {
            prop_assert_eq!(&export.pod, &made.pod);
            prop_assert_eq!(&export.configs, &made.configs);
        }
        Ok(())
    });
}
