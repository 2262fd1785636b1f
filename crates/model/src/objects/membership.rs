//! `InternalMemberCluster`, as far as networking agents use it.

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::membership::{AgentStatus, AgentType, ClusterState};
use fleet_api::{ObjectName, ResourceKind, annotations, conditions, kinds};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// The agent types under which one networking agent reports: those of the two Go agents that it replaces.
pub const NETWORKING_AGENTS: [AgentType; 2] =
    [AgentType::MultiClusterServiceAgent, AgentType::ServiceExportImportAgent];

/// Seconds between heartbeats if the hub requests no period.
const DEFAULT_PERIOD: i64 = 60;
/// Maximum seconds between heartbeats.
const LONGEST_PERIOD: i64 = 600;

/// The state and the heartbeat period that the hub requests.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MembershipSpecWire {
    state: ClusterState,
    heartbeat_period_seconds: i64,
}

/// Reports of the member's agents. Reports of other than networking agents are not decoded.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReportsWire {
    agent_status: Option<Vec<Value>>,
}

wire! {
    /// An `InternalMemberCluster` on the wire.
    pub struct InternalMemberClusterWire as fleet_api::membership::InternalMemberCluster {
        spec: Option<MembershipSpecWire>,
        status: Option<ReportsWire>,
    }
}

/// The state that the hub requests of a member, and the reports of its networking agents.
///
/// Reports of other agents are left out, so that their heartbeats change nothing here.
#[derive(Clone, Debug, PartialEq)]
pub struct InternalMemberCluster {
    /// Metadata.
    pub meta: Meta,
    /// Whether the member is to join or to leave the fleet.
    pub state: ClusterState,
    /// Seconds between heartbeats, 1 to 600.
    pub heartbeat_seconds: i64,
    /// How much of the path to the reports exists.
    pub list: ReportList,
    /// The reports of networking agents.
    pub reports: Vec<Report>,
}

/// How much of the path to the reports exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportList {
    /// The object has no status.
    NoStatus,
    /// The status has no list of reports.
    NoList,
    /// There is a list.
    Present,
}

/// The report of one networking agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Position in the list of all agents' reports.
    pub at: usize,
    /// The report.
    pub status: AgentStatus,
    /// When its heartbeat was observed first, by the clock of this process; `None` if the object was not read from a watch.
    pub observed: Option<Timestamp>,
}

impl InternalMemberCluster {
    /// The report of one agent type; the first where there are several.
    pub fn report(&self, agent: &AgentType) -> Option<&Report> {
        self.reports.iter().find(|report| report.status.type_ == *agent)
    }

    /// Whether the member waits for a confirmation that it may leave as the present generation asks.
    pub fn waits_for_confirmation(&self) -> bool {
        let mut all = self.reports.iter().flat_map(|report| &report.status.conditions);
        all.any(|condition| {
            condition.type_ == conditions::LEAVE_CONFIRMED
                && condition.status == conditions::FALSE
                && condition.observed_generation == Some(self.meta.generation)
        })
    }

    /// What to do about a member that waits, as a clause for an administrator of the hub. Nothing in it is the member's text.
    pub fn how_to_confirm(&self, name: &ObjectName) -> String {
        format!(
            "to confirm: kubectl -n {} annotate --overwrite internalmembercluster {} {}={}; to cancel, set spec.state to Join",
            name.namespace,
            name.name,
            annotations::CONFIRM_LEAVE,
            self.meta.generation
        )
    }
}

impl Tracked for InternalMemberCluster {
    const KIND: ResourceKind = kinds::INTERNAL_MEMBER_CLUSTER;
    type Wire = InternalMemberClusterWire;
    type Index = ();

