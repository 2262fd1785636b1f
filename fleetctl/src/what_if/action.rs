//! What is done to the fleet, as a user or a failure would.

use std::fmt;

use anyhow::{Result, bail};
use fleet_api::names::member_namespace;
use fleet_api::traffic::{DrainRequest, MemberTrafficSpec};
use fleet_api::{ObjectName, ResourceKind, kinds};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::merged::merged;
use super::rehearsal::Rehearsal;
use crate::shell::quoted;
use crate::traffic::{self, check_drain};

/// An action.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The cluster of a member fails.
    Lose(String),
    /// A member is drained at once, of these Services or of all.
    Drain {
        /// The member.
        member: String,
        /// The Services; all if there is none.
        services: Vec<ObjectName>,
        /// Whether Services are drained that no other member serves.
        force: bool,
    },
    /// A Service is not exported any more, by one member or by all.
    Unexport {
        /// The Service.
        service: ObjectName,
        /// The member; all if there is none.
        from: Option<String>,
    },
    /// Objects are applied on the hub, or in a member's cluster.
    Apply {
        /// The member; the hub if there is none.
        to: Option<String>,
        /// Kind, name and content.
        objects: Vec<(ResourceKind, ObjectName, Value)>,
    },
}

/// As the arguments of the command, to be copied.
impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |name: &ObjectName| quoted(&name.to_string()).into_owned();
        match self {
            Self::Lose(member) => write!(f, "lose {}", quoted(member)),
            Self::Drain { member, services, force } => {
                write!(f, "drain {}", quoted(member))?;
                for service in services {
                    write!(f, " --service {}", word(service))?;
                }
                f.write_str(if *force { " --force" } else { "" })
            }
            Self::Unexport { service, from: None } => write!(f, "unexport {}", word(service)),
            Self::Unexport { service, from: Some(member) } => {
                write!(f, "unexport {} --from {}", word(service), quoted(member))
            }
            Self::Apply { to, objects } => {
                let names =
                    objects.iter().map(|(kind, name, _)| format!("{} {}", kind.kind, word(name)));
                let names = names.collect::<Vec<_>>().join(", ");
                match to {
                    None => write!(f, "apply {names}"),
                    Some(member) => write!(f, "apply {names} --to {}", quoted(member)),
                }
            }
        }
    }
}

impl Action {
    /// Does it.
    ///
    /// # Errors
    /// If it cannot be done to this fleet; the message is one line.
    pub(super) fn act(&self, fleet: &mut Rehearsal) -> Result<()> {
        match self {
            Self::Lose(member) => lose(fleet, member),
            Self::Drain { member, services, force } => drain(fleet, member, services, *force),
            Self::Unexport { service, from } => unexport(fleet, service, from.as_deref()),
            Self::Apply { to, objects } => apply(fleet, to.as_deref(), objects),
        }
    }
}

fn lose(fleet: &mut Rehearsal, member: &str) -> Result<()> {
    check_member(fleet, member)?;
    fleet.lose(member);
    Ok(())
}

/// Shows of a lost member what people would see: no heartbeat for long.
pub(super) fn show_lost(fleet: &mut Rehearsal) {
    let now = fleet.hub.now();
    let long_ago = now.saturating_sub(SignedDuration::from_hours(1)).unwrap_or(now).to_string();
    for member in fleet.lost().clone() {
        let name = ObjectName::new(member_namespace(&member), member);
        let _ = fleet.hub.edit(kinds::INTERNAL_MEMBER_CLUSTER, &name, |object| {
            let agents = object.pointer_mut("/status/agentStatus").and_then(Value::as_array_mut);
            for agent in agents.into_iter().flatten() {
                agent["lastReceivedHeartbeat"] = json!(long_ago);
            }
        });
    }
}

fn check_member(fleet: &Rehearsal, member: &str) -> Result<()> {
    if !fleet.members.contains_key(member) {
        let known = fleet.members.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        bail!("there is no member {member:?}; the members: {known}");
    }
    Ok(())
}

/// Asks for a drain as `fleetctl drain` does, or refuses as it does.
fn drain(fleet: &mut Rehearsal, member: &str, services: &[ObjectName], force: bool) -> Result<()> {
    check_member(fleet, member)?;
    let name = ObjectName::cluster(member);
    let Some(object) = fleet.hub.get(kinds::MEMBER_TRAFFIC, &name) else {
        bail!(
            "the hub has no MemberTraffic {member}: its Lease is not renewed, or the hub agent does not decide about traffic \
             (traffic.enabled of its chart)"
        );
    };
    let mut spec: MemberTrafficSpec =
        serde_json::from_value(object["spec"].clone()).unwrap_or_default();
    let status = serde_json::from_value(object["status"].clone()).unwrap_or_default();
    if !force {
        check_drain(member, services, &fleet.hub_snapshot())?;
    }
    let all = |service| DrainRequest { service, percent: 100, force, ..DrainRequest::default() };
    let requests: Vec<_> = traffic::names(services).into_iter().map(all).collect();
    traffic::request(&mut spec, &status, &requests);
    // It is there.
    let _ = fleet.hub.edit(kinds::MEMBER_TRAFFIC, &name, |object| {
        object["spec"]["drains"] = json!(spec.drains);
    });
    Ok(())
}

fn unexport(fleet: &mut Rehearsal, service: &ObjectName, from: Option<&str>) -> Result<()> {
    if let Some(member) = from {
        check_member(fleet, member)?;
    }
    let mut found = false;
    let members = fleet.members.iter_mut();
    for (_, member) in members.filter(|(name, _)| from.is_none_or(|from| from == name.as_str())) {
        for kind in [kinds::SERVICE_EXPORT, kinds::MCS_SERVICE_EXPORT] {
            found |= member.server.delete(kind, service).is_ok();
        }
    }
    if !found {
        let whom = from.unwrap_or("any member that could be read");
        bail!("{service} is not exported by {whom}");
    }
    Ok(())
}

/// Where agents do not read it, an object would change nothing, and a pipeline would take that for good.
fn check_place(kind: ResourceKind, to: Option<&str>) -> Result<()> {
    match (kind, to) {
        (kinds::CONFIG_MAP | kinds::FLEET_TRAFFIC | kinds::MEMBER_TRAFFIC, Some(member)) => {
            bail!("{} is read on the hub, not in {member}: leave --to out", kind.kind)
        }
        _ => Ok(()),
    }
}

/// As `kubectl apply` would.
fn apply(
    fleet: &mut Rehearsal,
    to: Option<&str>,
    objects: &[(ResourceKind, ObjectName, Value)],
) -> Result<()> {
    if let Some(member) = to {
        check_member(fleet, member)?;
        if !fleet.has_seen(member) {
            bail!("the cluster of {member} could not be read");
        }
    }
    let own = to.and_then(|member| fleet.members.get_mut(member)).map(|it| &mut it.server);
    let server = own.unwrap_or(&mut fleet.hub);
    for (kind, name, document) in objects {
        check_place(*kind, to)?;
        let edited = server.edit(*kind, name, |present| merged(present, document));
        if edited.is_err() && server.create(*kind, name, document.clone()).is_err() {
            bail!("{} {name} cannot be created", kind.kind);
        }
    }
    Ok(())
}
