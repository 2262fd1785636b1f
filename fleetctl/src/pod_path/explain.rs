//! The explanation of one Pod. Pure.

use fleet_api::offload::{
    LinkState, PeerLink, PodExportSpec, PodExportStatus, PodImportSpec, PodImportStatus, PodPhase,
    Refusal, RemoteStatus, VirtualNodePhase, VirtualNodeSpec, VirtualNodeStatus,
};
use kube::api::DynamicObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::shell::{kubectl, quoted};

/// What was read of a Pod on its way. What was not found is `None`.
#[derive(Clone, Debug, Default)]
pub struct PodEvidence {
    /// Namespace and name, as asked for.
    pub name: String,
    /// The member that the Pod is in, if it was found.
    pub origin: Option<String>,
    /// The Pod.
    pub pod: Option<DynamicObject>,
    /// The member that its node stands for.
    pub executor: Option<String>,
    /// The virtual node on the hub.
    pub node: Option<DynamicObject>,
    /// Its export.
    pub export: Option<DynamicObject>,
    /// Its import.
    pub import: Option<DynamicObject>,
}

/// Where a Pod is on its way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PodStory {
    /// In one sentence.
    pub verdict: String,
    /// Whether it waits for something.
    pub stops: bool,
    /// A command that helps, or shows more.
    pub help: Option<String>,
    /// What there is of it.
    pub hops: Vec<PodHop>,
}

/// What there is of a Pod in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PodHop {
    /// The cluster.
    pub cluster: String,
    /// The object.
    pub object: String,
    /// How far it is there.
    pub says: String,
}

/// Where a Pod waits, and why.
pub fn explain(evidence: &PodEvidence) -> PodStory {
    let hops = hops(evidence);
    let (verdict, stops, help) = verdict(evidence);
    PodStory { verdict: format!("{} {verdict}", evidence.name), stops, help, hops }
}

type Verdict = (String, bool, Option<String>);

fn waits(why: impl Into<String>, help: impl Into<String>) -> Verdict {
    (why.into(), true, Some(help.into()))
}

fn describe(cluster: &str, namespace: &str, name: &str) -> String {
    format!("{} -n {} describe pod {}", kubectl(cluster), quoted(namespace), quoted(name))
}

fn verdict(evidence: &PodEvidence) -> Verdict {
    let (Some(origin), Some(pod)) = (&evidence.origin, &evidence.pod) else {
        return waits("is in no member that can be read", "name its cluster with --origin MEMBER");
    };
    let (namespace, name) = evidence.name.split_once('/').unwrap_or(("", &evidence.name));
    let describe = describe(origin, namespace, name);
    let Some(executor) = &evidence.executor else {
        return match pod.data["spec"]["nodeName"].as_str() {
            None => waits(format!("waits in {origin} for a node"), describe),
            Some(node) => (format!("runs on node {node} of {origin} itself"), false, None),
        };
    };
    if let Some(stopped) = of_node(evidence, origin, executor) {
        return stopped;
    }
    let Some(export) = &evidence.export else { return not_exported(pod, origin, describe) };
    let status: PodExportStatus = part(export, "status").unwrap_or_default();
    if let Some(rejected) = status.rejected.filter(|_| !status.accepted) {
        let (message, reason) = (rejected.message, rejected.reason.as_str());
        return match rejected.reason {
            Refusal::RefusedByExecutor => {
                let why =
                    format!("is refused by {executor}, which is asked again: {message} ({reason})");
                waits(why, describe)
            }
            _ => waits(format!("does not cross: {message} ({reason})"), describe),
        };
    }
    of_import(evidence, (origin, executor), pod, &describe)
}

/// What keeps all Pods from a virtual node.
fn of_node(evidence: &PodEvidence, origin: &str, executor: &str) -> Option<Verdict> {
    let offered = "fleetctl offload status";
    let Some(node) = &evidence.node else {
        return Some(waits(format!("waits: {executor} offers nothing to {origin}"), offered));
    };
    let spec: VirtualNodeSpec = part(node, "spec")?;
    let status: VirtualNodeStatus = part(node, "status").unwrap_or_default();
    let heard = status.executor.as_ref().map(PeerLink::standing);
    match (spec.phase, heard) {
        (VirtualNodePhase::Offered, _) => Some(waits(
            format!("waits: {origin} has not accepted {executor}"),
            format!("fleetctl offload accept {} --origin {}", quoted(executor), quoted(origin)),
        )),
        (VirtualNodePhase::Withdrawn, _) => Some(waits(
            format!("has to go: {executor} offers nothing to {origin} any more"),
            offered,
        )),
        (_, Some(LinkState::Silent)) => {
            Some(waits(format!("is not ready: {executor} is silent on the hub"), agent(executor)))
        }
        (VirtualNodePhase::Accepted | VirtualNodePhase::Draining, _) => None,
    }
}

