//! What the status of a Pod should be, by that of its remote Pod.

use std::net::IpAddr;

use fleet_api::conditions::offload_reasons as reasons;
use fleet_api::offload::{ContainerState, PodPhase, RemoteContainer, RemoteStatus};
use fleet_model::cidr::Cidrs;
use fleet_plan::text::truncate;
use jiff::Timestamp;

use super::addresses::{Addresses, believed};
use super::link::Link;
use crate::condition::Condition;
use crate::pod::{LocalPod, Rejection};

/// Bytes of a message.
const MESSAGE: usize = 1024;
/// Bytes of a reason, and of a message about a container.
const SHORT: usize = 256;

/// The fields of a Pod's status that the agent writes. All others belong to other clients.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredStatus {
    /// Its phase.
    pub phase: PodPhase,
    /// Its addresses; empty while none is taken.
    pub pod_ips: Vec<IpAddr>,
    /// When the executor's node took it.
    pub start_time: Option<Timestamp>,
    /// `Initialized`, `ContainersReady` and `Ready`, in this order.
    pub conditions: Vec<Condition>,
    /// Its containers.
    pub containers: Vec<RemoteContainer>,
    /// Its init containers.
    pub init_containers: Vec<RemoteContainer>,
    /// Why it is in this phase.
    pub reason: Option<String>,
    /// The same, for a person.
    pub message: Option<String>,
    /// An address that was not taken.
    pub refused_address: Option<String>,
}

impl DesiredStatus {
    /// Whether the condition `Ready` is met.
    pub fn is_ready(&self) -> bool {
        self.conditions.iter().any(|one| one.type_ == "Ready" && one.status)
    }
}

/// What the status of a Pod should be. `None` if its phase is final: then nothing is written any more.
pub fn translate(
    pod: &LocalPod,
    remote: &RemoteStatus,
    executor: &str,
    ranges: &Cidrs,
    link: Link,
    now: Timestamp,
) -> Option<DesiredStatus> {
    if pod.phase.is_terminal() {
        return None;
    }
    let phase = phase(pod, remote);
    let (pod_ips, refused_address) = match believed(&remote.pod_ips, ranges) {
        Addresses::Taken(addresses) => (addresses, None),
        Addresses::Refused(address) => (Vec::new(), Some(clean(&address, SHORT))),
    };
    let names = |list: &str, containers: &[RemoteContainer]| own(pod, list, containers, executor);
    let obstacle = obstacle(pod, remote, executor, link, refused_address.as_deref());
    Some(DesiredStatus {
        phase,
        pod_ips,
        start_time: remote.start_time.as_ref().map(|time| time.0),
        conditions: conditions(pod, remote, obstacle, phase, now),
        containers: names("containers", &remote.containers),
        init_containers: names("initContainers", &remote.init_containers),
        reason: reason(remote),
        message: message(pod, remote, executor),
        refused_address,
    })
}

/// A Pod that was lost has failed. One that runs does not wait to start again.
fn phase(pod: &LocalPod, remote: &RemoteStatus) -> PodPhase {
    if remote.loss.is_some() { PodPhase::Failed } else { remote.phase.max(pod.phase) }
}

fn reason(remote: &RemoteStatus) -> Option<String> {
    let loss = remote.loss.map(|loss| loss.reason().to_owned());
    loss.or_else(|| remote.reason.as_deref().map(word))
}

fn message(pod: &LocalPod, remote: &RemoteStatus, executor: &str) -> Option<String> {
    let message = remote.message.as_deref().filter(|message| !message.is_empty());
    let message = message.map(|message| format!("cluster {executor}: {message}"));
    let lost = || remote.loss.map(|_| format!("cluster {executor} does not run it any more"));
    let left_out = || {
        let added = pod.spec.get("ephemeralContainers")?.as_array()?;
        (!added.is_empty()).then(|| format!("ephemeral containers do not reach cluster {executor}"))
    };
    message.or_else(lost).or_else(left_out).map(|message| clean(&message, MESSAGE))
}

