//! What becomes of each field of a Pod: the same in the origin, on the hub and in the cluster of the executor.

use super::*;

use super::rows::{copied, left_out, rejected, volume};

use Refusal::{
    DaemonSetNotOffloaded, InvalidValue, LimitExceeded, NotTranslated, ServiceAccountToken,
    UnknownField,
};

#[test]
fn what_crosses_crosses_unchanged_and_is_accepted_everywhere() {
    for more in copied() {
        let wanted = over(spec(), &more);
        let export =
            translated(wanted.clone(), &terms()).unwrap_or_else(|why| panic!("{more}: {why:?}"));
        assert_eq!(Value::Object(export.pod.0.clone()), wanted);
        assert_eq!(check(&export, ORIGIN, &terms()), Ok(()), "{more}");
    }
}

#[test]
fn what_stays_behind_is_left_out_by_the_origin_and_refused_by_the_others() {
    for (field, more) in left_out() {
        let given = over(spec(), &more);
        let export =
            translated(given.clone(), &terms()).unwrap_or_else(|why| panic!("{field}: {why:?}"));
        assert_eq!(check(&export, ORIGIN, &terms()), Ok(()), "{field}");
        assert_ne!(Value::Object(export.pod.0.clone()), given, "{field}");
        let check = check(&forged(given, &terms()), ORIGIN, &terms());
        assert_eq!(check, Err(refusal(field, NotTranslated)));
    }
}

#[test]
fn what_is_refused_is_refused_everywhere_by_the_same_field() {
    for (field, reason, more) in rejected() {
        let given = over(spec(), &more);
        let expected = Err(refusal(field, reason));
        assert_eq!(translated(given.clone(), &terms()).map(|_| ()), expected, "{more}");
        assert_eq!(check(&forged(given, &terms()), ORIGIN, &terms()), expected, "{more}");
    }
}

