//! The Lease on the hub that shows that this member works: renewed by the leading agent.
//!
//! The agent leads while it renews its own Lease in its own cluster. So a member whose API server does not answer, or which
//! does not reach the hub, stops to renew this one. A cluster that only has the member's name renews nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fleet_api::names;
use fleet_api::traffic::{
    APPLIED, OWN_PROPERTIES, PROPERTIES, PUBLISHED, PUBLISHED_SLICES, WENT_BACK,
};
use fleet_runtime::agent::Connected;
use fleet_runtime::clients::ClientSet;
use fleet_runtime::clock::BootClock;
use fleet_runtime::lease::{Kept, KeptLease, LeaseKeeper};

use crate::Identity;
use crate::fence::Fence;
use crate::links::Links;
use crate::metrics;
use crate::other_hub;
use crate::phase::Phase;
use crate::snapshot::MemberSnapshot;
use crate::traffic::Subject;
use crate::traffic_memory::TrafficMemory;

/// What the Lease asks for, as the Leases of Nodes do.
const DURATION: Duration = Duration::from_secs(40);
/// Time between two renewals, as with the Leases of Nodes.
const PERIOD: Duration = Duration::from_secs(10);

/// Renews the Lease as long as the agent runs and leads. Each renewal shows that the hub is reached.
pub(crate) fn keep(
    agent: &mut Connected<MemberSnapshot>,
    identity: &Identity,
    hub: &ClientSet,
    links: Option<&Arc<Links>>,
    traffic: Option<TrafficNotes>,
) -> Result<(), prometheus::Error> {
    let results = metrics::lease_renewals(agent.registry())?;
    let (accumulator, member) = (agent.accumulator().clone(), identity.clone());
    let may_renew = move || works(&member, &accumulator.snapshot());
    let applied = traffic.map(|traffic| {
        let (accumulator, member) = (agent.accumulator().clone(), identity.clone());
        move || annotations(&member, &accumulator.snapshot(), Some(&traffic))
    });
    let (lease, client) = (lease(identity), hub.lease.clone());
    agent.task("member lease", |gate, cancel| {
        let time = (gate, BootClock::system());
        let keeper = LeaseKeeper::new(lease, client, time, may_renew, results);
        let keeper = match links.cloned() {
            Some(links) => keeper.observed(move |kept| match kept {
                Kept::Begun(since) => links.begin(since),
                Kept::Renewed(sent) => links.answered(sent),
            }),
            None => keeper,
        };
        let keeper = match applied {
            Some(applied) => keeper.annotated(applied),
            None => keeper,
        };
        keeper.run(cancel)
    });
    Ok(())
}

/// What renewals carry for traffic.
pub(crate) struct TrafficNotes {
    /// What plans have decided.
    pub(crate) memory: TrafficMemory,
    /// Whether the hub has all that this cluster exports.
    pub(crate) is_complete: Box<dyn Fn(&MemberSnapshot) -> bool + Send + Sync>,
    /// How long without a break, so that it counts.
    pub(crate) settle: Duration,
}

impl TrafficNotes {
    /// The hub to which this cluster has published all that it exports, and that which it had seen before it went back in time.
    fn of_hub(&self, identity: &Identity, snapshot: &MemberSnapshot) -> BTreeMap<String, String> {
        let hub = other_hub::present(identity, snapshot);
        // That looks at all exports, on the way of each renewal.
        let is_complete = self.memory.has_published(hub) || (self.is_complete)(snapshot);
        let published = self.memory.published(hub, is_complete, self.settle);
        let went_back = self.memory.before_it_went_back(hub, other_hub::lost_history(snapshot));
        let went_back = went_back.map(|hub| (WENT_BACK.to_owned(), hub));
        let slices = snapshot.slice_exports.len().to_string();
        let slices = (!published.is_empty()).then(|| (PUBLISHED_SLICES.to_owned(), slices));
        let notes = went_back.into_iter().chain(slices);
        notes.chain([(PUBLISHED.to_owned(), published)]).collect()
    }
}

/// What the next renewal carries; `None` while the agent does not renew the Lease.
pub(crate) fn renewal(
    identity: &Identity,
    snapshot: &MemberSnapshot,
    traffic: Option<&TrafficNotes>,
) -> Option<BTreeMap<String, String>> {
    works(identity, snapshot).then(|| annotations(identity, snapshot, traffic))
}

