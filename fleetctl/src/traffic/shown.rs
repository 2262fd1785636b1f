//! What is decided about traffic, for `fleetctl status` and `fleetctl explain`. Pure.

use std::fmt::Write as _;

use fleet_api::conditions::TRUE;
use fleet_api::names::{MEMBER_LEASE, member_namespace};
use fleet_api::traffic::{
    ALL_SERVICES, DrainReason, FleetTrafficPhase, LocalEndpoints, LocalEndpointsInForce,
    MASS_SILENCE, MemberTrafficStatus, ROLLED_BACK, ServiceTrafficStatus, SilenceState,
};
use fleet_api::{ObjectName, conditions};
use fleet_model::objects::traffic::FleetTraffic;
use fleet_plan::conditions::{find, is};
use hub_agent::snapshot::HubSnapshot;
use serde::Serialize;

/// What is decided about the traffic of a fleet, where it is anything else than usual.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrafficStatus {
    /// What holds for the whole fleet, in a sentence each.
    pub fleet: Vec<String>,
    /// Members that are drained, silent, or late.
    pub members: Vec<MemberTrafficShown>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberTrafficShown {
    /// Its name.
    pub name: String,
    /// Drains, as `SERVICE PERCENT`.
    pub drains: Vec<Drained>,
    /// Services that no drain concerns, since no other member serves them.
    pub held_services: usize,
    /// Whether it renews its Lease: `Heard`, `Silent`, `Held` or `Unmanaged`.
    pub silence: &'static str,
    /// Percentage of its endpoints that are last resort for its silence.
    pub silent_percent: i64,
    /// Whether it has yet to apply a decision, as an importer.
    pub late: bool,
}

/// One drain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Drained {
    /// `*` or `namespace/name`.
    pub service: String,
    /// Percentage of the endpoints that are last resort.
    pub percent: i64,
    /// How far it is, in one word.
    pub reason: &'static str,
    /// Whether they are out of use instead.
    pub removed: bool,
}

impl TrafficStatus {
    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.fleet.is_empty() && self.members.is_empty()
    }

    /// A line for each, for people.
    pub fn lines(&self) -> Vec<String> {
        let members = self.members.iter().map(MemberTrafficShown::line);
        self.fleet.iter().cloned().chain(members).collect()
    }
}

/// What the hub has decided.
pub(crate) fn of(hub: &HubSnapshot) -> TrafficStatus {
    let highest = hub.member_traffics.iter().map(|member| member.status.serial).max();
    let shown = hub.member_traffics.iter().map(|member| {
        let name = &*member.name.name;
        let lease = ObjectName::new(member_namespace(name), MEMBER_LEASE);
        let applied = hub.member_leases.get(&lease).and_then(|lease| lease.applied);
        shown(name, &member.status, applied < highest && applied.is_some())
    });
    TrafficStatus { fleet: of_fleet(hub), members: shown.filter(is_unusual).collect() }
}

fn shown(name: &str, status: &MemberTrafficStatus, late: bool) -> MemberTrafficShown {
    let drain = |drain: &fleet_api::traffic::DrainStatus| Drained {
        service: drain.service.clone(),
        percent: drain.percent,
        reason: drain.reason.as_str(),
        removed: drain.removed,
    };
    let silence = status.silence.as_ref();
    MemberTrafficShown {
        name: name.to_owned(),
        drains: status.drains.iter().map(drain).collect(),
        held_services: status.held_services.len(),
        silence: silence.map_or(SilenceState::Unmanaged, |it| it.state).as_str(),
        silent_percent: silence.map_or(0, |it| it.percent),
        late,
    }
}

fn is_unusual(member: &MemberTrafficShown) -> bool {
    let is_silent = member.silent_percent > 0 || member.silence == SilenceState::Held.as_str();
    !member.drains.is_empty() || is_silent || member.late
}

fn of_fleet(hub: &HubSnapshot) -> Vec<String> {
    let Some(fleet) = FleetTraffic::of(&hub.fleet_traffics) else { return Vec::new() };
    let status = &fleet.status;
    let holds = |condition: &str| is(&status.conditions, condition, TRUE);
    let mut says = Vec::new();
    if status.phase == Some(FleetTrafficPhase::Rebuilding) {
        says.push("the hub is being rebuilt: importers keep what they have until members have published again".to_owned());
    }
    for condition in [MASS_SILENCE, ROLLED_BACK].into_iter().filter(|it| holds(it)) {
        says.extend(find(&status.conditions, condition).map(|it| it.message.clone()));
    }
    says
}

