//! A Deployment whose Pods run in another member, from its first Pod to its last.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::{edit, find};
use fleet_testbed::played_node::{PlayedNode, remote};
use fleet_testbed::timing::promised;
use fleet_testbed::virtual_node::{agree, decide, node_of, offer};
use fleet_testbed::wait::wait_until;
use fleet_testbed::{Testbed, apply::apply};
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};

use crate::parts::{
    DEADLINE, SHOP, VIRTUAL, addresses, begin, count, deployment, is_ready, never_two, pod,
    pods_of, ready_node, runs, serve, status, uids,
};

pub(crate) async fn story(testbed: &Testbed) -> Result<()> {
    let (east, west) = (testbed.member(0), testbed.member(1));
    let agents = begin(testbed, None).await?;
    let node = node_of(west);

    nothing_is_there_before_both_have_agreed(east, &node).await?;
    both_agree(east, west, &node).await?;
    let played = PlayedNode::for_others(west.client());
    a_deployment_runs_in_the_other_member(east, west, &node).await?;
    a_node_that_is_deleted_is_made_again(east, west, &node).await?;
    a_config_map_that_appears_starts_its_pod(east, &node).await?;
    what_admission_there_refuses_says_so(east, west, &node).await?;
    what_exceeds_the_offer_says_so(east, west, &node).await?;
    what_is_scaled_to_none_leaves_nothing(testbed, east, west).await?;
    an_executor_leaves_after_the_pods_that_it_runs(testbed, east, west).await?;
    never_two(played.end().await?)?;
    drop(agents);
    Ok(())
}

async fn nothing_is_there_before_both_have_agreed(east: &Cluster, node: &str) -> Result<()> {
    let nodes: Api<Node> = Api::all(east.client());
    ensure!(nodes.get_opt(node).await?.is_none());
    Ok(())
}

fn offer_of(east: &Cluster, pods: u32) -> Value {
    let changes = json!({ "capacity": { "pods": pods }, "topology": { "zone": "west-1" } });
    offer(east, SHOP, &changes)
}

/// Test 17, its first half: the Node is ready, has its taint and its Lease.
async fn both_agree(east: &Cluster, west: &Cluster, node: &str) -> Result<()> {
    agree(east, west, offer_of(east, 20)).await?;
    let ready = ready_node(east, node, None).await?;
    let taints = ready.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
    ensure!(taints.iter().any(|taint| taint.key == VIRTUAL && taint.effect == "NoSchedule"));
    let labels = ready.metadata.labels.clone().unwrap_or_default();
    ensure!(labels["topology.kubernetes.io/zone"] == "west-1", "{labels:?}");
    lease_of(east, node, &ready).await
}

async fn lease_of(east: &Cluster, name: &str, node: &Node) -> Result<()> {
    let leases: Api<Lease> = Api::namespaced(east.client(), "kube-node-lease");
    wait_until("the Lease of the node has one owner", DEADLINE, async || {
        let Some(lease) = leases.get_opt(name).await? else { return Ok(false) };
        let owners: Vec<_> = lease
            .metadata
            .owner_references
            .iter()
            .flatten()
            .map(|owner| Some(owner.uid.clone()))
            .collect();
        let spec = lease.spec.unwrap_or_default();
        ensure!(spec.lease_duration_seconds == Some(40), "{spec:?}");
        Ok(owners == [node.metadata.uid.clone()] && spec.renew_time.is_some())
    })
    .await
}

/// Test 17: five remote Pods, five addresses in slices, all ready.
async fn a_deployment_runs_in_the_other_member(
    east: &Cluster,
    west: &Cluster,
    node: &str,
) -> Result<()> {
    serve(east, "web").await?;
    let spec = json!({
        "nodeName": node, "tolerations": [{ "key": VIRTUAL, "operator": "Exists" }],
    });
    let begun = Instant::now();
    apply(&east.client(), deployment("web", 5, &spec)).await?;
    wait_until("five remote Pods", DEADLINE, async || Ok(remote(&west.client()).await?.len() == 5))
        .await?;
    eprintln!("five remote Pods after {:?}", begun.elapsed());
    let of = |pods: &[Pod]| -> BTreeSet<String> {
        pods.iter().filter_map(|pod| pod.status.as_ref()?.pod_ip.clone()).collect()
    };
    wait_until("five ready addresses in the slices of the Service", DEADLINE, async || {
        let wanted = of(&remote(&west.client()).await?);
        Ok(wanted.len() == 5 && addresses(east, "web").await? == wanted)
    })
    .await?;
    eprintln!("five ready addresses after {:?}", begun.elapsed());
    ensure!(pods_of(east, "web").await?.iter().all(is_ready));
    Ok(())
}

