use std::collections::BTreeMap;

use fleet_api::offload::{OffloadTerms, PodTemplate, Refusal};
use serde_json::{Value, json};

use super::*;
use crate::pod::{check, spec_hash};

#[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
fn export(sources: Value) -> PodExportSpec {
    let pod = json!({ "containers": [{ "name": "web", "envFrom": sources }] });
    let Value::Object(pod) = pod else { unreachable!() };
    PodExportSpec { pod: PodTemplate(pod), ..PodExportSpec::default() }
}

fn copy(key: &str, value: &str) -> ConfigCopy {
    let data = BTreeMap::from([(key.to_owned(), value.to_owned())]);
    ConfigCopy { data, ..ConfigCopy::default() }
}

#[test]
fn contents_cross_under_the_name_that_the_pod_uses() {
    let wanted = export(json!([{ "configMapRef": { "name": "c" } }]));
    let filled = fill(wanted, |_, name| {
        Some(ConfigCopy { name: format!("other-{name}"), ..copy("k", "v") })
    });
    let filled = filled.unwrap();
    assert_eq!((filled.configs.len(), filled.configs[0].name.as_str()), (1, "c"));
    assert_eq!(filled.spec_hash, spec_hash(&filled));
}

#[test]
fn what_is_optional_may_be_missing() {
    let optional = json!([{ "configMapRef": { "name": "c", "optional": true } }]);
    assert_eq!(fill(export(optional), |_, _| None).unwrap().configs, []);
    let mandatory = json!([{ "configMapRef": { "name": "c" } }]);
    let missing = ConfigReference { kind: ConfigKind::ConfigMap, name: "c".to_owned() };
    assert_eq!(fill(export(mandatory), |_, _| None), Err(ConfigProblem::Missing(missing)));
}

/// A Pod that runs follows its source: other contents are another hash, and the export is updated.
#[test]
fn other_contents_are_another_hash() {
    let of = |value: &str| {
        let wanted = export(json!([{ "configMapRef": { "name": "c" } }]));
        fill(wanted, |_, _| Some(copy("k", value))).unwrap().spec_hash
    };
    assert_eq!(of("1"), of("1"));
    assert_ne!(of("1"), of("2"));
}

#[test]
fn contents_are_bounded_one_by_one_and_together() {
    let sources: Vec<_> =
        (0..8).map(|at| json!({ "configMapRef": { "name": format!("c{at}") } })).collect();
    let of = |bytes: usize| {
        let filled = fill(export(json!(sources)), |_, _| Some(copy("k", &"v".repeat(bytes - 1))));
        filled.map(|filled| filled.configs.len())
    };
    assert_eq!(of(64 << 10), Ok(8));
    let Err(ConfigProblem::Rejected(rejection)) = of((64 << 10) + 1) else { panic!("accepted") };
    assert_eq!(
        (rejection.reason, rejection.field.as_str()),
        (Refusal::LimitExceeded, "ConfigMap c0")
    );
}

/// Hub and executor check contents by the same bounds.
#[test]
fn larger_contents_are_refused_by_the_others() {
    let mut export = export(json!([{ "configMapRef": { "name": "c" } }]));
    export.origin.namespace = "shop".to_owned();
    export.configs = vec![ConfigCopy { name: "c".to_owned(), ..copy("k", &"v".repeat(70_000)) }];
    export.spec_hash = spec_hash(&export);
    let terms = OffloadTerms {
        namespaces: vec!["shop".to_owned()],
        policy_profile: fleet_api::offload::PolicyProfile::Baseline,
        ..OffloadTerms::default()
    };
    let rejection = check(&export, "", &terms).unwrap_err();
    assert_eq!(rejection, Rejection::new(Refusal::LimitExceeded, "ConfigMap c"));
}
