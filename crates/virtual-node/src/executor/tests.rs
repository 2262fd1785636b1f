use std::collections::BTreeMap;
use std::time::Duration;

use fleet_api::offload::{
    Capacity, ConfigCopy, ConfigKind, Disconnect, DisconnectMode, OriginPod, PodExportSpec,
    PodPhase, PodTemplate, PolicyProfile, RemoteLoss, RemoteStatus,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ConfigMap, LimitRange, Namespace, Pod, ResourceQuota, Secret, ServiceAccount,
};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use serde_json::{Value, json};

use super::*;
use crate::provider::WriteAction;

fn export() -> PodExportSpec {
    let spec = json!({ "containers": [{
        "name": "web", "envFrom": [{ "configMapRef": { "name": "c" } }, { "secretRef": { "name": "s" } }],
    }] });
    let Value::Object(spec) = spec else { unreachable!() };
    let text = |text: &str| text.to_owned();
    PodExportSpec {
        origin: OriginPod {
            cluster: text("east"),
            namespace: text("shop"),
            name: text("web-7"),
            uid: text("u-1"),
        },
        executor: text("west"),
        pod: PodTemplate(spec),
        hostname: text("web-7"),
        labels: BTreeMap::from([
            (text("pod.offload.networking.fleet.azure.com/app"), text("web")),
            (text("offload.networking.fleet.azure.com/origin"), text("forged")),
        ]),
        configs: vec![
            ConfigCopy {
                name: text("c"),
                data: BTreeMap::from([(text("k"), text("v"))]),
                immutable: true,
                ..ConfigCopy::default()
            },
            ConfigCopy {
                kind: ConfigKind::Secret,
                name: text("s"),
                binary_data: BTreeMap::from([(text("k"), text("dg=="))]),
                ..ConfigCopy::default()
            },
        ],
        spec_hash: text("h"),
        ..PodExportSpec::default()
    }
}

#[test]
fn the_pod_runs_without_rights_in_a_namespace_of_its_own() {
    let written = pod_document(&export());
    let pod: Pod = serde_json::from_value(written).unwrap();
    assert_eq!(pod.metadata.namespace.as_deref(), Some("offload-east--shop"));
    assert!(pod.metadata.name.as_deref().unwrap().starts_with("web-7-"));
    let labels = pod.metadata.labels.unwrap();
    assert_eq!(
        labels["offload.networking.fleet.azure.com/origin"], "east",
        "what it states itself does not count"
    );
    assert_eq!(labels["offload.networking.fleet.azure.com/origin-uid"], "u-1");
    assert_eq!(labels["pod.offload.networking.fleet.azure.com/app"], "web");
    assert_eq!(pod.metadata.owner_references, None);
    let spec = pod.spec.unwrap();
    assert_eq!(spec.service_account_name.as_deref(), Some("offloaded"));
    assert_eq!(
        (spec.automount_service_account_token, spec.enable_service_links),
        (Some(false), Some(false))
    );
    assert_eq!((spec.host_network, spec.hostname.as_deref()), (Some(false), Some("web-7")));
}

/// By what is on the Pod, whatever its origin has put there.
#[test]
fn a_pod_ends_without_the_hub_if_that_was_agreed_on() {
    let forged = ("offload.networking.fleet.azure.com/stop-after".to_owned(), "30".to_owned());
    let never = PodExportSpec { annotations: BTreeMap::from([forged]), ..export() };
    let disconnect = Disconnect { mode: DisconnectMode::StopAfter, seconds: Some(60) };
    let agreed = PodExportSpec { disconnect, ..never.clone() };
    let secs = Duration::from_secs;
    let pod = pod_document(&never);
    assert_eq!((stop_after(&pod), cut_off(&pod, secs(100_000))), (None, None));
    let mut pod = pod_document(&agreed);
    assert_eq!((stop_after(&pod), cut_off(&pod, secs(59))), (Some(secs(60)), None));
    for (own, grace) in [(json!(null), 10), (json!(3), 3), (json!(600), 10)] {
        pod["spec"]["terminationGracePeriodSeconds"] = own;
        let write = cut_off(&pod, secs(60)).unwrap();
        assert_eq!(write.action, WriteAction::Delete { grace_seconds: Some(grace) });
        assert_eq!(&*write.name.namespace, "offload-east--shop");
    }
    pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    pod["metadata"]["deletionGracePeriodSeconds"] = json!(600);
    assert!(cut_off(&pod, secs(60)).is_some(), "its time is cut");
    pod["metadata"]["deletionGracePeriodSeconds"] = json!(10);
    assert!(cut_off(&pod, secs(60)).is_none(), "it ends");
}

