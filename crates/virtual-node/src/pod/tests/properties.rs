//! Properties of the walk and of the translation, for any Pod.

use fleet_api::offload::FIRST_PROFILE;
use fleet_api::offload::pod_fields::{POD, Record, Rule, Shape};
use proptest::prelude::*;

use super::any;
use super::*;
use crate::pod::path::Path;
use crate::pod::walk::Walk;

/// Whether every field of an object is one that the table lets cross.
fn is_listed(record: &Record, fields: &Map<String, Value>) -> bool {
    fields.iter().all(|(name, value)| {
        let shape = record.find(name).and_then(|field| field.rule.shape());
        shape.is_some_and(|shape| is_of(shape, value))
    })
}

fn is_of(shape: Shape, value: &Value) -> bool {
    match (shape, value) {
        (Shape::Object(record), Value::Object(fields)) => is_listed(record, fields),
        (Shape::List(most, each), Value::Array(entries)) => {
            entries.len() <= most && entries.iter().all(|entry| is_of(*each, entry))
        }
        (Shape::Text(most), Value::String(text)) => text.chars().count() <= most,
        _ => true,
    }
}

/// The restricted Pod Security Standard, read from its text and written without the code that it judges.
fn is_restricted(pod: &Map<String, Value>) -> bool {
    let pod = Value::Object(pod.clone());
    let none = |name: &str| pod[name].is_null() || pod[name] == false;
    let host = ["hostNetwork", "hostPID", "hostIPC"].into_iter().all(none);
    let allowed = ["configMap", "downwardAPI", "emptyDir", "projected", "secret", "name"];
    let volumes = pod["volumes"].as_array().into_iter().flatten().all(|volume| {
        volume.as_object().unwrap().keys().all(|kind| allowed.contains(&kind.as_str()))
    });
    let lists = ["containers", "initContainers"].map(|list| pod[list].as_array().cloned());
    let containers = lists.into_iter().flatten().flatten();
    host && volumes && containers.into_iter().all(|one| is_container_restricted(&pod, &one))
}

fn is_container_restricted(pod: &Value, container: &Value) -> bool {
    let own = &container["securityContext"];
    let of =
        |name: &str| if own[name].is_null() { &pod["securityContext"][name] } else { &own[name] };
    let ports = container["ports"].as_array().into_iter().flatten();
    let capabilities = &own["capabilities"];
    let mut dropped = capabilities["drop"].as_array().into_iter().flatten();
    let mut added = capabilities["add"].as_array().into_iter().flatten();
    let profile = &of("seccompProfile")["type"];
    own["allowPrivilegeEscalation"] == false
        && (own["privileged"].is_null() || own["privileged"] == false)
        && own["procMount"].is_null()
        && dropped.any(|name| name == "ALL")
        && added.all(|name| name == "NET_BIND_SERVICE")
        && *of("runAsNonRoot") == true
        && *of("runAsUser") != 0
        && (profile == "RuntimeDefault" || profile == "Localhost")
        && ports.into_iter().all(|port| port["hostPort"].is_null())
        && ["livenessProbe", "readinessProbe", "startupProbe"].iter().all(|probe| {
            container[*probe]["httpGet"]["host"].is_null()
                && container[*probe]["tcpSocket"]["host"].is_null()
        })
}

/// A Pod that is accepted often: what every container needs is set on top of the random rest.
fn plausible() -> impl Strategy<Value = Value> {
    any::valid(&POD).prop_map(|mut pod| {
        for list in ["containers", "initContainers"] {
            let containers = pod.get_mut(list).and_then(Value::as_array_mut);
            for (at, container) in containers.into_iter().flatten().enumerate() {
                harden(container, list, at);
            }
        }
        let volumes = pod.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten();
        for volume in volumes {
            *volume = json!({ "name": "v", "emptyDir": volume["emptyDir"].as_object().cloned().unwrap_or_default() });
        }
        pod.remove("dnsPolicy");
        pod.remove("dnsConfig");
        pod.remove("imagePullSecrets");
        let mut pod = over(Value::Object(pod), &json!({ "securityContext": {
            "runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": { "type": "RuntimeDefault" },
        } }));
        if pod["containers"].as_array().is_none_or(Vec::is_empty) {
            pod["containers"] = spec()["containers"].clone();
        }
        pod
    })
}

fn harden(container: &mut Value, list: &str, at: usize) {
    container["name"] = format!("{list}-{at}").to_lowercase().into();
    container["env"] = json!([]);
    container["envFrom"] = json!([]);
    container["resources"] = json!({});
    let mut context = spec()["containers"][0]["securityContext"].clone();
    let readonly = container["securityContext"]["readOnlyRootFilesystem"].clone();
    if !readonly.is_null() {
        context["readOnlyRootFilesystem"] = readonly;
    }
    container["securityContext"] = context;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a client sends: nothing that the table does not list crosses, what crosses is no more than what was given, and
    /// walking it again changes nothing.
    #[test]
    fn nothing_outside_the_table_crosses(given in any::object(&POD)) {
        let Ok(crossing) = Walk { version: FIRST_PROFILE }.object(&POD, &given, &Path::SPEC) else { return Ok(()) };
        prop_assert!(is_listed(&POD, &crossing));
        let size = |map: &Map<String, Value>| serde_json::to_string(map).unwrap().len();
        prop_assert!(size(&crossing) <= size(&given));
        prop_assert_eq!(Walk { version: FIRST_PROFILE }.object(&POD, &crossing, &Path::SPEC), Ok(crossing.clone()));
        prop_assert_eq!(references(&crossing).len() <= size(&given), true);
    }

    /// What the origin makes of a Pod, hub and executor accept.
    #[test]
    fn what_is_translated_is_accepted(given in plausible()) {
        let result = translated(given, &terms());
        let Ok(export) = result else { return Ok(()) };
        prop_assert_eq!(check(&export, ORIGIN, &terms()), Ok(()));
        prop_assert!(is_restricted(&export.pod.0));
        let again = LocalPod { spec: export.pod.0.clone(), ..pod(json!({})) };
        let again = translate(&again, ORIGIN, EXECUTOR, &terms(), None).unwrap();
        prop_assert_eq!(again.pod, export.pod);
    }

    /// Whatever a hostile origin writes to the hub: what is accepted meets the strictest profile.
    #[test]
    fn what_is_accepted_is_restricted(given in any::object(&POD), base in any::<bool>()) {
        let given = if base { over(spec(), &Value::Object(given)) } else { Value::Object(given) };
        let export = forged(given, &terms());
        if check(&export, ORIGIN, &terms()).is_ok() {
            prop_assert!(is_restricted(&export.pod.0));
        }
    }
}

/// The properties would hold if nothing were ever accepted.
#[test]
fn plausible_pods_are_mostly_accepted() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let made = (0..100).map(|_| plausible().new_tree(&mut runner).unwrap().current());
    let refused: Vec<_> = made.filter_map(|pod| translated(pod, &terms()).err()).collect();
    assert!(refused.len() < 30, "{} of 100: {:?}", refused.len(), refused.first());
}

#[test]
fn a_rule_without_a_shape_lets_nothing_cross() {
    for (path, rule) in fleet_api::offload::pod_fields::rows(&POD) {
        let crosses = !matches!(rule, Rule::Drop | Rule::Reject(_) | Rule::RejectUnless(..));
        assert_eq!(rule.shape().is_some(), crosses, "{path}");
    }
}