fn agent(member: &str) -> String {
    format!(
        "{} -n fleet-system logs -l app.kubernetes.io/name=member-agent --tail=50",
        kubectl(member)
    )
}

/// Its origin states why in the status of the Pod.
fn not_exported(pod: &DynamicObject, origin: &str, describe: String) -> Verdict {
    let status = &pod.data["status"];
    if let (Some(reason), Some(message)) = (status["reason"].as_str(), status["message"].as_str()) {
        return waits(format!("is not exported by {origin}: {message} ({reason})"), describe);
    }
    waits(format!("is not exported by {origin} yet"), agent(origin))
}

fn of_import(
    evidence: &PodEvidence,
    (origin, executor): (&str, &str),
    pod: &DynamicObject,
    describe: &str,
) -> Verdict {
    let Some(import) = &evidence.import else {
        return waits(
            "waits for the hub agent",
            "kubectl --context hub -n fleet-system logs -l app.kubernetes.io/name=hub-agent --tail=50",
        );
    };
    let spec: PodImportSpec = part(import, "spec").unwrap_or_default();
    let status: PodImportStatus = part(import, "status").unwrap_or_default();
    if let Some(rejected) = status.rejected {
        let (message, reason) = (rejected.message, rejected.reason.as_str());
        // What is refused of a Pod that has started is a change.
        let runs = status.remote.is_some_and(|remote| remote.phase == PodPhase::Running);
        let what = if runs { "runs as it was, and a change" } else { "" };
        let verdict = format!("{what} is refused by {executor}: {message} ({reason})");
        return waits(verdict.trim_start(), describe);
    }
    match (spec.stop, status.remote) {
        (Some(_), _) if !status.released => {
            waits(format!("ends: {executor} has not confirmed it"), agent(executor))
        }
        (_, None) => waits(format!("waits for {executor} to take it"), agent(executor)),
        (_, Some(remote)) => of_remote(&remote, (origin, executor), pod, describe),
    }
}

fn of_remote(
    remote: &RemoteStatus,
    (origin, executor): (&str, &str),
    pod: &DynamicObject,
    describe: &str,
) -> Verdict {
    let there = remote.pod.as_ref().map(|pod| self::describe(executor, &pod.namespace, &pod.name));
    let there = there.unwrap_or_else(|| describe.to_owned());
    let reason = remote.message.as_deref().or(remote.reason.as_deref());
    if let Some(loss) = remote.loss {
        return waits(format!("was lost in {executor} ({})", loss.reason()), there);
    }
    match remote.phase {
        PodPhase::Pending => {
            let reason = reason.unwrap_or("its containers have not started");
            waits(format!("is pending in {executor}: {reason}"), there)
        }
        PodPhase::Failed => waits(format!("has failed in {executor}"), there),
        PodPhase::Succeeded => (format!("has succeeded in {executor}"), false, None),
        PodPhase::Running if is_ready(pod) => (format!("runs in {executor}"), false, None),
        PodPhase::Running => not_ready(remote, (origin, executor), pod, there, describe),
    }
}

fn not_ready(
    remote: &RemoteStatus,
    (origin, executor): (&str, &str),
    pod: &DynamicObject,
    there: String,
    describe: &str,
) -> Verdict {
    let ready = remote.conditions.iter().any(|one| one.type_ == "Ready" && one.status);
    if !ready {
        return waits(format!("runs in {executor} and is not ready there"), there);
    }
    let condition = find_ready(pod);
    let why = ["reason", "message"].map(|field| condition[field].as_str().unwrap_or_default());
    match why {
        ["", _] => waits(
            format!("is ready in {executor}, which {origin} does not show yet"),
            agent(origin),
        ),
        [reason, message] => waits(
            format!("is ready in {executor} and not in {origin}: {message} ({reason})"),
            describe,
        ),
    }
}

