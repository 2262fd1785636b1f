//! Secrets leave a cluster only if both list them, by name.

use fleet_api::offload::{ConfigCopy, ConfigKind};

use super::*;

fn uses() -> Vec<Value> {
    let reference = json!({ "name": "s", "key": "k" });
    vec![
        json!({ "containers": [{ "env": [{ "name": "A", "valueFrom": { "secretKeyRef": reference } }] }] }),
        json!({ "containers": [{ "envFrom": [{ "secretRef": { "name": "s" } }] }] }),
        json!({ "volumes": [{ "name": "v", "secret": { "secretName": "s" } }] }),
        json!({ "volumes": [{ "name": "v", "projected": { "sources": [{ "secret": { "name": "s" } }] } }] }),
        json!({ "imagePullSecrets": [{ "name": "s" }] }),
    ]
}

#[test]
fn a_secret_that_is_not_listed_refuses_the_pod_everywhere() {
    for more in uses() {
        let given = over(spec(), &more);
        let expected = Err(refusal("Secret s", Refusal::SecretNotAllowed));
        for listed in
            [vec![], vec!["other/s".to_owned()], vec!["shop/t".to_owned()], vec!["s".to_owned()]]
        {
            let terms = OffloadTerms { secrets: listed, ..terms() };
            assert_eq!(translated(given.clone(), &terms).map(|_| ()), expected);
            assert_eq!(check(&forged(given.clone(), &terms), ORIGIN, &terms), expected);
        }
        let terms = OffloadTerms { secrets: vec!["shop/s".to_owned()], ..terms() };
        let export = translated(given, &terms).unwrap();
        assert_eq!(check(&export, ORIGIN, &terms), Ok(()));
        let found: Vec<_> = references(&export.pod.0).into_keys().collect();
        assert_eq!(found, [ConfigReference { kind: ConfigKind::Secret, name: "s".to_owned() }]);
    }
}

/// A hostile origin cannot put a Secret into a cluster that no Pod of it asks for.
#[test]
fn contents_that_no_pod_refers_to_are_refused() {
    let mut export = translated(spec(), &terms()).unwrap();
    let copy =
        ConfigCopy { kind: ConfigKind::Secret, name: "s".to_owned(), ..ConfigCopy::default() };
    export.configs.push(copy);
    export.spec_hash = spec_hash(&export);
    assert_eq!(check(&export, ORIGIN, &terms()), Err(refusal("Secret s", Refusal::NotTranslated)));
}

#[test]
fn a_pod_refers_to_few() {
    let sources: Vec<_> =
        (0..9).map(|at| json!({ "configMapRef": { "name": format!("c{at}") } })).collect();
    let given = over(spec(), &json!({ "containers": [{ "envFrom": sources }] }));
    let field = "config maps and Secrets of spec";
    assert_eq!(
        translated(given, &terms()).map(|_| ()),
        Err(refusal(field, Refusal::LimitExceeded))
    );
}

#[test]
fn references_get_other_names_wherever_they_are() {
    for more in uses() {
        let mut given = map(over(spec(), &more));
        rename(&mut given, &|kind, name| format!("{}-{name}", kind.as_str().to_lowercase()));
        let found: Vec<_> = references(&given).into_keys().map(|one| one.name).collect();
        assert_eq!(found, ["secret-s"]);
    }
}

/// It is optional only if it is wherever it is named.
#[test]
fn one_mandatory_reference_makes_it_mandatory() {
    let both = json!({ "containers": [{ "envFrom": [
        { "configMapRef": { "name": "c", "optional": true } }, { "configMapRef": { "name": "c" } },
    ] }] });
    let reference = ConfigReference { kind: ConfigKind::ConfigMap, name: "c".to_owned() };
    assert_eq!(references(&map(both)), BTreeMap::from([(reference.clone(), false)]));
    let one = json!({ "containers": [{ "envFrom": [{ "configMapRef": { "name": "c", "optional": true } }] }] });
    assert_eq!(references(&map(one)), BTreeMap::from([(reference, true)]));
}

#[test]
fn resources_are_those_of_the_offer() {
    let more = json!({ "containers": [{ "resources": { "requests": { "example.com/gpu": 1 } } }] });
    let terms = OffloadTerms { resources: vec!["example.com/gpu".to_owned()], ..terms() };
    let export = translated(over(spec(), &more), &terms).unwrap();
    assert_eq!(check(&export, ORIGIN, &terms), Ok(()));
    let rejection = check(&export, ORIGIN, &super::terms()).unwrap_err();
    assert_eq!(rejection.reason, Refusal::NotOffered);
}

/// Kubernetes puts a token of the executor into a Secret of this type.
#[test]
fn a_secret_is_of_a_type_that_nothing_acts_on() {
    let terms = OffloadTerms { secrets: vec!["shop/s".to_owned()], ..terms() };
    let mut export = translated(over(spec(), &uses()[0]), &terms).unwrap();
    let of = |type_: &str| {
        let type_ = Some(type_.to_owned());
        ConfigCopy {
            kind: ConfigKind::Secret,
            name: "s".to_owned(),
            type_,
            ..ConfigCopy::default()
        }
    };
    for (type_, accepted) in [
        ("Opaque", true),
        ("kubernetes.io/dockerconfigjson", true),
        ("kubernetes.io/service-account-token", false),
        ("bootstrap.kubernetes.io/token", false),
    ] {
        export.configs = vec![of(type_)];
        export.spec_hash = spec_hash(&export);
        assert_eq!(check(&export, ORIGIN, &terms).is_ok(), accepted, "{type_}");
    }
}

#[test]
fn a_secret_needs_the_origin_and_the_offer() {
    let listed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let offered = OffloadTerms { secrets: listed(&["shop/s", "shop/t"]), ..terms() };
    assert_eq!(origin_terms(&offered, &listed(&["shop/s", "shop/u"])).secrets, ["shop/s"]);
    assert_eq!(origin_terms(&offered, &[]).secrets, Vec::<String>::new());
    assert_eq!(origin_terms(&offered, &listed(&["shop/t", "shop/s"])), offered);
}