/// Test 23: another Node of the same name within 30 s, with its Lease, and the same Pods.
async fn a_node_that_is_deleted_is_made_again(
    east: &Cluster,
    west: &Cluster,
    node: &str,
) -> Result<()> {
    let all = async || {
        anyhow::Ok((uids(&pods_of(east, "web").await?), uids(&remote(&west.client()).await?)))
    };
    let before = all().await?;
    let nodes: Api<Node> = Api::all(east.client());
    let old = nodes.get(node).await?.metadata.uid.context("a uid")?;
    let begun = Instant::now();
    nodes.delete(node, &DeleteParams::default()).await?;
    let new = ready_node(east, node, Some(&old)).await?;
    lease_of(east, node, &new).await?;
    promised("another Node", begun.elapsed(), Duration::from_secs(30))?;
    ensure!(before == all().await?, "the Pods stay");
    Ok(())
}

/// Test 26: a Pod whose config map is made after it.
async fn a_config_map_that_appears_starts_its_pod(east: &Cluster, node: &str) -> Result<()> {
    let env = json!({ "envFrom": [{ "configMapRef": { "name": "settings" } }] });
    apply(&east.client(), pod(node, "late", &env)).await?;
    wait_until("the Pod says what it waits for", DEADLINE, async || {
        Ok(status(east, "late").await?["reason"] == "WaitingForConfig")
    })
    .await?;
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "settings", "namespace": SHOP }, "data": { "a": "1" },
    });
    apply(&east.client(), settings).await?;
    wait_until("the Pod runs", DEADLINE, async || {
        let status = status(east, "late").await?;
        Ok(status["phase"] == "Running" && status["reason"].is_null())
    })
    .await
}

/// What the executor's own admission refuses: its words are in the status within seconds, and it runs once they change their mind.
async fn what_admission_there_refuses_says_so(
    east: &Cluster,
    west: &Cluster,
    node: &str,
) -> Result<()> {
    const NAME: &str = "no-barred-image";
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": NAME },
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
            }] },
            "validations": [{
                "expression": "object.spec.containers.all(c, c.image != 'example.com/barred:1')",
                "message": "this image is barred here",
            }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": NAME },
        "spec": { "policyName": NAME, "validationActions": ["Deny"] },
    });
    let client = west.client();
    apply(&client, policy).await?;
    apply(&client, binding).await?;
    let barred = json!({ "image": "example.com/barred:1" });
    let mut probe: Pod = serde_json::from_value(pod(node, "probe", &barred))?;
    probe.metadata.namespace = None;
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    wait_until("the policy is in force", DEADLINE, async || {
        let denied = pods.create(&dry, &probe).await.err();
        Ok(denied.is_some_and(|error| error.to_string().contains("this image is barred here")))
    })
    .await?;
    apply(&east.client(), pod(node, "barred", &barred)).await?;
    let begun = Instant::now();
    wait_until("the Pod says why it is not taken", DEADLINE, async || {
        Ok(status(east, "barred").await?["reason"] == "RefusedByExecutor")
    })
    .await?;
    promised("what admission refuses says so", begun.elapsed(), Duration::from_secs(5))?;
    let shown = status(east, "barred").await?;
    let words = shown["message"].as_str().unwrap_or_default();
    ensure!(words.contains("this image is barred here"), "{shown}");
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(client.clone());
    bindings.delete(NAME, &DeleteParams::default()).await?;
    wait_until("it runs once that is allowed", 2 * DEADLINE, async || {
        let status = status(east, "barred").await?;
        Ok(status["phase"] == "Running" && status["reason"].is_null())
    })
    .await?;
    let pods: Api<Pod> = Api::namespaced(east.client(), SHOP);
    pods.delete("barred", &DeleteParams::default()).await?;
    wait_until("it is gone", DEADLINE, async || Ok(pods.get_opt("barred").await?.is_none())).await
}

