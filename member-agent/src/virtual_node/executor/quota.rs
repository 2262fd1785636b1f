//! Whether a Pod fits into what this cluster offers to all members together.
//!
//! The API server has a quota for each namespace; but what it refuses is an error of a write and no answer for the member that the Pod
//! comes from, and a member has many namespaces. So it is counted here.

use fleet_accumulator::Object;
use fleet_api::offload::{Capacity, Refusal};
use fleet_model::objects::offload::{PodImport, PodIndex};
use fleet_virtual_node::node::Amount;
use fleet_virtual_node::pod::Rejection;
use serde_json::{Map, Value};

use crate::left_over::remote_pods;
use crate::snapshot::MemberSnapshot;

/// What a container gets that states nothing, as the `LimitRange` of the namespace has it: request and limit.
const DEFAULTS: [(&str, &str, &str); 2] = [("cpu", "100m", "1"), ("memory", "128Mi", "512Mi")];

/// The spec of a Pod.
type Spec = Map<String, Value>;

/// A resource that is offered: how much, and what a container gets that states nothing.
struct Offered<'a> {
    kind: &'static str,
    name: &'a str,
    amount: &'a str,
    default: &'a str,
}

/// Whether the Pod of an import fits, beside those that are there and those that are about to be.
pub(super) fn fits(
    import: &Object<PodImport>,
    new: &Value,
    capacity: &Capacity,
    snapshot: &MemberSnapshot,
) -> Result<(), Rejection> {
    let running: Vec<&Spec> = running(snapshot).chain(ahead(import, snapshot)).collect();
    let new = new["spec"].as_object();
    if i64::try_from(running.len()).is_ok_and(|count| count >= capacity.pods) {
        return exceeded("spec");
    }
    for offered in offered(capacity) {
        let all = running.iter().copied().chain(new);
        let used: Amount = all.map(|spec| needed(spec, &offered)).sum();
        if used > Amount::parse(offered.amount).unwrap_or_default() {
            let Offered { kind, name, .. } = offered;
            return exceeded(&format!("spec.containers[*].resources.{kind}.{name}"));
        }
    }
    Ok(())
}

fn exceeded(field: &str) -> Result<(), Rejection> {
    Err(Rejection::new(Refusal::QuotaExceeded, field))
}

/// Pods that use something.
fn running(snapshot: &MemberSnapshot) -> impl Iterator<Item = &Spec> {
    let pods = remote_pods(snapshot).map(|pod| &pod.object);
    pods.filter(|pod| !pod.has_ended()).filter_map(|pod| pod.document["spec"].as_object())
}

/// Pods that are decided on at the same time, and come first: without these, each of many would fit. Those of the same namespace are
/// among them: its quota is all that is offered, and knows nothing of other namespaces.
fn ahead<'a>(
    import: &'a Object<PodImport>,
    snapshot: &'a MemberSnapshot,
) -> impl Iterator<Item = &'a Spec> {
    let waits = |other: &&Object<PodImport>| {
        let status = &other.object.status;
        let is_decided = status.rejected.is_some() || status.remote.is_some() || status.released;
        other.object.stop.is_none() && !other.object.meta.is_terminating() && !is_decided
    };
    let others = snapshot.pod_imports.iter();
    others
        .filter(|other| other.name < import.name)
        .filter(waits)
        .filter(|other| {
            let source = PodImport::source(&other.name.name);
            source.is_some_and(|(member, uid)| {
                let made = PodIndex::Origin(member.into(), uid.into());
                snapshot.remote_pods.by(&made).next().is_none()
            })
        })
        .map(|other| &other.object.export.pod.0)
}

fn offered(capacity: &Capacity) -> impl Iterator<Item = Offered<'_>> {
    let Capacity { cpu, memory, ephemeral_storage, extended, .. } = capacity;
    let usual = DEFAULTS.into_iter().flat_map(move |(name, request, limit)| {
        let amount = if name == "cpu" { cpu } else { memory };
        let of = |kind, default| Offered { kind, name, amount, default };
        [of("requests", request), of("limits", limit)]
    });
    let storage = ephemeral_storage.iter().map(|amount| ("ephemeral-storage", amount));
    let extended = extended.iter().map(|(name, amount)| (name.as_str(), amount));
    let others = storage.chain(extended);
    usual.chain(others.map(|(name, amount)| Offered {
        kind: "requests",
        name,
        amount,
        default: "0",
    }))
}

/// What a Pod needs: its containers together, or the largest of those that run before them.
fn needed(spec: &Spec, offered: &Offered<'_>) -> Amount {
    let list = |name: &str| spec.get(name).and_then(Value::as_array).into_iter().flatten();
    let of = |container: &Value| of_container(container, offered);
    let sidecar = |container: &&Value| container["restartPolicy"] == "Always";
    let sidecars: Amount = list("initContainers").filter(sidecar).map(of).sum();
    let first = list("initContainers").filter(|one| !sidecar(one)).map(of).max();
    let together: Amount = list("containers").map(of).chain([sidecars]).sum();
    together.max(first.unwrap_or_default())
}

/// An amount that cannot be read fits nowhere.
fn of_container(container: &Value, offered: &Offered<'_>) -> Amount {
    let Offered { kind, name, default, .. } = offered;
    let stated = |kind: &str| match &container["resources"][kind][*name] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    // A request that is not stated is that of the limit.
    let text = stated(kind).or_else(|| stated("limits").filter(|_| *kind == "requests"));
    Amount::parse(text.as_deref().unwrap_or(default)).unwrap_or(Amount::MOST)
}
