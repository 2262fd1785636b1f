//! Sentences that several parts of an explanation share.

use fleet_api::{ObjectName, ServicePort, names};
use fleet_model::objects::SliceIndex;
use fleet_plan::{Plan, Step};
use jiff::{SignedDuration, Timestamp};

use crate::picture::{Member, Picture};
use crate::story::{Cause, Hop};

/// Advice where a namespace is denied.
pub(super) const DENIED: &str =
    "use another namespace, or take this one off --denied-namespaces of the agent";

/// Reports an agent that has writes to make: it does not run, or is blocked.
pub(super) fn behind<M>(picture: &Picture, agent: &str, plan: &Plan<M>) -> Option<Hop> {
    let step = plan.steps.first()?;
    let more = plan.steps.len() - 1;
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let (object, whose, cause) = match agent {
        "hub" => ("hub agent", "the hub agent", Cause::HubAgentBehind),
        _ => ("member agent", "its agent", Cause::AgentBehind),
    };
    let missing = format!("{whose} has yet to {}{more}", write_of(step));
    let Some(reason) = picture.blocked.get(agent) else {
        return Some(Hop::stop(agent, object, cause, missing, look(picture, agent)));
    };
    Some(Hop::stop(
        agent,
        object,
        Cause::AgentBlocked,
        format!("{missing}, and is blocked: {reason}"),
        "give the agent the rights and definitions of its chart; it then continues by itself",
    ))
}

/// Advice to check whether an agent runs.
pub(super) fn look(picture: &Picture, agent: &str) -> String {
    format!(
        "check whether the agent runs, and its logs: {} -n {} get pods",
        picture.kubectl(agent),
        names::SYSTEM_NAMESPACE
    )
}

fn write_of(step: &Step) -> String {
    format!("{} {} {}", step.action.verb().replace('_', " "), step.kind.label(), step.name)
}

/// Ready endpoints of a Service of the member's own cluster.
pub(super) fn ready(member: &Member, service: &ObjectName) -> usize {
    let slices = member.snapshot.endpoint_slices.by(&SliceIndex::Backs(service.clone()));
    slices.map(|slice| slice.ready.len()).sum()
}

pub(super) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// A duration, rounded to a unit that suits it.
pub(crate) fn age(time: SignedDuration) -> String {
    let seconds = time.as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// The time that has passed until `now`, rounded likewise. Clocks of two clusters differ: nothing is in the future.
pub(crate) fn since(then: Timestamp, now: Timestamp) -> String {
    age(now.duration_since(then))
}

/// Ports as `80/TCP`, separated by commas.
pub(super) fn ports_text(ports: &[ServicePort]) -> String {
    let one = |port: &ServicePort| format!("{}/{}", port.port, port.protocol.as_str());
    let ports: Vec<_> = ports.iter().map(one).collect();
    format!("port{} {}", if ports.len() == 1 { "" } else { "s" }, ports.join(", "))
}

/// Members that cannot import the Service, since they lack its namespace.
pub(super) fn lacking(picture: &Picture, namespace: &str) -> String {
    let key = ObjectName::cluster(namespace);
    let seen = picture.members.iter().filter(|(_, member)| member.blind.is_none());
    let lacking = seen.filter(|(_, member)| member.snapshot.namespaces.get(&key).is_none());
    let lacking: Vec<_> = lacking.map(|(name, _)| name.as_str()).collect();
    if lacking.is_empty() {
        return String::new();
    }
    format!("; there is no namespace {namespace} in {}", named(&lacking))
}

/// "no member ...", restricted to the members whose clusters could be read.
pub(super) fn no_member(picture: &Picture, what: &str) -> String {
    let blind = picture.members.iter().filter(|(_, member)| member.blind.is_some());
    let blind: Vec<_> = blind.map(|(name, _)| name.as_str()).collect();
    if blind.is_empty() {
        format!("no member {what}")
    } else {
        format!("no member that could be read {what} (not read: {})", named(&blind))
    }
}

/// How many names a sentence has.
const NAMED: usize = 10;

/// The first names, and how many more there are.
pub(super) fn named<T: AsRef<str>>(names: &[T]) -> String {
    crate::named::named(names, NAMED, ", ")
}