fn annotations(
    identity: &Identity,
    snapshot: &MemberSnapshot,
    traffic: Option<&TrafficNotes>,
) -> BTreeMap<String, String> {
    let Some(traffic) = traffic else { return BTreeMap::new() };
    let mut notes = notes(&traffic.memory, snapshot);
    notes.extend(traffic.of_hub(identity, snapshot));
    notes
}

/// What renewals carry: up to which serial this cluster has applied what the hub has decided about the traffic of members, and
/// properties of this cluster.
fn notes(memory: &TrafficMemory, snapshot: &MemberSnapshot) -> BTreeMap<String, String> {
    let applied = memory.applied(imports(snapshot), &snapshot.member_traffics);
    let applied = applied.map(|serial| (APPLIED.to_owned(), serial.to_string()));
    let properties = properties(snapshot);
    let properties = (!properties.is_empty())
        .then(|| (PROPERTIES.to_owned(), serde_json::json!(properties).to_string()));
    applied.into_iter().chain(properties).collect()
}

/// Those that a member sets itself: the region and the zone that all of its nodes are in.
fn properties(snapshot: &MemberSnapshot) -> BTreeMap<&'static str, &str> {
    let [region, zone] = OWN_PROPERTIES;
    let nodes = || snapshot.nodes.iter().map(|node| &node.object);
    let regions = common(nodes().map(|node| node.region.as_deref()));
    let zones = common(nodes().map(|node| node.zone.as_deref()));
    let all = [(region, regions), (zone, zones)];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The value that all have.
fn common<'a>(mut values: impl Iterator<Item = Option<&'a str>>) -> Option<&'a str> {
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}

/// All imports of this cluster.
fn imports(snapshot: &MemberSnapshot) -> BTreeSet<Subject> {
    let all_mcs = snapshot.multi_cluster_services.iter();
    let of_fleet = all_mcs.filter_map(|mcs| mcs.imports(&mcs.name.namespace));
    let of_fleet = of_fleet.map(|service| Subject::fleet(&service));
    let standard = snapshot.standard_imports.iter().filter(|import| import.hub().is_some());
    of_fleet.chain(standard.map(|import| Subject::standard(&import.name))).collect()
}

fn lease(identity: &Identity) -> KeptLease {
    KeptLease {
        agent: "member-agent",
        namespace: identity.hub_namespace.clone(),
        name: names::MEMBER_LEASE.to_owned(),
        holder: identity.cluster.clone(),
        duration: DURATION,
        period: PERIOD,
    }
}

/// Whether this cluster is a member that takes part in the fleet.
pub(crate) fn works(identity: &Identity, snapshot: &MemberSnapshot) -> bool {
    let ours = matches!(Fence::of(identity, snapshot), Fence::Ours | Fence::Unrecorded(_));
    ours && Phase::of(identity, snapshot) != Phase::Left
}

#[cfg(test)]
mod tests {
    use fleet_accumulator::ClusterId;
    use fleet_api::conditions::reasons;
    use fleet_api::membership::AgentType;
    use fleet_api::{ObjectName, kinds};
    use fleet_model::objects::NETWORKING_AGENTS;
    use fleet_model_server::ModelServer;
    use serde_json::json;

    use super::*;

