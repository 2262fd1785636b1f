//! Members that join, live, leave and come back, on real control planes; one of them is the hub itself.
//!
//! A testbed of its own: who leaves takes everything along that users of the cluster have in the fleet.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

mod book;
mod home;
mod leases;
mod logs;
mod system_namespace;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::events::LEAVE_NOT_CONFIRMED;
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{export, import, wait_condition, wait_imported};
use fleet_testbed::objects::{api, find};
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use book::{Book, tell};

const DEADLINE: Duration = Duration::from_mins(2);
const TEAM: &str = "team";
/// How many exports need a confirmation before the member leaves.
const MUCH: usize = 21;
/// What members have on the hub.
const MEMBERS_KINDS: [ResourceKind; 4] = [
    kinds::INTERNAL_SERVICE_EXPORT,
    kinds::INTERNAL_SERVICE_IMPORT,
    kinds::ENDPOINT_SLICE_EXPORT,
    kinds::ENDPOINT_SLICE_IMPORT,
];

#[tokio::test(flavor = "multi_thread")]
async fn members_come_and_go() {
    let testbed = Testbed::start(Options::members(1).with_policies()).await.unwrap();
    let result = story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

/// The chapters build on each other: each needs what the one before has left.
async fn story(testbed: &Testbed) -> Result<()> {
    let (hub, member) = (testbed.hub(), testbed.member(0));
    let environment = vec![("LOG_LEVEL".to_owned(), logs::FILTER.to_owned())];
    let options = AgentOptions { environment, ..AgentOptions::default() };
    let mut agents = Agents::start(testbed, &options).await?;
    let _home = home::join(testbed).await?;
    testbed.user_namespace(TEAM).await?;

    members_report_that_they_joined(hub, member).await?;
    let (web, desk) = services_cross_between_member_and_hub(hub, member).await?;
    heartbeats_keep_what_others_report(hub, member).await?;
    a_member_leaves_with_everything(hub, member).await?;
    what_comes_later_waits(hub, member, &mut agents).await?;
    a_member_comes_back(hub, member, &web, &desk).await?;
    the_hub_leaves_and_stays_hub(hub, member).await?;
    system_namespace::goes_and_comes_back(member, &mut agents, &web).await?;
    system_namespace::nothing_else_is_watched(&mut agents).await?;
    leases::show_who_works(hub, member, &mut agents).await?;
    agents.stop(Agent::Hub).await?;
    logs::are_as_documented(testbed, &agents)
}

/// MIMC-1 on real API servers.
async fn members_report_that_they_joined(hub: &Cluster, member: &Cluster) -> Result<()> {
    for name in [member.name(), hub.name()] {
        let book = Book::wait(hub, name, "True", DEADLINE).await?;
        ensure!(book.heartbeats().len() == 2, "{book:?}");
    }
    Ok(())
}

/// F44: the hub is a member of its own fleet, exports and imports.
async fn services_cross_between_member_and_hub(
    hub: &Cluster,
    member: &Cluster,
) -> Result<(BTreeSet<String>, BTreeSet<String>)> {
    let mut addresses = Vec::new();
    for (exporter, importer, name) in [(member, hub, "web"), (hub, member, "desk")] {
        let address = next_address();
        let spec = ServiceSpec::http(TEAM, name);
        ManualService::deploy(exporter, &spec, std::slice::from_ref(&address)).await?;
        export(exporter, TEAM, name).await?;
        import(importer, TEAM, name, name).await?;
        let addresses_of = BTreeSet::from([address]);
        wait_imported(importer, TEAM, name, &addresses_of, DEADLINE).await?;
        addresses.push(addresses_of);
        let resolved = find(hub, kinds::SERVICE_IMPORT, (TEAM, name)).await?;
        let resolved = resolved.context("the hub has resolved it")?;
        ensure!(resolved.metadata.owner_references.is_none(), "the hub's own has no owner");
    }
    let desk = addresses.pop().context("two Services")?;
    Ok((addresses.pop().context("two Services")?, desk))
}

/// MIMC-2: the heartbeat follows the period; the report of KubeFleet's agent and the rest of the status stay.
async fn heartbeats_keep_what_others_report(hub: &Cluster, member: &Cluster) -> Result<()> {
    let theirs = json!({ "type": "MemberAgent", "lastReceivedHeartbeat": "2026-01-02T03:04:05Z" });
    book::add_report(hub, member.name(), &theirs).await?;
    let before = Book::read(hub, member.name()).await?;
    book::set_period(hub, member.name(), 1).await?;
    wait_until("three heartbeats", DEADLINE, async || {
        let now = Book::read(hub, member.name()).await?;
        ensure!(now.other_reports() == [theirs.clone()], "{now:?}");
        ensure!(now.rest() == before.rest(), "{now:?}");
        let moved = |(old, new): (&jiff::Timestamp, &jiff::Timestamp)| {
            new.as_second() - old.as_second() >= 3
        };
        Ok(before.heartbeats().iter().zip(&now.heartbeats()).all(moved))
    })
    .await?;
    book::set_period(hub, member.name(), 60).await
}

/// A member with more than 20 objects of users is asked to leave: it asks back, and goes on; so it does after a second thought.
async fn a_member_with_much_asks_back(hub: &Cluster, member: &Cluster) -> Result<()> {
    for number in 0..MUCH {
        export(member, TEAM, &format!("much-{number}")).await?;
    }
    tell(hub, member.name(), "Leave").await?;
    asked(hub, member.name()).await?;
    let name = member_namespace(member.name());
    let events: Api<Event> = Api::namespaced(hub.client(), &name);
    wait_until("the hub agent has told administrators", DEADLINE, async || {
        let events = events.list(&ListParams::default()).await?.items;
        Ok(events.iter().any(|event| event.reason.as_deref() == Some(LEAVE_NOT_CONFIRMED)))
    })
    .await?;
    tell(hub, member.name(), "Join").await?;
    let book = Book::wait(hub, member.name(), "True", DEADLINE).await?;
    ensure!(!book.asks(), "{book:?}");
    let exports = api(member.client(), kinds::SERVICE_EXPORT, Some(TEAM));
    let count = exports.list(&ListParams::default()).await?.items.len();
    ensure!(count > MUCH, "{count} exports are left");
    ensure!(!nothing_of(hub, member.name()).await?, "everything is still there");
    tell(hub, member.name(), "Leave").await?;
    let book = asked(hub, member.name()).await?;
    book::confirm(hub, member.name(), &book).await
}

async fn asked(hub: &Cluster, member: &str) -> Result<Book> {
    wait_for(&format!("{member} asks back"), DEADLINE, async || {
        let book = Book::read(hub, member).await?;
        Ok(book.asks().then_some(book))
    })
    .await
}

/// MIMC-3 and MIMC-4: "left" is reported when nothing is left, in no cluster.
async fn a_member_leaves_with_everything(hub: &Cluster, member: &Cluster) -> Result<()> {
    a_member_with_much_asks_back(hub, member).await?;
    let book = Book::wait(hub, member.name(), "False", DEADLINE).await?;
    // At that very moment, not some time later.
    ensure!(nothing_of(hub, member.name()).await?);
    for kind in [kinds::SERVICE_EXPORT, kinds::MULTI_CLUSTER_SERVICE, kinds::SERVICE_IMPORT] {
        ensure!(is_empty(member, kind, TEAM).await?, "{} is left", kind.kind);
    }
    for kind in [kinds::SERVICE, kinds::ENDPOINT_SLICE] {
        ensure!(is_empty(member, kind, SYSTEM_NAMESPACE).await?, "{} is left", kind.kind);
    }
    ensure!(book.other_reports().len() == 1, "{book:?}");
    wait_imported(hub, TEAM, "web", &BTreeSet::new(), DEADLINE).await?;
    ensure!(find(member, kinds::SERVICE, (TEAM, "web")).await?.is_some(), "it is its user's");
    Ok(())
}

/// Neither an agent that runs nor one that starts touches what users make after the member has left.
async fn what_comes_later_waits(
    hub: &Cluster,
    member: &Cluster,
    agents: &mut Agents,
) -> Result<()> {
    export(member, TEAM, "web").await?;
    import(member, TEAM, "desk", "desk").await?;
    let told = async || {
        let (se, mcs) = (kinds::SERVICE_EXPORT, kinds::MULTI_CLUSTER_SERVICE);
        wait_condition(member, se, (TEAM, "web"), ("Valid", "False"), DEADLINE).await?;
        wait_condition(member, mcs, (TEAM, "desk"), ("Valid", "Unknown"), DEADLINE).await?;
        for (kind, name) in [(se, "web"), (mcs, "desk")] {
            let object = find(member, kind, (TEAM, name)).await?.context("it waits")?;
            ensure!(object.metadata.finalizers.is_none(), "{} is touched", kind.kind);
        }
        ensure!(nothing_of(hub, member.name()).await?);
        ensure!(is_empty(member, kinds::SERVICE_IMPORT, TEAM).await?);
        anyhow::Ok(())
    };
    told().await?;
    agents.restart(Agent::Member(0)).await?;
    told().await
}

/// MIMC-5: what waited works, with the agent that runs; nothing of before is in the way.
async fn a_member_comes_back(
    hub: &Cluster,
    member: &Cluster,
    web: &BTreeSet<String>,
    desk: &BTreeSet<String>,
) -> Result<()> {
    tell(hub, member.name(), "Join").await?;
    Book::wait(hub, member.name(), "True", DEADLINE).await?;
    wait_imported(hub, TEAM, "web", web, DEADLINE).await?;
    wait_imported(member, TEAM, "desk", desk, DEADLINE).await
}

/// F44: what a member takes along is its own, never the hub's or another member's.
async fn the_hub_leaves_and_stays_hub(hub: &Cluster, member: &Cluster) -> Result<()> {
    let resolved = find(hub, kinds::SERVICE_IMPORT, (TEAM, "web")).await?;
    let resolved = resolved.context("it is exported")?.metadata.uid;
    tell(hub, hub.name(), "Leave").await?;
    Book::wait(hub, hub.name(), "False", DEADLINE).await?;
    ensure!(nothing_of(hub, hub.name()).await?);
    for kind in [kinds::SERVICE, kinds::ENDPOINT_SLICE] {
        ensure!(is_empty(hub, kind, SYSTEM_NAMESPACE).await?, "{} is left", kind.kind);
    }
    wait_imported(member, TEAM, "desk", &BTreeSet::new(), DEADLINE).await?;

    let still = find(hub, kinds::SERVICE_IMPORT, (TEAM, "web")).await?.context("the hub's own")?;
    ensure!(still.metadata.uid == resolved && still.metadata.deletion_timestamp.is_none());
    let namespace = fleet_api::names::member_namespace(member.name());
    ensure!(!is_empty(hub, kinds::INTERNAL_SERVICE_EXPORT, &namespace).await?);
    ensure!(!is_empty(hub, kinds::ENDPOINT_SLICE_EXPORT, &namespace).await?);
    let (kind, key) = (kinds::SERVICE_EXPORT, (TEAM, "web"));
    wait_condition(member, kind, key, ("Conflict", "False"), DEADLINE).await
}

/// Whether the hub has nothing of a member.
async fn nothing_of(hub: &Cluster, member: &str) -> Result<bool> {
    let namespace = fleet_api::names::member_namespace(member);
    for kind in MEMBERS_KINDS {
        if !is_empty(hub, kind, &namespace).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn is_empty(cluster: &Cluster, kind: ResourceKind, namespace: &str) -> Result<bool> {
    let all = api(cluster.client(), kind, Some(namespace)).list(&ListParams::default()).await?;
    Ok(all.items.is_empty())
}