/// Both the Pod and its copies name them alike.
#[test]
fn the_pod_refers_to_its_own_copies() {
    let export = export();
    let [config_map, secret]: [Value; 2] =
        config_documents(&export, &json!({ "metadata": { "name": "p", "uid": "r" } }))
            .try_into()
            .unwrap();
    let config_map: ConfigMap = serde_json::from_value(config_map).unwrap();
    let secret: Secret = serde_json::from_value(secret).unwrap();
    let pod = pod_document(&export);
    let sources = &pod["spec"]["containers"][0]["envFrom"];
    assert_eq!(sources[0]["configMapRef"]["name"], *config_map.metadata.name.as_ref().unwrap());
    assert_eq!(sources[1]["secretRef"]["name"], *secret.metadata.name.as_ref().unwrap());
    assert_eq!((config_map.immutable, secret.immutable), (Some(true), None));
    assert_eq!(secret.data.unwrap()["k"].0, b"v");
    assert_eq!(config_map.data.unwrap()["k"], "v");
    let owner = &config_map.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!((owner.kind.as_str(), owner.uid.as_str()), ("Pod", "r"), "they go with the Pod");
    assert!(waits_for_configs(&pod), "it starts once they are there");
    let ready = changes(&pod, &pod_document(&export));
    assert_eq!(ready, [json!({ "op": "remove", "path": "/spec/schedulingGates" })]);
    let other = PodExportSpec {
        origin: OriginPod { uid: "u-2".to_owned(), ..export.origin.clone() },
        ..export
    };
    let other = &config_documents(&other, &json!({}))[0]["metadata"]["name"];
    assert_ne!(*other, *config_map.metadata.name.as_ref().unwrap(), "each Pod has its own");
}

#[test]
fn a_namespace_keeps_pods_in_bounds() {
    let capacity =
        Capacity { cpu: "4".to_owned(), memory: "8Gi".to_owned(), pods: 20, ..Capacity::default() };
    let clients = ["10.1.0.0/16".to_owned()];
    let documents =
        namespace_documents("east", "shop", PolicyProfile::Restricted, &capacity, &clients);
    let [namespace, quota, limits, policy, account]: [Value; 5] = documents.try_into().unwrap();
    let namespace: Namespace = serde_json::from_value(namespace).unwrap();
    let labels = namespace.metadata.labels.unwrap();
    assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
    let quota: ResourceQuota = serde_json::from_value(quota).unwrap();
    let hard = quota.spec.unwrap().hard.unwrap();
    assert_eq!(
        (hard["pods"].0.as_str(), hard["limits.cpu"].0.as_str(), hard["services"].0.as_str()),
        ("20", "4", "0")
    );
    let limits: LimitRange = serde_json::from_value(limits).unwrap();
    assert_eq!(limits.spec.unwrap().limits[0].type_, "Container");
    let policy: NetworkPolicy = serde_json::from_value(policy).unwrap();
    let ingress = policy.spec.unwrap().ingress.unwrap();
    assert_eq!(ingress[0].from.as_ref().unwrap()[0].ip_block.as_ref().unwrap().cidr, "10.1.0.0/16");
    let account: ServiceAccount = serde_json::from_value(account).unwrap();
    assert_eq!(account.automount_service_account_token, Some(false));
}