    /// What an agent sees in a cluster whose name the hub has recorded for the cluster with this uid, if for any.
    fn may_renew(recorded: Option<&str>, membership: &serde_json::Value) -> bool {
        let (mut own, mut hub) =
            (ModelServer::new(ClusterId::Local), ModelServer::new(ClusterId::Hub));
        let system = ObjectName::cluster("kube-system");
        own.create(kinds::NAMESPACE, &system, json!({})).unwrap();
        let uid = own.get(kinds::NAMESPACE, &system).unwrap()["metadata"]["uid"].clone();
        let name = ObjectName::new("fleet-member-a", "a");
        if let Some(recorded) = recorded {
            let uid = if recorded == "ours" { uid } else { json!(recorded) };
            hub.create(kinds::CLUSTER_REPORT, &name, json!({ "spec": { "clusterUid": uid } }))
                .unwrap();
        }
        hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &name, membership.clone()).unwrap();
        // What is created has no status.
        let status =
            |object: &mut serde_json::Value| object["status"] = membership["status"].clone();
        hub.edit(kinds::INTERNAL_MEMBER_CLUSTER, &name, status).unwrap();
        let identity = Identity::new("a");
        works(&identity, &crate::tests::snapshot(&identity, &own, &hub))
    }

    #[test]
    fn only_the_recorded_cluster_renews() {
        let joins = json!({ "spec": { "state": "Join" } });
        assert!(may_renew(Some("ours"), &joins));
        assert!(!may_renew(Some("another"), &joins));
        assert!(!may_renew(None, &joins));
    }

    #[test]
    fn a_member_renews_until_it_has_left() {
        let left = |status: &str| {
            let report = |agent: AgentType| {
                json!({ "type": agent, "conditions": [{
                    "type": "Joined", "status": status, "observedGeneration": 1, "reason": reasons::AGENT_LEFT,
                    "message": "", "lastTransitionTime": "2026-05-06T07:08:09Z",
                }] })
            };
            json!({
                "metadata": { "generation": 1 }, "spec": { "state": "Leave" },
                "status": { "agentStatus": NETWORKING_AGENTS.map(report) },
            })
        };
        assert!(may_renew(Some("ours"), &left("True")));
        assert!(!may_renew(Some("ours"), &left("False")));
    }

    /// A member that imports "shop/web" by the fleet's API.
    fn importing(nodes: &[(&str, &str)]) -> MemberSnapshot {
        let (mut own, mut hub) =
            (ModelServer::new(ClusterId::Local), ModelServer::new(ClusterId::Hub));
        own.create(kinds::NAMESPACE, &ObjectName::cluster("shop"), json!({})).unwrap();
        let mcs = json!({ "spec": { "serviceImport": { "name": "web" } } });
        own.create(kinds::MULTI_CLUSTER_SERVICE, &ObjectName::new("shop", "web"), mcs).unwrap();
        for (at, (region, zone)) in nodes.iter().enumerate() {
            let labels = json!({
                "topology.kubernetes.io/region": region, "topology.kubernetes.io/zone": zone,
            });
            let node = json!({ "metadata": { "labels": labels } });
            own.create(kinds::NODE, &ObjectName::cluster(format!("n{at}")), node).unwrap();
        }
        let east = ObjectName::cluster("east");
        hub.create(kinds::MEMBER_TRAFFIC, &east, json!({ "spec": {} })).unwrap();
        hub.edit(kinds::MEMBER_TRAFFIC, &east, |it| it["status"] = json!({ "serial": 7 })).unwrap();
        crate::tests::snapshot(&Identity::new("a"), &own, &hub)
    }

    /// What was not looked at is not reported as applied.
    #[test]
    fn renewals_carry_what_is_applied_to_all_imports() {
        let snapshot = importing(&[]);
        let memory = TrafficMemory::default();
        assert_eq!(notes(&memory, &snapshot), BTreeMap::new());
        let subject = Subject::fleet(&ObjectName::new("shop", "web"));
        memory.take(&crate::measurement::Measurement::TrafficIdle(subject));
        let applied = BTreeMap::from([(APPLIED.to_owned(), "7".to_owned())]);
        assert_eq!(notes(&memory, &snapshot), applied);
    }

    #[test]
    fn renewals_carry_the_properties_that_a_member_sets_itself() {
        let properties = |nodes: &[(&str, &str)]| {
            let notes = notes(&TrafficMemory::default(), &importing(nodes));
            let text = notes.get(PROPERTIES).map(String::as_str).unwrap_or_default();
            fleet_api::traffic::own_properties(text).into_values().collect::<Vec<_>>()
        };
        assert_eq!(properties(&[("north", "z1"), ("north", "z1")]), ["north", "z1"]);
        assert_eq!(properties(&[("north", "z1"), ("north", "z2")]), ["north"]);
        assert!(properties(&[("north", "z1"), ("south", "z2")]).is_empty());
        assert!(properties(&[("north", "z1"), ("", "")]).is_empty());
        assert!(properties(&[]).is_empty());
    }

    #[test]
    fn the_lease_is_the_members_own() {
        let lease = lease(&Identity::new("east"));
        assert_eq!(lease.namespace, "fleet-member-east");
        assert_eq!((lease.name.as_str(), lease.holder.as_str()), ("fleet-member", "east"));
        assert!(lease.period * 4 <= lease.duration);
    }
}