    fn project(wire: InternalMemberClusterWire) -> Result<Self, String> {
        let spec = wire.spec.ok_or("spec is missing")?;
        let list = match &wire.status {
            None => ReportList::NoStatus,
            Some(ReportsWire { agent_status: None }) => ReportList::NoList,
            Some(_) => ReportList::Present,
        };
        let entries = wire.status.and_then(|status| status.agent_status).unwrap_or_default();
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            state: spec.state,
            heartbeat_seconds: period(spec.heartbeat_period_seconds),
            list,
            reports: entries.into_iter().enumerate().filter_map(report).collect(),
        })
    }

    fn observe(&mut self, earlier: Option<&Self>, now: fn() -> Timestamp) {
        let known = earlier.map_or(&[][..], |earlier| earlier.reports.as_slice());
        for report in &mut self.reports {
            let same = known.iter().find(|known| known.is_same_heartbeat(report));
            report.observed = same.map_or_else(|| Some(now()), |same| same.observed);
        }
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

impl Report {
    fn is_same_heartbeat(&self, other: &Self) -> bool {
        let heartbeat = |report: &Self| report.status.last_received_heartbeat.clone();
        self.status.type_ == other.status.type_ && heartbeat(self) == heartbeat(other)
    }
}

/// Limits the requested period to what timers can take.
fn period(seconds: i64) -> i64 {
    if seconds < 1 { DEFAULT_PERIOD } else { seconds.min(LONGEST_PERIOD) }
}

/// Decodes the report of a networking agent. An unreadable one counts as empty and is written again.
fn report((at, entry): (usize, Value)) -> Option<Report> {
    let type_ = AgentType::deserialize(&entry["type"]).ok()?;
    if !NETWORKING_AGENTS.contains(&type_) {
        return None;
    }
    let status = AgentStatus::deserialize(entry)
        .unwrap_or_else(|_| AgentStatus { type_, ..AgentStatus::default() });
    Some(Report { at, status, observed: None })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn project(spec: &Value, status: &Value) -> InternalMemberCluster {
        let object = json!({ "metadata": { "name": "a" }, "spec": spec, "status": status });
        let wire = InternalMemberClusterWire::deserialize(object).unwrap();
        InternalMemberCluster::project(wire).unwrap()
    }

    #[test]
    fn only_reports_of_networking_agents_are_decoded() {
        let status = |beat: &str| {
            json!({ "agentStatus": [
                { "type": "MemberAgent", "lastReceivedHeartbeat": beat },
                { "type": "ServiceExportImportAgent", "extra": 1 },
                { "type": "MultiClusterServiceAgent", "lastReceivedHeartbeat": "not a time" },
                { "conditions": "not a report" },
            ] })
        };
        let spec = json!({ "state": "Join" });
        let read = project(&spec, &status("2026-05-06T07:08:09Z"));
        assert_eq!(read, project(&spec, &status("2026-05-06T07:08:10Z")));
        let found = read.report(&AgentType::ServiceExportImportAgent).unwrap();
        assert_eq!((found.at, &found.status.other["extra"]), (1, &json!(1)));
        let garbage = read.report(&AgentType::MultiClusterServiceAgent).unwrap();
        assert_eq!((garbage.at, &garbage.status.last_received_heartbeat), (2, &None));
    }

    /// A report keeps its time until its heartbeat changes: what else changes in the object is no sign of life.
    #[test]
    fn a_heartbeat_is_observed_when_it_changes() {
        let of = |second: i64| Some(Timestamp::from_second(second).unwrap());
        let read = |generation: i64, beats: [&str; 2]| {
            let agents = ["MultiClusterServiceAgent", "ServiceExportImportAgent"];
            let report = |(agent, beat): (&str, &str)| {
                let time = format!("2026-05-06T07:08:{beat}Z");
                json!({ "type": agent, "lastReceivedHeartbeat": time })
            };
            let reports: Value = agents.into_iter().zip(beats).map(report).collect();
            let spec = json!({ "state": "Join", "heartbeatPeriodSeconds": generation });
            project(&spec, &json!({ "agentStatus": reports }))
        };
        let observed = |of: &InternalMemberCluster| -> Vec<_> {
            of.reports.iter().map(|report| report.observed).collect()
        };
        let at = |second: i64| -> fn() -> Timestamp {
            match second {
                1 => || Timestamp::from_second(1).unwrap(),
                _ => || Timestamp::from_second(2).unwrap(),
            }
        };
        let mut first = read(60, ["09", "10"]);
        assert_eq!(observed(&first), [None, None]);
        first.observe(None, at(1));
        assert_eq!(observed(&first), [of(1), of(1)]);
        let mut same = read(61, ["09", "10"]);
        same.observe(Some(&first), at(2));
        assert_eq!(observed(&same), [of(1), of(1)]);
        // The clock of the member was set back.
        let mut next = read(61, ["05", "10"]);
        next.observe(Some(&same), at(2));
        assert_eq!(observed(&next), [of(2), of(1)]);
    }

    #[test]
    fn the_heartbeat_period_is_limited() {
        for (asked, period) in [(json!(null), 60), (json!(0), 60), (json!(-5), 60), (json!(7), 7)] {
            let spec = match asked {
                Value::Null => json!({ "state": "Join" }),
                asked => json!({ "state": "Join", "heartbeatPeriodSeconds": asked }),
            };
            assert_eq!(project(&spec, &Value::Null).heartbeat_seconds, period);
        }
        let spec = json!({ "state": "Pause", "heartbeatPeriodSeconds": 100_000 });
        let read = project(&spec, &json!({}));
        assert_eq!(read.heartbeat_seconds, 600);
        assert_eq!(read.state, ClusterState::Other("Pause".to_owned()));
        assert_eq!(read.list, ReportList::NoList);
    }
}