fn find_ready(pod: &DynamicObject) -> &Value {
    let conditions = pod.data["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.find(|condition| condition["type"] == "Ready").unwrap_or(&Value::Null)
}

fn is_ready(pod: &DynamicObject) -> bool {
    find_ready(pod)["status"] == "True"
}

fn part<T: DeserializeOwned>(object: &DynamicObject, field: &str) -> Option<T> {
    serde_json::from_value(object.data[field].clone()).ok()
}

fn hops(evidence: &PodEvidence) -> Vec<PodHop> {
    let title = |object: &DynamicObject| {
        let kind = object.types.as_ref().map_or("Pod", |types| &types.kind);
        let name = object.metadata.name.as_deref().unwrap_or_default();
        match object.metadata.namespace.as_deref() {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        }
    };
    let hop = |cluster: &str, object: &DynamicObject, says: String| PodHop {
        cluster: cluster.to_owned(),
        object: title(object),
        says,
    };
    let origin = evidence.origin.as_deref().unwrap_or_default();
    let phase = |object: &DynamicObject, path: &str| {
        let phase = object.data.pointer(path).and_then(Value::as_str);
        phase.unwrap_or("nothing is reported").to_owned()
    };
    let export = |export: &DynamicObject| {
        let spec: Option<PodExportSpec> = part(export, "spec");
        let to = spec.map(|spec| spec.executor).unwrap_or_default();
        format!("for {to}: {}", phase(export, "/status/remote/phase"))
    };
    [
        evidence.pod.as_ref().map(|pod| hop(origin, pod, phase(pod, "/status/phase"))),
        evidence.node.as_ref().map(|node| hop("hub", node, phase(node, "/spec/phase"))),
        evidence.export.as_ref().map(|object| hop("hub", object, export(object))),
        evidence
            .import
            .as_ref()
            .map(|object| hop("hub", object, phase(object, "/status/remote/phase"))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
    fn object(kind: &str, namespace: &str, name: &str, data: Value) -> DynamicObject {
        let mut object = json!({
            "apiVersion": "offload.networking.fleet.azure.com/v1alpha1", "kind": kind,
            "metadata": { "namespace": namespace, "name": name },
        });
        object.as_object_mut().unwrap().extend(data.as_object().unwrap().clone());
        serde_json::from_value(object).unwrap()
    }

    fn node(phase: &str, state: &str) -> DynamicObject {
        object(
            "VirtualNode",
            "fleet-member-east",
            "west",
            json!({
                "spec": { "executor": "west", "phase": phase, "terms": { "namespaces": ["*"] },
                    "capacity": { "cpu": "4", "memory": "8Gi", "pods": 20 } },
                "status": { "accepted": true,
                    "executor": { "cluster": "west", "state": state, "since": "2026-01-01T00:00:00Z" } },
            }),
        )
    }

    fn spec() -> Value {
        json!({ "origin": { "cluster": "east", "namespace": "shop", "name": "web", "uid": "u" },
            "executor": "west", "specHash": "h", "pod": {} })
    }

    #[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
    fn export(status: Value) -> DynamicObject {
        let data = json!({ "spec": spec(), "status": status });
        object("PodExport", "fleet-member-east", "u", data)
    }

    #[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
    fn import(stop: Value, status: Value) -> DynamicObject {
        let mut spec = json!({ "export": spec() });
        if !stop.is_null() {
            spec["stop"] = stop;
        }
        let data = json!({ "spec": spec, "status": status });
        object("PodImport", "fleet-member-west", "u.east", data)
    }

    fn ready(status: &str, reason: &str) -> Value {
        json!({ "type": "Ready", "status": status, "reason": reason, "message": "because" })
    }

    #[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
    fn bound(status: Value) -> PodEvidence {
        let data = json!({ "spec": { "nodeName": "fleet-west" }, "status": status });
        PodEvidence {
            name: "shop/web".to_owned(),
            origin: Some("east".to_owned()),
            pod: Some(object("Pod", "shop", "web", data)),
            executor: Some("west".to_owned()),
            node: Some(node("Accepted", "Connected")),
            ..PodEvidence::default()
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
    fn running(status: Value, remote: Value) -> PodEvidence {
        let import = import(Value::Null, json!({ "released": false, "remote": remote }));
        PodEvidence {
            export: Some(export(json!({ "accepted": true }))),
            import: Some(import),
            ..bound(status)
        }
    }

    /// Each hop on which a Pod can wait has a sentence and a command.
    #[test]
    fn every_hop_has_its_reason() {
        let pending = || bound(json!({ "phase": "Pending" }));
        let crossing = || PodEvidence { export: Some(export(json!({}))), ..pending() };
        let refused = json!({ "accepted": false, "rejected": { "reason": "HostAccess",
            "field": "spec.hostNetwork", "message": "spec.hostNetwork needs access to the node", "hash": "h" } });
        let by_admission = json!({ "rejected": { "reason": "RefusedByExecutor", "field": "spec", "hash": "h",
            "message": "spec is refused by the API server of the executor: no" } });
        let mut changed = by_admission.clone();
        changed["remote"] = json!({ "phase": "Running" });
        let remote = |phase: &str| {
            json!({ "phase": phase, "message": "0/3 nodes are available",
            "pod": { "namespace": "offload-east--shop", "name": "web-1" } })
        };
        let unbound = object("Pod", "shop", "web", json!({ "spec": {} }));
        let stop = json!({ "graceSeconds": 5, "requestedAt": "2026-01-01T00:00:00Z" });
        let table = vec![
            (PodEvidence { pod: None, ..pending() }, "is in no member that can be read"),
            (
                PodEvidence { executor: None, pod: Some(unbound), ..pending() },
                "waits in east for a node",
            ),
            (PodEvidence { node: None, ..pending() }, "west offers nothing to east"),
            (
                PodEvidence { node: Some(node("Offered", "Connected")), ..pending() },
                "east has not accepted west",
            ),
            (PodEvidence { node: Some(node("Withdrawn", "Connected")), ..pending() }, "has to go"),
            (
                PodEvidence { node: Some(node("Accepted", "Silent")), ..pending() },
                "west is silent on the hub",
            ),
            (pending(), "is not exported by east yet"),
            (
                bound(
                    json!({ "reason": "WaitingForConfig", "message": "ConfigMap a does not exist" }),
                ),
                "ConfigMap a does not exist (WaitingForConfig)",
            ),
            (
                PodEvidence { export: Some(export(refused.clone())), ..pending() },
                "needs access to the node (HostAccess)",
            ),
            (
                PodEvidence { export: Some(export(by_admission.clone())), ..pending() },
                "is refused by west, which is asked again: spec is refused by the API server of the executor: no (RefusedByExecutor)",
            ),
            (
                PodEvidence {
                    export: Some(export(json!({ "accepted": true }))),
                    import: Some(import(Value::Null, changed)),
                    ..pending()
                },
                "runs as it was, and a change is refused by west",
            ),
            (crossing(), "waits for the hub agent"),
            (
                PodEvidence { import: Some(import(Value::Null, json!({}))), ..crossing() },
                "waits for west to take it",
            ),
            (
                PodEvidence { import: Some(import(Value::Null, refused)), ..crossing() },
                "is refused by west",
            ),
            (
                PodEvidence { import: Some(import(stop, json!({}))), ..crossing() },
                "ends: west has not confirmed it",
            ),
            (running(json!({}), remote("Pending")), "pending in west: 0/3 nodes are available"),
            (running(json!({}), remote("Failed")), "has failed in west"),
            (
                running(json!({}), json!({ "phase": "Running", "loss": "Evicted" })),
                "lost in west (RemoteEvicted)",
            ),
            (running(json!({}), json!({ "phase": "Running" })), "is not ready there"),
            (
                running(
                    json!({ "conditions": [ready("False", "AddressRefused")] }),
                    json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": true }] }),
                ),
                "not in east: because (AddressRefused)",
            ),
        ];
        for (evidence, expected) in table {
            let story = explain(&evidence);
            assert!(story.verdict.contains(expected), "{}: {expected}", story.verdict);
            assert!(story.stops && story.help.is_some(), "{expected}");
        }
    }

    #[test]
    fn what_runs_has_nothing_to_be_done() {
        let status = json!({ "phase": "Running", "conditions": [ready("True", "")] });
        let story = explain(&running(status, json!({ "phase": "Running" })));
        assert_eq!(
            (&*story.verdict, story.stops, story.help),
            ("shop/web runs in west", false, None)
        );
        let objects: Vec<_> =
            story.hops.iter().map(|hop| format!("{} {}", hop.cluster, hop.object)).collect();
        let expected = [
            "east Pod shop/web",
            "hub VirtualNode fleet-member-east/west",
            "hub PodExport fleet-member-east/u",
            "hub PodImport fleet-member-west/u.east",
        ];
        assert_eq!(objects, expected);
        let own = object("Pod", "shop", "web", json!({ "spec": { "nodeName": "worker-1" } }));
        let story = explain(&PodEvidence { executor: None, pod: Some(own), ..bound(json!({})) });
        assert_eq!(
            (&*story.verdict, story.stops),
            ("shop/web runs on node worker-1 of east itself", false)
        );
    }
}
