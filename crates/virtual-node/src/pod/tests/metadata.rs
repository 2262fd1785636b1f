//! Labels and annotations.

use super::*;

fn labelled(labels: &[(&str, &str)]) -> LocalPod {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    LocalPod { labels: labels.collect(), ..pod(spec()) }
}

fn export(pod: &LocalPod, terms: &OffloadTerms) -> Result<PodExportSpec, Rejection> {
    with_contents(translate(pod, ORIGIN, EXECUTOR, terms, None)?, Vec::new())
}

/// Services of the executor must not select Pods of others.
#[test]
fn labels_cross_with_a_prefix() {
    let pod = labelled(&[("app", "web"), ("a.io/app", "x"), ("b.io/app", "y")]);
    let plain = export(&pod, &terms()).unwrap();
    assert_eq!(plain.labels["pod.offload.networking.fleet.azure.com/app"], "web");
    assert_eq!(plain.labels.len(), 3, "{:?}", plain.labels);
    let keys = plain.labels.keys();
    assert!(keys.clone().all(|key| fleet_api::names::is_qualified_name(key)), "{keys:?}");
    assert_eq!(check(&plain, ORIGIN, &terms()), Ok(()));
    let verbatim = OffloadTerms { verbatim_labels: true, ..terms() };
    let both = export(&pod, &verbatim).unwrap();
    assert_eq!((both.labels.len(), both.labels["app"].as_str()), (6, "web"));
    assert_eq!(check(&both, ORIGIN, &verbatim), Ok(()));
    let rejection = check(&both, ORIGIN, &terms()).unwrap_err();
    assert_eq!(rejection, refusal("metadata.labels[a.io/app]", Refusal::NotTranslated));
}

/// Kubernetes or the fleet acts on them.
#[test]
fn reserved_keys_never_cross_as_they_are() {
    let terms = OffloadTerms {
        verbatim_labels: true,
        annotation_prefixes: vec![String::new(), "team/".to_owned()],
        ..terms()
    };
    for key in [
        "kubernetes.io/x",
        "pod-security.kubernetes.io/enforce",
        "x.k8s.io/y",
        "offload.networking.fleet.azure.com/origin",
        "container.apparmor.security.beta.kubernetes.io/web",
    ] {
        let mut pod = labelled(&[(key, "1")]);
        pod.annotations.insert(key.to_owned(), "1".to_owned());
        let export = export(&pod, &terms).unwrap();
        assert!(!export.labels.contains_key(key) && !export.annotations.contains_key(key), "{key}");
        let mut forged = export.clone();
        forged.annotations.insert(key.to_owned(), "1".to_owned());
        forged.spec_hash = spec_hash(&forged);
        assert!(check(&forged, ORIGIN, &terms).is_err(), "{key}");
        let mut forged = export;
        forged.labels.insert(key.to_owned(), "1".to_owned());
        forged.spec_hash = spec_hash(&forged);
        assert!(check(&forged, ORIGIN, &terms).is_err(), "{key}");
    }
}

#[test]
fn annotations_cross_where_they_are_listed() {
    let listed = OffloadTerms { annotation_prefixes: vec!["team/".to_owned()], ..terms() };
    let crossing = export(&pod(spec()), &listed).unwrap();
    assert_eq!(crossing.annotations["team/cost"], "$9");
    assert!(export(&pod(spec()), &terms()).unwrap().annotations.is_empty());
    let rejection = check(&crossing, ORIGIN, &terms()).unwrap_err();
    assert_eq!(rejection.reason, Refusal::NotTranslated);
}

#[test]
fn they_are_bounded() {
    let many: Vec<_> = (0..65).map(|at| format!("l{at}")).collect();
    let many: Vec<_> = many.iter().map(|key| (key.as_str(), "")).collect();
    let rejection = export(&labelled(&many), &terms()).unwrap_err();
    assert_eq!(rejection, refusal("metadata.labels", Refusal::LimitExceeded));
    let listed = OffloadTerms { annotation_prefixes: vec!["team/".to_owned()], ..terms() };
    let mut long = pod(spec());
    long.annotations.insert("team/long".to_owned(), "a".repeat(2049));
    let rejection = export(&long, &listed).unwrap_err();
    assert_eq!(rejection, refusal("metadata.annotations", Refusal::LimitExceeded));
}

/// Owners, finalizers and the rest of the metadata have no field to cross in.
#[test]
fn the_host_name_is_that_of_the_pod() {
    assert_eq!(export(&pod(spec()), &terms()).unwrap().hostname, "web-7");
    let named = over(spec(), &json!({ "hostname": "db-0" }));
    assert_eq!(export(&pod(named), &terms()).unwrap().hostname, "db-0");
}
