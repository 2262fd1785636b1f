use k8s_openapi::api::core::v1::{Pod, Service, ServicePort};
use serde_json::{Value, json};

use super::{
    AddressType, NodeView, PodChange, Pods, affected_services, canonical, change_of, find_port,
    hostname, is_candidate,
};
use crate::source::Source;
use crate::tests::fixture::{object, pod, service, with};

/// A pod from its JSON, changed by pointer.
fn changed(path: &str, value: Value) -> Pod {
    let mut pod = serde_json::to_value(pod(1, true)).unwrap();
    let (parent, key) = path.rsplit_once('/').unwrap();
    pod.pointer_mut(parent).unwrap()[key] = value;
    object(pod)
}

/// EPS-55, EPS-93, EPS-94: readiness, publishing and deletion → ready, serving, terminating.
#[test]
fn conditions_of_an_endpoint() {
    for (is_ready, published, terminating, expected) in [
        (true, false, false, [true, true, false]),
        (true, true, false, [true, true, false]),
        (false, false, false, [false, false, false]),
        (false, true, false, [true, false, false]),
        (true, false, true, [false, true, true]),
        (false, false, true, [false, false, true]),
        (false, true, true, [true, false, true]),
    ] {
        let mut pod = pod(1, is_ready);
        if terminating {
            pod.metadata.deletion_timestamp = object(json!("2024-01-01T00:00:00Z"));
        }
        let service = with(&service(), "/spec/publishNotReadyAddresses", json!(published));
        let pods = [&pod];
        let source = Pods { pods: &pods, node: &|_| Some(NodeView::default()), addresses: None };
        let found = source
            .candidates(&service, AddressType::IPv4)
            .next()
            .unwrap()
            .endpoint
            .unwrap()
            .unwrap();
        assert_eq!([found.ready, found.serving, found.terminating], expected);
        assert_eq!(
            (found.target.kind, found.target.name, found.node_name),
            ("Pod", "pod1", Some("node-1"))
        );
    }
}

/// EPS-75: which pods can be endpoints.
#[test]
fn finished_pods_and_pods_without_address_are_no_candidates() {
    for (phase, expected) in [
        ("Running", true),
        ("Pending", true),
        ("Unknown", true),
        ("Failed", false),
        ("Succeeded", false),
    ] {
        assert_eq!(
            is_candidate(&changed("/status/phase", json!(phase)), true),
            expected,
            "{phase}"
        );
    }
    let without: Pod = object(json!({"status": {"phase": "Running"}}));
    assert!(!is_candidate(&without, true));
    let leaving = changed("/metadata/deletionTimestamp", json!("2024-01-01T00:00:00Z"));
    assert!(is_candidate(&leaving, true) && !is_candidate(&leaving, false));
}

/// EPS-76: a host name needs the Service's name as subdomain, and its namespace.
#[test]
fn hostnames_belong_to_one_service() {
    for (name, subdomain, namespace, expected) in [
        ("one", "foo", "test", Some("one")),
        ("", "foo", "test", None),
        ("one", "other", "test", None),
        ("one", "foo", "other", None),
    ] {
        let pod: Pod = object(json!({"metadata": {"namespace": namespace},
            "spec": {"hostname": name, "subdomain": subdomain, "containers": []}}));
        assert_eq!(hostname(&service(), &pod), expected);
    }
}

fn port(target: &Value) -> ServicePort {
    object(json!({"port": 80, "protocol": "TCP", "targetPort": target}))
}

fn container(ports: &Value) -> Value {
    json!({"name": "c", "ports": ports})
}

fn named(name: &str, number: i32, protocol: &str) -> Value {
    json!({"name": name, "containerPort": number, "protocol": protocol})
}

/// EPS-57, EPS-61: numbers need no declaration; names are looked for in regular containers, then in sidecars.
#[test]
fn ports_are_found_by_number_or_name() {
    let p = |number| json!([named("p", number, "TCP")]);
    let sidecar = |ports| json!({"name": "s", "restartPolicy": "Always", "ports": ports});
    let two = json!([named("p", 11, "TCP"), named("q", 11, "TCP")]);
    for (target, containers, inits, expected) in [
        (json!(8080), json!([]), json!([]), Some(8080)),
        (json!(8080), json!([container(&p(11))]), json!([]), Some(8080)),
        (json!("p"), json!([container(&json!([]))]), json!([]), None),
        (json!("p"), json!([container(&p(11))]), json!([]), Some(11)),
        (json!("p"), json!([container(&json!([])), container(&p(12))]), json!([]), Some(12)),
        (json!("q"), json!([container(&two)]), json!([]), Some(11)),
        (json!("p"), json!([container(&json!([named("p", 11, "UDP")]))]), json!([]), None),
        (
            json!("p"),
            json!([container(
                &json!([{"name": "p", "containerPort": 11, "hostPort": -9, "hostIP": "x"}])
            )]),
            json!([]),
            Some(11),
        ),
        (json!("p"), json!([container(&p(-5))]), json!([]), Some(-5)),
        (json!("p"), json!([container(&json!([]))]), json!([sidecar(p(13))]), Some(13)),
        (json!("p"), json!([container(&json!([]))]), json!([container(&p(13))]), None),
        (
            json!("p"),
            json!([container(&p(11)), container(&p(12))]),
            json!([sidecar(p(13))]),
            Some(11),
        ),
    ] {
        let pod: Pod = object(json!({"spec": {"containers": containers, "initContainers": inits}}));
        assert_eq!(find_port(&pod, &port(&target)), expected, "{target} {containers}");
    }
}