/// Why a Pod is not ready, if anything is in its way: reason and message.
type Obstacle = Option<(&'static str, String)>;

fn obstacle(
    pod: &LocalPod,
    remote: &RemoteStatus,
    executor: &str,
    link: Link,
    refused: Option<&str>,
) -> Obstacle {
    if let Some(reason) = link.reason() {
        return Some((reason, link.message(executor)));
    }
    if let Some(address) = refused {
        let text = format!("address {address} is not in a range of cluster {executor}");
        return Some((reasons::ADDRESS_REFUSED, text));
    }
    if !is_met(remote, "Ready") || remote.pod_ips.is_empty() {
        let text = format!("its containers in cluster {executor} are not ready");
        return Some((reasons::CONTAINERS_NOT_READY, text));
    }
    let closed = pod.readiness_gates().find(|gate| {
        !pod.conditions.iter().any(|condition| condition.type_ == *gate && condition.status)
    });
    closed.map(|gate| (reasons::READINESS_GATES_NOT_READY, format!("gate {gate} is closed")))
}

fn conditions(
    pod: &LocalPod,
    remote: &RemoteStatus,
    obstacle: Obstacle,
    phase: PodPhase,
    now: Timestamp,
) -> Vec<Condition> {
    let runs = phase == PodPhase::Running;
    let plain = |type_: &str, status| condition(type_, status, None);
    let all = [
        plain("Initialized", is_met(remote, "Initialized")),
        plain("ContainersReady", runs && is_met(remote, "ContainersReady")),
        condition("Ready", runs && obstacle.is_none(), obstacle),
    ];
    all.into_iter().map(|one| one.since(&pod.conditions, now)).collect()
}

fn condition(type_: &str, status: bool, obstacle: Obstacle) -> Condition {
    let (reason, message) = obstacle.unwrap_or_default();
    Condition::new(type_, status, reason, clean(&message, MESSAGE))
}

fn is_met(remote: &RemoteStatus, type_: &str) -> bool {
    remote.conditions.iter().any(|condition| condition.type_ == type_ && condition.status)
}

/// The containers that the Pod has, in its order; an executor cannot add any.
fn own(
    pod: &LocalPod,
    list: &str,
    reported: &[RemoteContainer],
    executor: &str,
) -> Vec<RemoteContainer> {
    let find = |name: &str| reported.iter().find(|container| container.name == name);
    let found = pod.container_names(list).filter_map(find);
    found.map(|container| sanitized(container, executor)).collect()
}

fn sanitized(container: &RemoteContainer, executor: &str) -> RemoteContainer {
    let ContainerState { reason, message, .. } = &container.state;
    let state = ContainerState {
        reason: reason.as_deref().map(word),
        message: message.as_deref().map(|message| clean(message, SHORT)),
        ..container.state.clone()
    };
    let id = container.container_id.as_deref();
    RemoteContainer {
        state,
        restart_count: container.restart_count.max(0),
        image: clean(&container.image, 512),
        container_id: id.map(|id| clean(&format!("{executor}+{id}"), SHORT)),
        ..container.clone()
    }
}

/// A text of another cluster: without signs that control a terminal, and not too long.
fn clean(text: &str, limit: usize) -> String {
    let printable: String = text.chars().filter(|c| !c.is_control() || *c == '\n').collect();
    truncate(&printable, limit).to_owned()
}

/// A reason of another cluster: one word, as programs read it.
fn word(reason: &str) -> String {
    let word: String =
        reason.chars().filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).collect();
    truncate(&word, SHORT).to_owned()
}

/// The status of a Pod that is refused.
pub fn rejected(pod: &LocalPod, rejection: &Rejection, now: Timestamp) -> Option<DesiredStatus> {
    pending(pod, rejection.reason.as_str(), &rejection.message(), now)
}

/// The status of a Pod that waits, with what for. `None` if it started before: then it does not wait to start, even if none of its
/// containers runs yet.
pub fn pending(
    pod: &LocalPod,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> Option<DesiredStatus> {
    if pod.phase != PodPhase::Pending || pod.start_time.is_some() {
        return None;
    }
    let obstacle = Some((reasons::CONTAINERS_NOT_READY, clean(message, MESSAGE)));
    Some(DesiredStatus {
        phase: PodPhase::Pending,
        pod_ips: Vec::new(),
        start_time: None,
        conditions: conditions(pod, &RemoteStatus::default(), obstacle, PodPhase::Pending, now),
        containers: Vec::new(),
        init_containers: Vec::new(),
        reason: Some(reason.to_owned()),
        message: Some(clean(message, MESSAGE)),
        refused_address: None,
    })
}
