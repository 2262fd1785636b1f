//! Three agents of one member, of which one writes at a time, on real control planes.
//!
//! A testbed of its own, since no other process may write meanwhile. What is waited for is never the passing of time:
//! the lease ends by the agents' own clocks.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

mod audit;
mod replicas;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::names::{SYSTEM_NAMESPACE, internal_export_candidates, member_namespace};
use fleet_api::{ObjectName, kinds};
use fleet_oracle::object::text;
use fleet_oracle::{leadership, requests};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{export, import, wait_imported};
use fleet_testbed::objects::remove;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Api;

use audit::Audit;
use replicas::Replicas;

const DEADLINE: Duration = Duration::from_mins(2);
const TEAM: &str = "team";
const WEB: &str = "web";
const LATE: &str = "late";
const LEASE: &str = "member-agent.networking.fleet.azure.com";

#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_writes() {
    let testbed = Testbed::start(Options::members(1)).await.unwrap();
    let result = story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

/// The chapters build on each other: each needs the leader that the one before has left, and leaves all running.
async fn story(testbed: &Testbed) -> Result<()> {
    testbed.user_namespace(TEAM).await?;
    let mut audit = Audit::start(testbed)?;
    let mut replicas = Replicas::start(testbed).await?;
    let leader = replicas.leader().await?;
    let web = Web::cross(testbed.member(0), WEB).await?;
    audit.ensure_only(leader)?;

    let leader = whoever_is_killed_is_followed(&mut replicas, &web, leader).await?;
    let leader = whoever_stood_still_writes_no_more(testbed, &mut replicas, &web, leader).await?;
    let leader = whoever_is_cut_off_writes_no_more(testbed, &mut replicas, &web, leader).await?;
    let leader = whoever_takes_over_looks_first(testbed, &mut replicas, leader).await?;
    whoever_is_stopped_hands_over(testbed, &mut replicas, &web, leader).await?;
    nobody_wrote_without_the_lease(testbed)
}

/// S27, of all that was ever written.
fn nobody_wrote_without_the_lease(testbed: &Testbed) -> Result<()> {
    let mut requests = Vec::new();
    for cluster in testbed.clusters() {
        let log = cluster.audit_log_path().context("an audit log is written")?;
        requests.extend(requests::read(cluster.name(), &log)?);
    }
    let leases = requests.iter().filter(|request| request.resource == "leases");
    let holders: BTreeSet<_> =
        leases.map(|request| text(&request.response, "/spec/holderIdentity")).collect();
    ensure!(holders.len() > 2, "the log does not say who held the Lease: {holders:?}");
    let found = leadership::check(&requests);
    ensure!(found.is_empty(), "{found:#?}");
    Ok(())
}

/// SIGKILL.
async fn whoever_is_killed_is_followed(
    replicas: &mut Replicas,
    web: &Web<'_>,
    leader: usize,
) -> Result<usize> {
    replicas.kill(leader)?;
    let addresses = web.change().await?;
    let next = replicas.leader().await?;
    web.arrive(&addresses).await?;
    replicas.launch(leader).await?;
    ensure!(replicas.leader().await? == next, "who comes back stands by");
    Ok(next)
}

/// F37: SIGSTOP for longer than the lease. What it wakes up to find changed is not its own to write any more.
async fn whoever_stood_still_writes_no_more(
    testbed: &Testbed,
    replicas: &mut Replicas,
    web: &Web<'_>,
    leader: usize,
) -> Result<usize> {
    replicas.freeze(leader)?;
    let addresses = web.change().await?;
    let next = replicas.follower_of(leader).await?;
    let mut audit = Audit::start(testbed)?;
    replicas.thaw(leader)?;
    replicas.wait_lost(leader).await?;
    web.arrive(&addresses).await?;
    let addresses = web.change().await?;
    web.arrive(&addresses).await?;
    replicas.wait_ready(leader).await?;
    audit.ensure_only(next)?;
    Ok(next)
}