impl MemberTrafficShown {
    fn line(&self) -> String {
        let mut parts: Vec<_> = self.drains.iter().map(Drained::text).collect();
        if self.held_services > 0 {
            parts.push(format!("{} Services are held back from that", self.held_services));
        }
        if self.silence == SilenceState::Held.as_str() {
            parts.push("does not renew its Lease, as too many others: nothing changes".to_owned());
        } else if self.silent_percent > 0 {
            parts.push(silent(self.silence, self.silent_percent));
        }
        if self.late {
            parts.push("has yet to apply the last decisions as an importer".to_owned());
        }
        format!("{}: {}", self.name, parts.join("; "))
    }
}

impl Drained {
    fn text(&self) -> String {
        let Self { service, percent, reason, removed } = self;
        let of = if service == ALL_SERVICES { "all Services" } else { service.as_str() };
        let place = if *removed { "out of use" } else { "last resort" };
        let mut text = format!("{percent} % of the endpoints of {of} are {place}");
        if *reason != DrainReason::Drained.as_str() {
            let _ = write!(text, " ({reason})");
        }
        text
    }
}

fn silent(state: &str, percent: i64) -> String {
    if state == SilenceState::Silent.as_str() {
        "does not renew its Lease: its endpoints are last resort, unless a policy keeps them"
            .to_owned()
    } else {
        format!("returns: {percent} % of its endpoints are still last resort")
    }
}

