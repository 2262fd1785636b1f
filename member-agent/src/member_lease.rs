//! The Lease on the hub that shows that this member works: renewed by the leading agent.
//!
//! The agent leads while it renews its own Lease in its own cluster. So a member whose API server does not answer, or which
//! does not reach the hub, stops to renew this one. A cluster that only has the member's name renews nothing.

use std::time::Duration;

use fleet_api::names;
use fleet_runtime::agent::Connected;
use fleet_runtime::clients::ClientSet;
use fleet_runtime::clock::BootClock;
use fleet_runtime::lease::{KeptLease, LeaseKeeper};

use crate::Identity;
use crate::fence::Fence;
use crate::metrics;
use crate::phase::Phase;
use crate::snapshot::MemberSnapshot;

/// What the Lease asks for, as the Leases of Nodes do.
const DURATION: Duration = Duration::from_secs(40);
/// Time between two renewals, as with the Leases of Nodes.
const PERIOD: Duration = Duration::from_secs(10);

/// Renews the Lease as long as the agent runs and leads.
pub(crate) fn keep(
    agent: &mut Connected<MemberSnapshot>,
    identity: &Identity,
    hub: &ClientSet,
) -> Result<(), prometheus::Error> {
    let results = metrics::lease_renewals(agent.registry())?;
    let (accumulator, member) = (agent.accumulator().clone(), identity.clone());
    let may_renew = move || works(&member, &accumulator.snapshot());
    let (lease, client) = (lease(identity), hub.lease.clone());
    agent.task("member lease", |gate, cancel| {
        let time = (gate, BootClock::system());
        LeaseKeeper::new(lease, client, time, may_renew, results).run(cancel)
    });
    Ok(())
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
fn works(identity: &Identity, snapshot: &MemberSnapshot) -> bool {
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

    #[test]
    fn the_lease_is_the_members_own() {
        let lease = lease(&Identity::new("east"));
        assert_eq!(lease.namespace, "fleet-member-east");
        assert_eq!((lease.name.as_str(), lease.holder.as_str()), ("fleet-member", "east"));
        assert!(lease.period * 4 <= lease.duration);
    }
}