/// Its own API server, which has the Lease, is out of reach, and the hub is not: what changes there is not its own to
/// answer any more.
async fn whoever_is_cut_off_writes_no_more(
    testbed: &Testbed,
    replicas: &mut Replicas,
    web: &Web<'_>,
    leader: usize,
) -> Result<usize> {
    replicas.cut_off(leader);
    replicas.wait_lost(leader).await?;
    let next = replicas.follower_of(leader).await?;
    let mut audit = Audit::start(testbed)?;
    web.unexport_on_the_hub(testbed.hub()).await?;
    let addresses = web.change().await?;
    web.arrive(&addresses).await?;
    replicas.reconnect(leader);
    replicas.wait_ready(leader).await?;
    ensure!(replicas.leader().await? == next, "who comes back stands by");
    audit.ensure_only(next)?;
    Ok(next)
}

/// What crosses while the watches of the others are silent is not in their view of the hub when one of them takes over:
/// without a look at the hub, imported slices would seem to come from nowhere, and go.
async fn whoever_takes_over_looks_first(
    testbed: &Testbed,
    replicas: &mut Replicas,
    leader: usize,
) -> Result<usize> {
    replicas.strand_hub_of_all_but(leader);
    let late = Web::cross(testbed.member(0), LATE).await?;
    let mut audit = Audit::start(testbed)?;
    replicas.stop(leader).await?;
    let next = replicas.follower_of(leader).await?;
    let addresses = late.change().await?;
    late.arrive(&addresses).await?;
    audit.ensure_nothing_deleted(next)?;
    replicas.launch(leader).await?;
    ensure!(replicas.leader().await? == next, "who comes back stands by");
    Ok(next)
}

/// F49: SIGTERM. The others would not take a lease that is not given back before the test is over.
async fn whoever_is_stopped_hands_over(
    testbed: &Testbed,
    replicas: &mut Replicas,
    web: &Web<'_>,
    leader: usize,
) -> Result<()> {
    replicas.make_patient_but(leader).await?;
    let before = lease(testbed.member(0)).await?;
    replicas.stop(leader).await?;
    replicas.follower_of(leader).await?;
    let after = lease(testbed.member(0)).await?;
    ensure!(after.holder_identity != before.holder_identity, "{after:?}");
    let transitions = |lease: &LeaseSpec| lease.lease_transitions.unwrap_or_default();
    ensure!(transitions(&after) == transitions(&before) + 1, "{before:?} {after:?}");
    let addresses = web.change().await?;
    web.arrive(&addresses).await
}

async fn lease(member: &Cluster) -> Result<LeaseSpec> {
    let leases: Api<Lease> = Api::namespaced(member.client(), SYSTEM_NAMESPACE);
    leases.get(LEASE).await?.spec.context("a Lease without spec")
}

/// A Service that the member exports, and imports itself.
struct Web<'a> {
    member: &'a Cluster,
    name: &'static str,
    service: ManualService,
}

impl<'a> Web<'a> {
    async fn cross(member: &'a Cluster, name: &'static str) -> Result<Self> {
        let addresses = [next_address()];
        let spec = ServiceSpec::http(TEAM, name);
        let service = ManualService::deploy(member, &spec, &addresses).await?;
        export(member, TEAM, name).await?;
        import(member, TEAM, name, name).await?;
        let web = Self { member, name, service };
        web.arrive(&addresses.into()).await?;
        Ok(web)
    }

    /// Replaces its addresses.
    async fn change(&self) -> Result<BTreeSet<String>> {
        let addresses = [next_address()];
        self.service.set_addresses(&addresses).await?;
        Ok(addresses.into())
    }

    /// A user removes the export of it from the hub.
    async fn unexport_on_the_hub(&self, hub: &Cluster) -> Result<()> {
        let namespace = member_namespace(self.member.name());
        let name = internal_export_candidates(&ObjectName::new(TEAM, self.name)).next();
        let name = name.context("an export has a name")?;
        remove(hub, kinds::INTERNAL_SERVICE_EXPORT, (&namespace, &name)).await
    }

    /// Waits until the addresses have gone to the hub and come back.
    async fn arrive(&self, addresses: &BTreeSet<String>) -> Result<()> {
        wait_imported(self.member, TEAM, self.name, addresses, DEADLINE).await
    }
}
