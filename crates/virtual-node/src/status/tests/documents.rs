//! A status on the wire.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

#[test]
fn a_document_has_the_fields_of_the_agent_and_no_others() {
    let mut remote = running();
    remote.start_time = Some(Time(at(7)));
    let desired = desired(&pod(), &remote, Link::Alive);
    let written = document(&pod(), &desired, Some("10.1.0.1".parse().unwrap()));
    let fields: Vec<_> = written["status"].as_object().unwrap().keys().cloned().collect();
    let expected = [
        "conditions",
        "containerStatuses",
        "hostIP",
        "hostIPs",
        "phase",
        "podIP",
        "podIPs",
        "startTime",
    ];
    assert_eq!(fields, expected);
    let metadata: Vec<_> = written["metadata"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        metadata,
        ["name", "namespace", "uid"],
        "labels, annotations and finalizers are not its own"
    );
    assert_eq!(written.get("spec"), None);
    let read: Pod = serde_json::from_value(written).unwrap();
    let status = read.status.unwrap();
    assert_eq!(status.pod_ip.as_deref(), Some("10.2.0.7"));
    assert_eq!(status.start_time, Some(Time(at(7))));
    assert_eq!(status.conditions.unwrap().len(), 3);
}

#[test]
fn addresses_that_were_not_taken_are_not_written() {
    let remote = RemoteStatus { pod_ips: vec!["10.9.0.1".to_owned()], ..running() };
    let desired = desired(&pod(), &remote, Link::Alive);
    let written = document(&pod(), &desired, None);
    for field in ["podIP", "podIPs", "hostIP", "hostIPs"] {
        assert_eq!(written["status"].get(field), None, "{field}");
    }
}

#[test]
fn a_container_is_in_one_state() {
    let time = Some(Time(at(5)));
    let (started_at, finished_at) = (time.clone(), time);
    let reason = Some("Why".to_owned());
    for (running, exit_code, expected) in [
        (true, None, "running"),
        (true, Some(0), "running"),
        (false, Some(1), "terminated"),
        (false, None, "waiting"),
    ] {
        let state = ContainerState {
            running,
            exit_code,
            reason: reason.clone(),
            message: None,
            started_at: started_at.clone(),
            finished_at: finished_at.clone(),
        };
        let container =
            RemoteContainer { name: "web".to_owned(), state, ..RemoteContainer::default() };
        let written = container_document(&container);
        let states: Vec<_> = written["state"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(states, [expected]);
        let read: k8s_openapi::api::core::v1::ContainerStatus =
            serde_json::from_value(written).unwrap();
        assert_eq!(read.name, "web");
    }
}