/// Kubernetes sets most of these on every Pod.
#[test]
fn a_pod_as_an_api_server_has_it_crosses() {
    let given = over(
        spec(),
        &json!({
            "containers": [{
                "imagePullPolicy": "IfNotPresent", "resources": {},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                "volumeMounts": [{
                    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                    "name": "kube-api-access-x7k2p", "readOnly": true,
                }],
            }],
            "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "nodeName": "fleet-west",
            "preemptionPolicy": "PreemptLowerPriority", "priority": 0, "restartPolicy": "Always",
            "schedulerName": "default-scheduler", "serviceAccount": "default",
            "serviceAccountName": "default", "terminationGracePeriodSeconds": 30,
            "tolerations": [{ "effect": "NoExecute", "key": "node.kubernetes.io/not-ready" }],
            "volumes": [{ "name": "kube-api-access-x7k2p", "projected": { "defaultMode": 420, "sources": [
                { "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } },
                { "configMap": { "name": "kube-root-ca.crt" } },
            ] } }],
        }),
    );
    let export = translated(given, &terms()).unwrap();
    assert_eq!(export.pod.0["volumes"], json!([]));
    assert_eq!(export.pod.0["containers"][0]["volumeMounts"], json!([]));
    assert_eq!(references(&export.pod.0), BTreeMap::new());
    assert_eq!(check(&export, ORIGIN, &terms()), Ok(()));
}

/// The name alone does not make it the volume that Kubernetes adds.
#[test]
fn a_token_that_is_mounted_elsewhere_was_asked_for() {
    let volume = json!({ "name": "kube-api-access-mine", "projected": { "sources": [
        { "serviceAccountToken": { "path": "token" } },
    ] } });
    let given = over(
        spec(),
        &json!({
            "containers": [{ "volumeMounts": [{ "mountPath": "/t", "name": "kube-api-access-mine" }] }],
            "volumes": [volume],
        }),
    );
    let field = "spec.volumes[0].projected.sources[0].serviceAccountToken";
    assert_eq!(translated(given, &terms()).map(|_| ()), Err(refusal(field, ServiceAccountToken)));
}

#[test]
fn a_local_volume_without_a_limit_gets_one() {
    let given = over(spec(), &volume("emptyDir", json!({})));
    let export = translated(given.clone(), &terms()).unwrap();
    assert_eq!(export.pod.0["volumes"][0]["emptyDir"], json!({ "sizeLimit": "1Gi" }));
    let check = check(&forged(given, &terms()), ORIGIN, &terms());
    assert_eq!(check, Err(refusal("spec.volumes[0].emptyDir.sizeLimit", NotTranslated)));
}

#[test]
fn pods_of_other_namespaces_and_of_daemon_sets_do_not_cross() {
    for (namespace, listed, accepted) in [
        ("shop", "shop", true),
        ("shop", "*", true),
        ("team", "shop", false),
        ("kube-system", "*", false),
        ("fleet-system", "*", false),
    ] {
        let terms = OffloadTerms { namespaces: vec![listed.to_owned()], ..terms() };
        let pod = LocalPod { namespace: namespace.to_owned(), ..pod(spec()) };
        let result = translate(&pod, ORIGIN, EXECUTOR, &terms, None);
        assert_eq!(result.is_ok(), accepted, "{namespace}");
        let export = PodExportSpec {
            spec_hash: String::new(),
            ..translated(spec(), &self::terms()).unwrap()
        };
        let mut export = PodExportSpec { disconnect: terms.disconnect, ..export };
        export.origin.namespace = namespace.to_owned();
        export.spec_hash = spec_hash(&export);
        assert_eq!(check(&export, ORIGIN, &terms).is_ok(), accepted, "{namespace}");
    }
    let owned = LocalPod { owner_kinds: vec!["DaemonSet".to_owned()], ..pod(spec()) };
    let rejection = translate(&owned, ORIGIN, EXECUTOR, &terms(), None).unwrap_err();
    assert_eq!(rejection.reason, DaemonSetNotOffloaded);
}

#[test]
fn an_export_belongs_to_the_member_whose_namespace_it_is_in() {
    let export = translated(spec(), &terms()).unwrap();
    assert_eq!(check(&export, "north", &terms()), Err(refusal("origin.cluster", InvalidValue)));
}

#[test]
fn what_a_hub_has_dropped_is_noticed() {
    let mut export = translated(over(spec(), &json!({ "hostUsers": false })), &terms()).unwrap();
    export.pod.0.remove("hostUsers");
    assert_eq!(check(&export, ORIGIN, &terms()), Err(refusal("specHash", NotTranslated)));
}

#[test]
fn a_pod_is_no_larger_than_the_executor_accepts() {
    let terms = OffloadTerms { max_pod_object_bytes: 1024, ..terms() };
    let args = json!({ "containers": [{ "args": ["a".repeat(900)] }] });
    let given = over(spec(), &args);
    assert_eq!(translated(given.clone(), &terms).map(|_| ()), Err(refusal("spec", LimitExceeded)));
    assert_eq!(check(&forged(given, &terms), ORIGIN, &terms), Err(refusal("spec", LimitExceeded)));
}

#[test]
fn how_long_a_stop_takes_makes_no_other_pod() {
    let mut export = translated(spec(), &terms()).unwrap();
    export.stop_grace_seconds = Some(5);
    assert_eq!(check(&export, ORIGIN, &terms()), Ok(()));
}

/// The origin's names are in its own environment variables, and its own signs are not expanded.
#[test]
fn what_only_the_origin_knows_crosses_as_a_value() {
    let of =
        |path: &str| json!({ "name": "A", "valueFrom": { "fieldRef": { "fieldPath": path } } });
    for (path, value) in [
        ("metadata.name", "web-7"),
        ("metadata.namespace", "shop"),
        ("metadata.uid", "11111111-2222-3333-4444-555555555555"),
        ("metadata.labels['app']", "web"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['team/cost']", "$$9"),
        ("spec.serviceAccountName", "builder"),
    ] {
        let given = over(
            spec(),
            &json!({
                "containers": [{ "env": [of(path)] }], "serviceAccountName": "builder",
            }),
        );
        let export = translated(given, &terms()).unwrap();
        let env = &export.pod.0["containers"][0]["env"][0];
        assert_eq!(*env, json!({ "name": "A", "value": value }), "{path}");
    }
    let unknown = over(spec(), &json!({ "containers": [{ "env": [of("status.phase")] }] }));
    let field = "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath";
    assert_eq!(translated(unknown, &terms()).map(|_| ()), Err(refusal(field, InvalidValue)));
}

#[test]
fn names_of_the_origin_are_resolved_where_both_want_it() {
    let dns =
        DnsOption { servers: vec!["10.1.0.10".to_owned()], domain: "cluster.local".to_owned() };
    let offered = OffloadTerms { origin_dns: true, ..terms() };
    let with = |terms| translate(&pod(spec()), ORIGIN, EXECUTOR, terms, Some(&dns)).unwrap().pod.0;
    let set = with(&offered);
    assert_eq!(set["dnsPolicy"], "None");
    assert_eq!(set["dnsConfig"]["nameservers"], json!(["10.1.0.10"]));
    assert_eq!(set["dnsConfig"]["searches"][0], "shop.svc.cluster.local");
    assert!(!with(&terms()).contains_key("dnsPolicy"));
    let own =
        over(spec(), &json!({ "dnsPolicy": "None", "dnsConfig": { "nameservers": ["10.9.9.9"] } }));
    let export = translate(&pod(own), ORIGIN, EXECUTOR, &offered, Some(&dns)).unwrap();
    assert_eq!(export.pod.0["dnsConfig"]["nameservers"], json!(["10.9.9.9"]));
}

/// A client chooses names of fields.
#[test]
fn a_path_is_short_and_printable() {
    let name = format!("\u{1b}[2J{}", "x".repeat(10_000));
    let mut given = map(spec());
    given.insert(name, json!(1));
    let rejection = translated(Value::Object(given), &terms()).unwrap_err();
    assert!(rejection.field.len() <= 256 && !rejection.field.contains('\u{1b}'));
    let report = rejection.report("h");
    assert_eq!((report.reason, report.hash.as_str()), (UnknownField, "h"));
    assert!(report.message.contains("is not known"));
}
