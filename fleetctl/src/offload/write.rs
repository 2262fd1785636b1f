//! Writes decisions of administrators.

use std::process::ExitCode;

use anyhow::Result;
use fleet_accumulator::one_line;
use fleet_api::names::member_namespace;
use fleet_api::offload::{ACCEPT_PREFIX, CONSENT, OFFER};
use fleet_api::{ResourceKind, kinds};
use kube::Client;
use kube::api::{ListParams, Patch, PatchParams, PostParams};

use super::allowance::RANGES;
use super::args::{AcceptArgs, OfferArgs, PlaceArgs, WithdrawArgs};
use super::cluster::member;
use super::consent::{self, Entry};
use super::policy::OriginPolicy;
use super::ranges;
use crate::access::Contexts;
use crate::args::Cli;
use crate::member_objects::check_name;
use crate::objects::{api, delete, find};
use crate::output::report;

pub(super) async fn offer(cli: &Cli, args: &OfferArgs) -> Result<ExitCode> {
    check_name(&args.executor)?;
    let contexts = cli.access.contexts()?;
    let client = member(&contexts, &args.executor).await?;
    let entry = (OFFER.to_owned(), Some(serde_json::to_string(&consent::offer(args))?));
    put(&client, &args.place, &args.executor, &entry).await?;
    if let Ok(hub) = contexts.connect(&contexts.hub).await {
        let ranges = async |member: &str| ranges::of(&hub.watch, member).await.unwrap_or_default();
        let own = ranges(&args.executor).await;
        for origin in &args.to {
            ranges::warn((origin, &ranges(origin).await), (&args.executor, &own));
        }
    }
    report("See what became of it with: fleetctl offload status");
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn accept(cli: &Cli, args: &AcceptArgs) -> Result<ExitCode> {
    check_name(&args.executor)?;
    let contexts = cli.access.contexts()?;
    let client = member(&contexts, &args.origin).await?;
    let (origin, executor) = (&args.origin, &args.executor);
    let key = format!("{ACCEPT_PREFIX}{executor}");
    let present = present(&client, &args.place, &key).await?;
    let value = serde_json::to_string(&consent::accepted(args, present.as_deref()))?;
    let entry = (key, Some(value));
    // Without further Pods there are no further addresses.
    if args.drain {
        put(&client, &args.place, origin, &entry).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let policy = policy(&contexts, &client, &args.place, (origin, executor)).await;
    if let Ok(policy) = &policy {
        policy.check()?;
    }
    put(&client, &args.place, origin, &entry).await?;
    let allowed = async { policy?.allow(args.place.dry_run).await };
    if let Err(error) = allowed.await {
        report(&format!(
            "The member policy of {origin} was not changed: {error:#}. Until an administrator of the hub adds the ranges of {executor} \
             there, as {RANGES}, Services of {origin} that have Pods there are not exported (P5)"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The member policy of an origin, with what concerns its executors.
async fn policy(
    contexts: &Contexts,
    client: &Client,
    place: &PlaceArgs,
    (origin, executor): (&str, &str),
) -> Result<OriginPolicy> {
    let consent = find(client, kinds::CONFIG_MAP, Some(&place.system_namespace), CONSENT).await?;
    let accepted = consent.map(|map| consent::executors(&map.data["data"])).unwrap_or_default();
    OriginPolicy::read(contexts, &accepted, (origin, executor)).await
}

pub(super) async fn withdraw(cli: &Cli, args: &WithdrawArgs) -> Result<ExitCode> {
    let contexts = cli.access.contexts()?;
    let Some(origin) = &args.origin else {
        return withdraw_offer(&contexts, args).await;
    };
    let client = member(&contexts, origin).await?;
    let key = format!("{ACCEPT_PREFIX}{}", args.executor);
    let value = if args.abandon {
        let present = present(&client, &args.place, &key).await?;
        Some(serde_json::to_string(&consent::abandoned(present.as_deref()))?)
    } else {
        None
    };
    put(&client, &args.place, origin, &(key, value)).await?;
    if args.abandon {
        report(&format!(
            "Pods of {origin} on {} are released without its confirmation: those that still run there run twice",
            args.executor
        ));
    }
    let policy = policy(&contexts, &client, &args.place, (origin, &args.executor)).await;
    let forbidden = async { policy?.forbid(args.place.dry_run).await };
    if let Err(error) = forbidden.await {
        report(&format!(
            "The member policy of {origin} was not changed: {error:#}. Until an administrator of the hub takes the ranges of {} out of it \
             ({RANGES}), {origin} may export its addresses",
            args.executor
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The executor's own administrators take its offer back. If its cluster cannot be reached, those of the hub can.
async fn withdraw_offer(contexts: &Contexts, args: &WithdrawArgs) -> Result<ExitCode> {
    let executor = &args.executor;
    match member(contexts, executor).await {
        Ok(client) => put(&client, &args.place, executor, &(OFFER.to_owned(), None)).await?,
        Err(error) => {
            report(&format!("{executor} is not reached ({error:#}): its offer goes on the hub"));
            let hub = contexts.connect(&contexts.hub).await?.write;
            let namespace = member_namespace(executor);
            let offers = api(hub.clone(), kinds::OFFLOAD_OFFER, Some(&namespace));
            let offers = offers.list(&ListParams::default()).await;
            let offers = offers.map_err(|error| anyhow::anyhow!("{}", one_line(&error)))?;
            for name in offers.items.into_iter().filter_map(|offer| offer.metadata.name) {
                remove(&hub, kinds::OFFLOAD_OFFER, &namespace, &name, args.place.dry_run).await?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn remove(
    hub: &Client,
    kind: ResourceKind,
    namespace: &str,
    name: &str,
    dry_run: bool,
) -> Result<()> {
    if dry_run {
        report(&format!("Would delete {} {namespace}/{name}", kind.kind));
    } else if delete(hub, kind, Some(namespace), name).await? {
        report(&format!("Deleted {} {namespace}/{name}", kind.kind));
    }
    Ok(())
}

/// An entry of the ConfigMap of a cluster, as it is.
async fn present(client: &Client, place: &PlaceArgs, key: &str) -> Result<Option<String>> {
    let map = find(client, kinds::CONFIG_MAP, Some(&place.system_namespace), CONSENT).await?;
    Ok(map.and_then(|map| map.data["data"][key].as_str().map(str::to_owned)))
}

/// Sets or removes one entry of the ConfigMap of a cluster.
async fn put(client: &Client, place: &PlaceArgs, member: &str, entry: &Entry) -> Result<()> {
    let namespace = place.system_namespace.as_str();
    let (key, value) = entry;
    let shown = value.as_deref().map_or("removed", |value| value);
    if place.dry_run {
        report(&format!("Would write ConfigMap {namespace}/{CONSENT} of {member}: {key} {shown}"));
        return Ok(());
    }
    let maps = api(client.clone(), kinds::CONFIG_MAP, Some(namespace));
    let there = find(client, kinds::CONFIG_MAP, Some(namespace), CONSENT).await?.is_some();
    let failed = |error: kube::Error| {
        anyhow::anyhow!("write ConfigMap {namespace}/{CONSENT} of {member}: {}", one_line(&error))
    };
    if there {
        let patch = Patch::Merge(consent::patch(entry));
        maps.patch(CONSENT, &PatchParams::default(), &patch).await.map_err(failed)?;
    } else if value.is_some() {
        let object = serde_json::from_value(consent::config_map(namespace, entry))?;
        maps.create(&PostParams::default(), &object).await.map_err(failed)?;
    }
    report(&format!("Wrote ConfigMap {namespace}/{CONSENT} of {member}: {key} {shown}"));
    Ok(())
}