/// No list of peers at all would let everything in.
#[test]
fn without_ranges_no_traffic_comes_in() {
    let documents =
        namespace_documents("east", "shop", PolicyProfile::Restricted, &Capacity::default(), &[]);
    assert_eq!(documents[3]["spec"]["ingress"], json!([]));
    assert_eq!(documents[3]["spec"]["policyTypes"], json!(["Ingress"]));
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
fn seen(status: Value) -> RemoteStatus {
    let pod = json!({
        "metadata": { "namespace": "offload-east--shop", "name": "web-7-x", "uid": "r" },
        "spec": { "nodeName": "n1" },
        "status": status,
    });
    observe(Some(&pod), Gone::NotMade, None, "h", at(1000))
}

#[test]
fn a_pod_is_reported_as_it_is() {
    let reported = seen(json!({
        "phase": "Running", "startTime": "1970-01-01T00:00:07Z",
        "podIP": "10.2.0.7", "podIPs": [{ "ip": "10.2.0.7" }, { "ip": "fd00::7" }, { "ip": "more" }],
        "conditions": [
            { "type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:00:09Z" },
            { "type": "example.com/own", "status": "True" },
        ],
        "containerStatuses": [{
            "name": "web", "ready": true, "restartCount": 2, "image": "web:1", "started": true,
            "containerID": "containerd://1", "state": { "running": { "startedAt": "1970-01-01T00:00:08Z" } },
        }],
        "initContainerStatuses": [{
            "name": "init", "state": { "terminated": { "exitCode": 3, "reason": "Error", "finishedAt": "1970-01-01T00:00:08Z" } },
        }, { "name": "later", "state": { "waiting": { "reason": "PodInitializing" } } }],
    }));
    assert_eq!(
        (reported.phase, reported.loss, reported.observed_hash.as_str()),
        (PodPhase::Running, None, "h")
    );
    assert_eq!(reported.pod_ips, ["10.2.0.7", "fd00::7"]);
    assert_eq!(reported.start_time.unwrap().0, at(7));
    let types: Vec<_> = reported.conditions.iter().map(|one| one.type_.as_str()).collect();
    assert_eq!(types, ["Ready"]);
    let web = &reported.containers[0];
    assert_eq!(
        (web.restart_count, web.ready, web.started, web.state.running),
        (2, true, Some(true), true)
    );
    assert_eq!(web.state.started_at.as_ref().unwrap().0, at(8));
    let init = &reported.init_containers[0].state;
    assert_eq!((init.exit_code, init.reason.as_deref()), (Some(3), Some("Error")));
    let later = &reported.init_containers[1].state;
    assert_eq!(
        (later.running, later.exit_code, later.reason.as_deref()),
        (false, None, Some("PodInitializing"))
    );
    let pod = reported.pod.unwrap();
    assert_eq!((pod.uid.as_deref(), pod.node.as_deref()), (Some("r"), Some("n1")));
}

#[test]
fn how_a_pod_was_lost_is_reported() {
    let failed = |reason: &str| seen(json!({ "phase": "Failed", "reason": reason })).loss;
    assert_eq!(failed("Evicted"), Some(RemoteLoss::Evicted));
    assert_eq!(failed("Preempted"), Some(RemoteLoss::Preempted));
    assert_eq!(failed("NodeLost"), Some(RemoteLoss::Lost));
    assert_eq!(failed("DeadlineExceeded"), None, "it failed by itself");
    for (reason, loss) in [
        ("PreemptionByScheduler", RemoteLoss::Preempted),
        ("EvictionByEvictionAPI", RemoteLoss::Evicted),
        ("DeletionByTaintManager", RemoteLoss::Lost),
        ("TerminationByKubelet", RemoteLoss::Evicted),
    ] {
        let conditions =
            json!([{ "type": "DisruptionTarget", "status": "True", "reason": reason }]);
        assert_eq!(seen(json!({ "phase": "Failed", "conditions": conditions })).loss, Some(loss));
        assert_eq!(seen(json!({ "phase": "Running", "conditions": conditions })).loss, None);
    }
}

/// The last status of a Pod may come together with its end.
#[test]
fn how_a_pod_was_lost_is_reported_by_what_was_seen_before() {
    for (status, loss) in
        [("True", RemoteLoss::Evicted), ("False", RemoteLoss::Deleted), ("", RemoteLoss::Deleted)]
    {
        let conditions = json!([
            { "type": "DisruptionTarget", "status": status, "reason": "EvictionByEvictionAPI" }
        ]);
        let last = seen(json!({ "phase": "Running", "conditions": conditions }));
        assert_eq!(last.loss, None);
        let gone = |gone| observe(None, gone, Some(&last), "h", at(1)).loss;
        assert_eq!((gone(Gone::Deleted), gone(Gone::NotMade)), (Some(loss), None));
    }
}

#[test]
fn a_pod_that_no_node_takes_is_lost_after_a_while() {
    let waiting = |since: &str| {
        seen(json!({ "phase": "Pending", "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/3 nodes", "lastTransitionTime": since,
        }] }))
    };
    let early = waiting("1970-01-01T00:15:00Z");
    assert_eq!((early.loss, early.message.as_deref()), (None, Some("0/3 nodes")));
    assert_eq!(waiting("1970-01-01T00:11:40Z").loss, Some(RemoteLoss::Unschedulable));
    assert_eq!(waiting("2970-01-01T00:00:00Z").loss, None, "another clock");
}

/// One Pod, ever: a lost one is not found again in another of its name.
#[test]
fn a_pod_that_was_lost_stays_lost() {
    let last = RemoteStatus { phase: PodPhase::Running, ..RemoteStatus::default() };
    let gone = observe(None, Gone::Deleted, Some(&last), "h", at(1));
    assert_eq!((gone.loss, gone.phase), (Some(RemoteLoss::Deleted), PodPhase::Running));
    let again = json!({ "metadata": { "name": "web" }, "status": { "phase": "Running" } });
    assert_eq!(
        observe(Some(&again), Gone::NotMade, Some(&gone), "h", at(1)).loss,
        Some(RemoteLoss::Deleted)
    );
    let ended = RemoteStatus { phase: PodPhase::Succeeded, ..RemoteStatus::default() };
    assert_eq!(observe(None, Gone::Deleted, Some(&ended), "h", at(1)).loss, None, "it had ended");
    assert_eq!(observe(None, Gone::NotMade, None, "h", at(1)).loss, None);
}

/// The executor's API server is trusted, but what stands in a status comes from Pods and nodes.
#[test]
fn odd_statuses_are_no_harm() {
    for status in [
        json!(null),
        json!([]),
        json!({ "phase": 5, "podIPs": {}, "conditions": "x", "containerStatuses": [null, {}, { "name": 5 }] }),
        json!({ "phase": "Unknown", "startTime": "never", "containerStatuses": [{ "name": "a", "restartCount": 1e30 }] }),
    ] {
        assert_eq!(seen(status).phase, PodPhase::Pending);
    }
    let many: Vec<_> = (0..99).map(|at| json!({ "name": format!("c{at}") })).collect();
    let long = json!({ "containerStatuses": many, "message": "m".repeat(9999) });
    let reported = seen(long);
    assert_eq!((reported.containers.len(), reported.message.unwrap().len()), (16, 1024));
}
