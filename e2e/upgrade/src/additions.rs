//! What the last release does not have: the standard API, traffic policies, Leases of members, virtual nodes, the hub's part of
//! reachability, and policies that reject members without one of their own. It is switched on once all parts are of this checkout, in the
//! hub first; and off before one of them is rolled back, in the members first.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use fleet_api::multicluster::standard::CLUSTERSET_ID;
use fleet_api::names::member_namespace;
use fleet_api::traffic::SilenceState;
use fleet_api::{ResourceKind, kinds};
use fleet_oracle::record::Micros;
use fleet_testbed::agents::Agent;
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{wait_condition, wait_gone};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::multicluster::{derived_service, export, imported_addresses};
use fleet_testbed::objects::find;
use fleet_testbed::traffic::decided;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::findings::Kept;
use crate::lists::{all, objects};
use crate::members::{DEADLINE, MEMBERS, NORTH, RANGES};
use crate::part::EAST;
use crate::services::{Additions, MOVING, RESTING, STANDARD, Services};

/// What the values of an agent's chart have for them.
pub(crate) fn values(agent: Agent, on: bool) -> Value {
    let mode = if on { "on" } else { "clean-up" };
    let mut values = json!({
        "multicluster": { "mode": mode, "settle": "1s" },
        "memberLease": { "enabled": on },
        "traffic": { "enabled": on },
    });
    match agent {
        Agent::Hub => {
            values["policies"] = json!({ "strict": on, "members": member_policies() });
            values["virtualNodes"] = json!({ "enabled": on });
            // No member dials anything: addresses are invented.
            values["reachability"] = json!({ "enabled": on });
            // An hour by default, for which the hub keeps what is withdrawn.
            values["multicluster"]["withdrawnFor"] = json!("3s");
        }
        Agent::Member(member) => {
            let role = if member == EAST { "origin" } else { "executor" };
            values["virtualNode"] = json!({ role: { "enabled": on } });
            values["crds"] = json!({ "multicluster": true, "about": true, "traffic": true });
        }
    }
    values
}

/// They stay when the rest is switched off, as administrators' decisions do.
fn member_policies() -> Value {
    let names = MEMBERS.iter().chain([&NORTH]);
    let policy = |(name, range): (&&str, &str)| {
        ((*name).to_owned(), json!({ "cidrs": [range], "exports": ["*"], "imports": ["*"] }))
    };
    Value::Object(names.zip(RANGES).map(policy).collect())
}

/// What the page on upgrades asks of administrators before members renew no Lease any more, and takes back afterwards: otherwise they
/// become silent for those that still direct traffic.
pub(crate) async fn instruct(fleet: &Fleet, silence: &str) -> Result<()> {
    let kind = kinds::MEMBER_TRAFFIC;
    for member in fleet.members() {
        let object = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": { "name": member.name() },
            "spec": { "silence": silence },
        });
        apply(&fleet.hub().client(), object).await?;
    }
    Ok(())
}

/// Exports the Services, unless they were exported before: no clean-up takes that back.
pub(crate) async fn export_all(fleet: &Fleet) -> Result<()> {
    let east = fleet.member(EAST);
    for namespace in [MOVING, RESTING] {
        if find(east, kinds::MCS_SERVICE_EXPORT, (namespace, STANDARD)).await?.is_none() {
            export(east, namespace, STANDARD).await?;
        }
    }
    Ok(())
}

/// Waits for what users wait for before they roll a member's agent back. Then nothing is left of what it made.
pub(crate) async fn wait_taken_back(fleet: &Fleet, agent: Agent) -> Result<()> {
    let (hub, member) = (fleet.hub(), fleet.cluster_of(agent));
    wait_gone(member, kinds::CLUSTER_PROPERTY, "", CLUSTERSET_ID, DEADLINE).await?;
    for export in all(member, kinds::MCS_SERVICE_EXPORT).await? {
        let key = (export.metadata.namespace.as_deref().unwrap_or_default(), STANDARD);
        let ended = ("Ready", "False");
        wait_condition(member, kinds::MCS_SERVICE_EXPORT, key, ended, DEADLINE).await?;
    }
    is_empty(member, kinds::MCS_SERVICE_IMPORT).await?;
    let left = objects(hub, kinds::EXPORTED_SERVICE, &member_namespace(member.name())).await?;
    ensure!(left.is_empty(), "the hub still has {} exports of {}", left.len(), member.name());
    Ok(())
}

/// An error unless all members import what is exported and renew their Leases; or unless nothing is left of it all.
pub(crate) async fn are_settled(fleet: &Fleet, services: &Services) -> Result<()> {
    match services.additions {
        Additions::Never => Ok(()),
        Additions::On => {
            for member in fleet.members() {
                are_imported(member, services).await?;
                let status = decided(fleet.hub(), member.name()).await?;
                let state = &status["silence"]["state"];
                let renews = SilenceState::Heard.as_str();
                ensure!(*state == renews, "{} is {state}", member.name());
            }
            Ok(())
        }
        Additions::Off => {
            for member in fleet.members() {
                is_empty(member, kinds::MCS_SERVICE_IMPORT).await?;
            }
            is_empty(fleet.hub(), kinds::EXPORTED_SERVICE).await?;
            is_empty(fleet.hub(), kinds::RESOLVED_SERVICE).await?;
            // Users' objects stay.
            for name in [MOVING, RESTING].map(|namespace| (namespace, STANDARD)) {
                let export = find(fleet.member(EAST), kinds::MCS_SERVICE_EXPORT, name).await?;
                ensure!(export.is_some(), "the ServiceExport {name:?} is gone");
            }
            Ok(())
        }
    }
}

async fn are_imported(member: &Cluster, services: &Services) -> Result<()> {
    for namespace in [MOVING, RESTING] {
        let seen = imported_addresses(member, namespace, STANDARD).await?;
        let wanted = services.addresses(namespace, STANDARD);
        let service = format!("{namespace}/{STANDARD} in {}", member.name());
        ensure!(seen == wanted, "{service} has {seen:?} instead of {wanted:?}");
    }
    Ok(())
}

/// What importers have from now on, as long as it is not switched off.
pub(crate) async fn kept(fleet: &Fleet, services: &Services, from: Micros) -> Result<Vec<Kept>> {
    let mut kept = Vec::new();
    for member in fleet.members() {
        for namespace in [MOVING, RESTING] {
            let derived = derived_service(member, namespace, STANDARD).await?;
            kept.push(Kept {
                cluster: member.name().to_owned(),
                namespace: namespace.to_owned(),
                derived: derived.context("an import has a derived Service")?,
                addresses: services.kept(namespace, STANDARD),
                from,
                until: Micros::MAX,
            });
        }
    }
    Ok(kept)
}

async fn is_empty(cluster: &Cluster, kind: ResourceKind) -> Result<()> {
    let left: BTreeSet<_> = all(cluster, kind).await?.iter().map(ResourceExt::name_any).collect();
    ensure!(left.is_empty(), "{} is left in {}: {left:?}", kind.plural, cluster.name());
    Ok(())
}