/// What is decided about an exporter that concerns a Service; `None` if nothing is.
pub(crate) fn of_exporter(hub: &HubSnapshot, member: &str, service: &ObjectName) -> Option<String> {
    let status = &hub.member_traffics.get(&ObjectName::cluster(member))?.status;
    let name = format!("{}/{}", service.namespace, service.name);
    let find = |of: &str| status.drains.iter().find(|drain| drain.service == of);
    let is_held = status.held_services.contains(&name);
    let drain = find(&name).or_else(|| find(ALL_SERVICES)).filter(|drain| drain.percent > 0);
    let mut parts = Vec::new();
    if let Some(drain) = drain {
        parts.push(if is_held {
            "it is drained, but not of this Service, which no other member serves".to_owned()
        } else {
            let place = if drain.removed { "out of use" } else { "last resort" };
            format!("{} % of its endpoints are {place}: {}", drain.percent, drain.reason.as_str())
        });
    }
    let silence = status.silence.as_ref().filter(|silence| silence.percent > 0);
    parts.extend(silence.map(|silence| silent(silence.state.as_str(), silence.percent)));
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What is in force in an importer, as its agent has reported: shares, places and reasons.
pub(crate) fn of_importer(status: &ServiceTrafficStatus) -> Option<String> {
    let served = status.served_by?;
    let clusters = status.clusters.iter().map(|cluster| {
        let reason = cluster.reason.as_ref().map(|reason| format!(", {reason}"));
        let target = cluster.target_percent.map(|target| format!(" of {target} % asked for"));
        format!(
            "{} {} %{} ({:?}, {} of {} ready endpoints{})",
            cluster.cluster,
            cluster.share_percent,
            target.unwrap_or_default(),
            cluster.slot,
            cluster.used,
            cluster.ready,
            reason.unwrap_or_default()
        )
    });
    let clusters: Vec<_> = clusters.collect();
    let effective = find(&status.conditions, "Effective");
    let limit = effective.filter(|it| it.status == conditions::FALSE);
    let limit = limit.map(|limit| format!("; {}: {}", limit.reason, limit.message));
    let own = status.local_endpoints.as_ref().map(own_endpoints).unwrap_or_default();
    let limit = limit.unwrap_or_default();
    Some(format!("served by {served:?}: {}{own}{limit}", clusters.join(", ")))
}

/// Who writes own endpoints, where that is not as by default.
fn own_endpoints(local: &LocalEndpointsInForce) -> String {
    let by = match local.mode {
        LocalEndpoints::Kubernetes => "Kubernetes",
        LocalEndpoints::Agent if local.reason.is_some() => "the agent",
        LocalEndpoints::Agent => return String::new(),
    };
    let reason = local.reason.as_ref().map(|reason| format!(" ({reason})"));
    format!("; own endpoints by {by}{}", reason.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use fleet_accumulator::{Object, Tracked as _, View};
    use fleet_model::objects::MemberLease;
    use fleet_model::objects::traffic::MemberTraffic;
    use serde_json::{Value, json};

    use super::*;

    fn hub(members: &[(&str, Value)], fleet: &Value) -> HubSnapshot {
        let member = |(name, status): &(&str, Value)| {
            let wire = json!({ "metadata": { "name": name }, "spec": {}, "status": status });
            let member = MemberTraffic::project(serde_json::from_value(wire).unwrap()).unwrap();
            Object::new(ObjectName::cluster(*name), (*name).into(), "1".into(), member)
        };
        let wire = json!({ "metadata": { "name": "fleet" }, "spec": {}, "status": fleet });
        let fleet = FleetTraffic::project(serde_json::from_value(wire).unwrap()).unwrap();
        let fleet = Object::new(ObjectName::cluster("fleet"), "u".into(), "1".into(), fleet);
        let lease = |(name, applied): (&str, i64)| {
            let lease = MemberLease { applied: Some(applied), ..MemberLease::default() };
            let at = ObjectName::new(member_namespace(name), MEMBER_LEASE);
            Object::new(at, name.into(), "1".into(), lease)
        };
        HubSnapshot {
            member_traffics: View::of(members.iter().map(member)),
            fleet_traffics: View::of([fleet]),
            member_leases: View::of([("east", 7), ("west", 6)].map(lease)),
            ..HubSnapshot::default()
        }
    }

    fn heard(serial: i64) -> Value {
        json!({ "serial": serial, "silence": { "state": "Heard", "percent": 0 } })
    }

    #[test]
    fn a_fleet_at_rest_shows_nothing() {
        let found =
            of(&hub(&[("east", heard(5)), ("west", heard(6))], &json!({ "phase": "Settled" })));
        assert!(found.is_empty(), "{found:?}");
        assert!(of(&HubSnapshot::default()).is_empty());
    }

    #[test]
    fn drains_verdicts_and_who_is_late_are_shown() {
        let drained = json!({
            "serial": 7, "heldServices": ["shop/a"], "silence": { "state": "Heard", "percent": 0 },
            "drains": [
                { "service": "*", "percent": 40, "reason": "Draining" },
                { "service": "shop/web", "percent": 100, "reason": "Drained", "removed": true },
            ],
        });
        let silent = |state: &str, percent: i64| json!({ "serial": 5, "silence": { "state": state, "percent": percent } });
        let members = [
            ("east", drained),
            ("north", silent("Silent", 100)),
            ("south", silent("Heard", 25)),
            ("up", silent("Held", 0)),
            ("west", heard(6)),
        ];
        let hub = hub(&members, &json!({ "phase": "Rebuilding" }));
        let lines = of(&hub).lines();
        let parts = [
            "being rebuilt",
            "east: 40 % of the endpoints of all Services are last resort (Draining); 100 % of the endpoints of shop/web are \
             out of use; 1 Services are held back",
            "north: does not renew",
            "south: returns: 25 %",
            "up: does not renew its Lease, as too many others",
            "west: has yet to apply",
        ];
        assert_eq!(lines.len(), parts.len(), "{lines:#?}");
        for (line, part) in lines.iter().zip(parts) {
            assert!(line.contains(part), "{line} | {part}");
        }
        let of =
            |member: &str, name: &str| of_exporter(&hub, member, &ObjectName::new("shop", name));
        assert!(of("east", "web").unwrap().contains("out of use"));
        assert!(of("east", "a").unwrap().contains("not of this Service"));
        assert!(of("east", "b").unwrap().starts_with("40 %"));
        assert!(of("north", "b").unwrap().contains("last resort"));
        assert_eq!(of("west", "b"), None);
    }

    #[test]
    fn shares_places_and_reasons_are_those_that_the_agent_reports() {
        let status = json!({
            "servedBy": "Own",
            "clusters": [
                { "cluster": "east", "slot": "First", "ready": 3, "used": 3, "sharePercent": 100, "rank": 0 },
                { "cluster": "west", "slot": "Second", "ready": 2, "used": 1, "sharePercent": 0, "targetPercent": 10,
                  "reason": "Coarse" },
            ],
            "conditions": [{ "type": "Effective", "status": "False", "reason": "ManyZones", "message": "more than 8",
                "lastTransitionTime": "2026-01-01T00:00:00Z" }],
        });
        let text = of_importer(&serde_json::from_value(status).unwrap()).unwrap();
        let expected = "served by Own: east 100 % (First, 3 of 3 ready endpoints), west 0 % of 10 % asked for (Second, 1 of 2 \
                        ready endpoints, Coarse); ManyZones: more than 8";
        assert_eq!(text, expected);
        assert_eq!(of_importer(&ServiceTrafficStatus::default()), None);
        let with = |local: Value| {
            let status = json!({ "servedBy": "Own", "localEndpoints": local });
            of_importer(&serde_json::from_value(status).unwrap()).unwrap()
        };
        for (local, end) in [
            (json!({ "mode": "Agent" }), ""),
            (json!({ "mode": "Kubernetes" }), "; own endpoints by Kubernetes"),
            (
                json!({ "mode": "Agent", "reason": "NoSelector" }),
                "; own endpoints by the agent (NoSelector)",
            ),
        ] {
            assert_eq!(with(local), format!("served by Own: {end}"));
        }
    }
}