/// EPS-57: a port keeps its application protocol; one that is not found is left out.
#[test]
fn application_protocols_are_kept() {
    let ports = json!([
        {"name": "one", "port": 80, "protocol": "TCP", "targetPort": 8080, "appProtocol": "example.com/x"},
        {"name": "two", "port": 81, "protocol": "TCP", "targetPort": "absent"},
    ]);
    let service = with(&service(), "/spec/ports", ports);
    let resolved = crate::ports::resolved(&service, &[Some(8080), None], &crate::Config::pods());
    let expected =
        json!([{"name": "one", "port": 8080, "protocol": "TCP", "appProtocol": "example.com/x"}]);
    assert_eq!(json!(resolved), expected);
}

/// EPS-78: what of a pod matters to endpoints, and what to who selects it.
#[test]
fn changes_of_a_pod_are_classified() {
    let old = pod(1, true);
    let ips = |ips: &[&str]| json!(ips.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>());
    let nothing = PodChange::default();
    let endpoint = PodChange { endpoint: true, membership: false };
    let membership = PodChange { endpoint: false, membership: true };
    for (path, value, expected) in [
        ("/spec/nodeName", json!("node-2"), nothing),
        ("/metadata/resourceVersion", json!("7"), nothing),
        ("/status/podIPs", ips(&["10.0.0.2", "fd00::1"]), endpoint),
        ("/status/podIPs", ips(&["10.9.9.9"]), endpoint),
        ("/status/podIPs", ips(&["fd00::1"]), endpoint),
        ("/status/podIPs", ips(&[]), endpoint),
        ("/status/conditions", json!([]), endpoint),
        ("/metadata/deletionTimestamp", json!("2024-01-01T00:00:00Z"), endpoint),
        ("/metadata/labels", json!({"foo": "bar", "more": "x"}), membership),
        ("/metadata/labels", json!({"foo": "baz"}), membership),
        ("/metadata/labels", json!({}), membership),
    ] {
        assert_eq!(change_of(&old, &changed(path, value)), expected, "{path}");
    }
}

/// EPS-74, EPS-77: only labels changed: the Services that select one version; more: those that select either.
#[test]
fn changes_affect_the_services_that_select_the_pod() {
    let of = |name: &str| -> Service {
        object(
            json!({"metadata": {"name": name, "namespace": "test"}, "spec": {"selector": {"app": name}}}),
        )
    };
    let services = [of("a"), of("b"), of("c")];
    let labelled = |app: &str, ready: bool| {
        let mut pod = pod(1, ready);
        pod.metadata.labels = Some([("app".to_owned(), app.to_owned())].into());
        pod
    };
    let keys = |old: Option<&Pod>, new: Option<&Pod>| -> Vec<String> {
        let affected = affected_services(old, new, &services);
        affected.iter().map(|service| service.metadata.name.clone().unwrap()).collect()
    };
    let (a, b, a_down, b_down) =
        (labelled("a", true), labelled("b", true), labelled("a", false), labelled("b", false));
    assert_eq!(keys(None, Some(&a)), ["a"]);
    assert_eq!(keys(Some(&b), None), ["b"]);
    assert_eq!(keys(Some(&a), Some(&b)), ["a", "b"]);
    assert_eq!(keys(Some(&a), Some(&a_down)), ["a"]);
    assert_eq!(keys(Some(&a), Some(&b_down)), ["a", "b"]);
    assert!(keys(Some(&a), Some(&a)).is_empty());
    assert!(keys(None, Some(&labelled("d", true))).is_empty());
    let mut both = a.clone();
    both.metadata.labels.as_mut().unwrap().insert("more".to_owned(), String::new());
    assert!(keys(Some(&a), Some(&both)).is_empty(), "selected by the same Services");
}

/// Addresses are written as they are printed; what is none is left out.
#[test]
fn addresses_are_canonical() {
    use AddressType::{IPv4, IPv6};
    for (text, address_type, expected) in [
        ("10.0.0.1", IPv4, Some("10.0.0.1")),
        ("010.000.000.001", IPv4, Some("10.0.0.1")),
        ("::ffff:10.0.0.1", IPv4, Some("10.0.0.1")),
        ("10.0.0.1", IPv6, None),
        ("FD00:0::1", IPv6, Some("fd00::1")),
        ("fd00::1", IPv4, None),
        ("10.0.0", IPv4, None),
        ("10.0.0.+1", IPv4, None),
        ("nonsense", IPv4, None),
    ] {
        assert_eq!(canonical(text, address_type).as_deref(), expected, "{text}");
    }
}