/// What the offer has no place for: the reason is in the status, and an Event.
async fn what_exceeds_the_offer_says_so(east: &Cluster, west: &Cluster, node: &str) -> Result<()> {
    decide(west, offer_of(east, 6)).await?;
    wait_until("the hub has the smaller offer", DEADLINE, async || {
        let node = find(east, kinds::NODE, ("", node)).await?.context("a Node")?;
        Ok(node.data["status"]["allocatable"]["pods"] == "6")
    })
    .await?;
    apply(&east.client(), pod(node, "much", &json!({}))).await?;
    let begun = Instant::now();
    wait_until("the Pod says why it is not taken", DEADLINE, async || {
        Ok(status(east, "much").await?["reason"] == "QuotaExceeded")
    })
    .await?;
    promised("what exceeds the offer says so", begun.elapsed(), Duration::from_secs(5))?;
    let events: Api<Event> = Api::namespaced(east.client(), SHOP);
    wait_until("an Event says it, too", DEADLINE, async || {
        let fields = ListParams::default().fields("involvedObject.name=much");
        let events = events.list(&fields).await?.items;
        Ok(events.iter().any(|event| event.reason.as_deref() == Some("RejectedByPolicy")))
    })
    .await
}

/// Test 18: all gone in both clusters and on the hub within the time that the containers have and five seconds.
async fn what_is_scaled_to_none_leaves_nothing(
    testbed: &Testbed,
    east: &Cluster,
    west: &Cluster,
) -> Result<()> {
    let begun = Instant::now();
    edit(
        east,
        fleet_api::ResourceKind {
            group: "apps",
            version: "v1",
            kind: "Deployment",
            plural: "deployments",
            namespaced: true,
        },
        (SHOP, "web"),
        json!({ "spec": { "replicas": 0 } }),
    )
    .await?;
    for name in ["late", "much"] {
        let pods: Api<Pod> = Api::namespaced(east.client(), SHOP);
        pods.delete(name, &DeleteParams::default()).await?;
    }
    let mut left = BTreeMap::new();
    let result = wait_until("nothing is left", DEADLINE, async || {
        let pods: Api<Pod> = Api::namespaced(east.client(), SHOP);
        left = BTreeMap::from([
            ("local", pods.list(&ListParams::default()).await?.items.len()),
            ("remote", remote(&west.client()).await?.len()),
            ("exports", count(testbed.hub(), kinds::POD_EXPORT).await?),
            ("imports", count(testbed.hub(), kinds::POD_IMPORT).await?),
        ]);
        Ok(left.values().all(|count| *count == 0))
    })
    .await;
    result.with_context(|| format!("{left:?}"))?;
    promised("nothing is left", begun.elapsed(), Duration::from_secs(7))
}

/// A member that is asked to leave offers nothing any more, and goes once it runs nothing.
async fn an_executor_leaves_after_the_pods_that_it_runs(
    testbed: &Testbed,
    east: &Cluster,
    west: &Cluster,
) -> Result<()> {
    apply(&east.client(), pod(&node_of(west), "last", &json!({}))).await?;
    runs(east, "last", DEADLINE).await?;
    let namespace = member_namespace(west.name());
    let membership = (&*namespace, west.name());
    let kind = kinds::INTERNAL_MEMBER_CLUSTER;
    edit(testbed.hub(), kind, membership, json!({ "spec": { "state": "Leave" } })).await?;
    let has_left = async || {
        let member = find(testbed.hub(), kind, membership).await?.context("the membership")?;
        Ok(member.data["status"].to_string().contains("AgentLeft"))
    };
    let node = member_namespace(east.name());
    wait_until("the offer is withdrawn", DEADLINE, async || {
        let node = find(testbed.hub(), kinds::VIRTUAL_NODE, (&node, west.name())).await?;
        Ok(node.context("a VirtualNode")?.data["spec"]["phase"] == "Withdrawn")
    })
    .await?;
    ensure!(!has_left().await?, "it has left with a Pod of another member");
    let pods: Api<Pod> = Api::namespaced(east.client(), SHOP);
    pods.delete("last", &DeleteParams::default()).await?;
    wait_until("the executor has left", DEADLINE, has_left).await?;
    ensure!(remote(&west.client()).await?.is_empty(), "it runs something yet");
    Ok(())
}
