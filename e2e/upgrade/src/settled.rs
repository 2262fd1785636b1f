//! The end of a step: the fleet has exactly the endpoints that exist, and no object too many.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, kinds, labels};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::imported_addresses;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::pod::NAMESPACE;
use fleet_testbed::wait::wait_until;
use kube::ResourceExt;
use kube::api::DynamicObject;

use crate::additions::are_settled;
use crate::lists::{all, objects};
use crate::members::{DEADLINE, NORTH};
use crate::services::{Additions, Services};

/// Waits until every importer has the endpoints of all exporters, and the hub and the importers have one copy of each
/// slice that exists, and no other.
pub(crate) async fn wait_settled(fleet: &Fleet, services: &Services) -> Result<()> {
    let mut last = Ok(());
    let what = "the fleet has exactly the endpoints that exist";
    let waited = wait_until(what, DEADLINE, async || {
        last = is_settled(fleet, services).await;
        Ok(last.is_ok())
    })
    .await;
    waited.or_else(|error| last.context(error))
}

async fn is_settled(fleet: &Fleet, services: &Services) -> Result<()> {
    for one in &services.imported {
        let cluster = fleet.member(one.member);
        let seen = imported_addresses(cluster, one.namespace, one.name).await?;
        let wanted = services.addresses(one.namespace, one.name);
        let service = format!("{}/{} in {}", one.namespace, one.name, cluster.name());
        ensure!(seen == wanted, "{service} has {seen:?} instead of {wanted:?}");
    }
    let mut copies = Vec::new();
    for member in fleet.members() {
        copies.extend(exports_of(fleet.hub(), member, services.additions).await?);
    }
    let of_north = member_namespace(NORTH);
    copies.extend(objects(fleet.hub(), kinds::ENDPOINT_SLICE_EXPORT, &of_north).await?);
    let members = fleet.members().iter().map(Cluster::name).chain([NORTH]);
    for member in members {
        let of_member =
            copies.iter().filter(|copy| services.is_imported(fleet, &owner(copy), member));
        let wanted: BTreeSet<_> = of_member.map(ResourceExt::name_any).collect();
        let kind = kinds::ENDPOINT_SLICE_IMPORT;
        same(&names(fleet.hub(), kind, &member_namespace(member)).await?, &wanted, member)?;
        if let Some(cluster) = fleet.members().iter().find(|one| one.name() == member) {
            let imported = imported_slices(cluster).await?;
            same(&imported, &wanted, &format!("{member}'s slices"))?;
        }
    }
    are_settled(fleet, services).await
}

/// The copies of a member's slices on the hub; an error unless they are of exactly the slices of exported Services.
async fn exports_of(
    hub: &Cluster,
    member: &Cluster,
    additions: Additions,
) -> Result<Vec<DynamicObject>> {
    let mut exports = all(member, kinds::SERVICE_EXPORT).await?;
    if additions == Additions::On {
        exports.extend(all(member, kinds::MCS_SERVICE_EXPORT).await?);
    }
    let exported: BTreeSet<_> = exports.iter().map(key).collect();
    let slices = all(member, kinds::ENDPOINT_SLICE).await?;
    let of_exported = slices.iter().filter(|slice| {
        let service = slice.labels().get(labels::SERVICE_NAME).cloned().unwrap_or_default();
        exported.contains(&format!("{}/{service}", slice.namespace().unwrap_or_default()))
    });
    let wanted: Vec<String> = sorted(of_exported.map(key));
    let kind = kinds::ENDPOINT_SLICE_EXPORT;
    let copies = objects(hub, kind, &member_namespace(member.name())).await?;
    let of = |copy: &DynamicObject| reference(copy, "endpointSliceReference");
    let found = sorted(copies.iter().map(of));
    ensure!(found == wanted, "the hub has {found:?} of {} instead of {wanted:?}", member.name());
    Ok(copies)
}

async fn imported_slices(cluster: &Cluster) -> Result<BTreeSet<String>> {
    names(cluster, kinds::ENDPOINT_SLICE, NAMESPACE).await
}

async fn names(cluster: &Cluster, kind: ResourceKind, namespace: &str) -> Result<BTreeSet<String>> {
    Ok(objects(cluster, kind, namespace).await?.iter().map(ResourceExt::name_any).collect())
}

fn same(found: &BTreeSet<String>, wanted: &BTreeSet<String>, whose: &str) -> Result<()> {
    let (lost, surplus) = (wanted.difference(found), found.difference(wanted));
    let (lost, surplus): (Vec<_>, Vec<_>) = (lost.collect(), surplus.collect());
    ensure!(lost.is_empty() && surplus.is_empty(), "{whose}: lost {lost:?}, orphaned {surplus:?}");
    Ok(())
}

fn key(object: &DynamicObject) -> String {
    format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any())
}

fn owner(copy: &DynamicObject) -> String {
    reference(copy, "ownerServiceReference")
}

fn reference(copy: &DynamicObject, field: &str) -> String {
    let part = |part: &str| copy.data["spec"][field][part].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", part("namespace"), part("name"))
}

fn sorted(keys: impl Iterator<Item = String>) -> Vec<String> {
    let mut keys: Vec<_> = keys.collect();
    keys.sort();
    keys
}
