//! Two agents of one member, of which one writes at a time, on real control planes.
//!
//! A testbed of its own, since nobody else may write meanwhile. What is waited for is never the passing of time: the
//! lease ends by the agents' own clocks.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

mod audit;
mod pair;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_e2e::exchange::{export, import, wait_imported};
use fleet_e2e::testbed::cluster::Cluster;
use fleet_e2e::testbed::{Options, Testbed};
use fleet_e2e::workload::{ManualService, ServiceSpec, next_address};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Api;

use audit::Audit;
use pair::Pair;

const DEADLINE: Duration = Duration::from_mins(1);
const TEAM: &str = "team";
const WEB: &str = "web";
const LEASE: &str = "member-agent.networking.fleet.azure.com";

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_writes() {
    let testbed = Testbed::start(Options::members(1)).await.unwrap();
    let result = story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

/// The chapters build on each other: each needs the pair that the one before has left.
async fn story(testbed: &Testbed) -> Result<()> {
    testbed.user_namespace(TEAM).await?;
    let mut audit = Audit::start(testbed)?;
    let mut pair = Pair::start(testbed).await?;
    let (leader, standby) = pair.roles().await?;
    let web = Web::cross(testbed.member(0)).await?;

    the_standby_is_ready_and_silent(&pair, &mut audit, (leader, standby)).await?;
    whoever_is_killed_is_followed(&mut pair, &web, (leader, standby)).await?;
    whoever_stood_still_writes_no_more(testbed, &pair, &web, (standby, leader)).await?;
    whoever_is_stopped_hands_over(testbed, &mut pair, &web, (leader, standby)).await
}

async fn the_standby_is_ready_and_silent(
    pair: &Pair,
    audit: &mut Audit,
    (leader, standby): (usize, usize),
) -> Result<()> {
    pair.ensure_ready(standby).await?;
    audit.ensure_only(leader, standby)
}

/// SIGKILL.
async fn whoever_is_killed_is_followed(
    pair: &mut Pair,
    web: &Web<'_>,
    (leader, standby): (usize, usize),
) -> Result<()> {
    pair.kill(leader)?;
    let addresses = web.change().await?;
    pair.wait_leads(standby).await?;
    web.arrive(&addresses).await?;
    pair.launch(leader).await?;
    ensure!(pair.roles().await? == (standby, leader), "who comes back stands by");
    Ok(())
}

/// F37: SIGSTOP for longer than the lease. What it wakes up to find changed is not its own to write any more.
async fn whoever_stood_still_writes_no_more(
    testbed: &Testbed,
    pair: &Pair,
    web: &Web<'_>,
    (leader, standby): (usize, usize),
) -> Result<()> {
    pair.freeze(leader)?;
    let addresses = web.change().await?;
    pair.wait_leads(standby).await?;
    let mut audit = Audit::start(testbed)?;
    pair.thaw(leader)?;
    pair.wait_lost(leader).await?;
    web.arrive(&addresses).await?;
    let addresses = web.change().await?;
    web.arrive(&addresses).await?;
    pair.ensure_ready(leader).await?;
    audit.ensure_only(standby, leader)
}

/// F49: SIGTERM. The other would not take a lease that is not given back before the test is over.
async fn whoever_is_stopped_hands_over(
    testbed: &Testbed,
    pair: &mut Pair,
    web: &Web<'_>,
    (leader, standby): (usize, usize),
) -> Result<()> {
    pair.make_patient(standby).await?;
    let before = lease(testbed.member(0)).await?;
    pair.stop(leader).await?;
    pair.wait_leads(standby).await?;
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
    service: ManualService,
}

impl<'a> Web<'a> {
    async fn cross(member: &'a Cluster) -> Result<Self> {
        let addresses = [next_address()];
        let spec = ServiceSpec::http(TEAM, WEB);
        let service = ManualService::deploy(member, &spec, &addresses).await?;
        export(member, TEAM, WEB).await?;
        import(member, TEAM, WEB, WEB).await?;
        let web = Self { member, service };
        web.arrive(&addresses.into()).await?;
        Ok(web)
    }

    /// Replaces its addresses.
    async fn change(&self) -> Result<BTreeSet<String>> {
        let addresses = [next_address()];
        self.service.set_addresses(&addresses).await?;
        Ok(addresses.into())
    }

    /// Waits until the addresses have gone to the hub and come back.
    async fn arrive(&self, addresses: &BTreeSet<String>) -> Result<()> {
        wait_imported(self.member, TEAM, WEB, addresses, DEADLINE).await
    }
}
