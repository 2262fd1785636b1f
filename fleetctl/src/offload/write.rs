//! Writes decisions of administrators.

use std::process::ExitCode;

use anyhow::Result;
use fleet_accumulator::one_line;
use fleet_api::names::member_namespace;
use fleet_api::offload::{ACCEPT_PREFIX, CONSENT, OFFER, VirtualNodeSpec};
use fleet_api::{ResourceKind, kinds};
use fleet_model::objects::MemberPolicy;
use kube::Client;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::args::{AcceptArgs, OfferArgs, PlaceArgs, WithdrawArgs};
use super::cluster::member;
use super::consent::{self, Entry};
use super::ranges;
use crate::access::Contexts;
use crate::args::Cli;
use crate::member_objects::check_name;
use crate::objects::{api, delete, find};
use crate::output::report;

/// Key of a member policy with ranges of the executors that the member uses.
const RANGES: &str = "offload-cidrs";
/// Key of a member policy with the namespaces whose Services have addresses in these ranges; without it, all.
const NAMESPACES: &str = "offload-namespaces";

pub(super) async fn offer(cli: &Cli, args: &OfferArgs) -> Result<ExitCode> {
    check_name(&args.executor)?;
    let contexts = cli.access.contexts()?;
    let client = member(&contexts, &args.executor).await?;
    let entry = (OFFER.to_owned(), Some(serde_json::to_string(&consent::offer(args))?));
    put(&client, &args.place, &args.executor, &entry).await?;
    if let Ok(hub) = contexts.connect(&contexts.hub).await {
        let own = ranges::of(&hub.watch, &args.executor).await;
        for origin in &args.to {
            ranges::warn((origin, &ranges::of(&hub.watch, origin).await), (&args.executor, &own));
        }
    }
    report("See what became of it with: fleetctl offload status");
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn accept(cli: &Cli, args: &AcceptArgs) -> Result<ExitCode> {
    check_name(&args.executor)?;
    let contexts = cli.access.contexts()?;
    let client = member(&contexts, &args.origin).await?;
    let value = serde_json::to_string(&consent::accepted(args))?;
    let entry = (format!("{ACCEPT_PREFIX}{}", args.executor), Some(value));
    put(&client, &args.place, &args.origin, &entry).await?;
    if let Err(error) = add_ranges(&contexts, args).await {
        report(&format!(
            "The member policy of {} was not changed: {error:#}. Until an administrator of the hub adds the ranges of {} there, as \
             {RANGES}, Services of {} that have Pods there are not exported (P5)",
            args.origin, args.executor, args.origin
        ));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn withdraw(cli: &Cli, args: &WithdrawArgs) -> Result<ExitCode> {
    let contexts = cli.access.contexts()?;
    let Some(origin) = &args.origin else {
        return withdraw_offer(&contexts, args).await;
    };
    let client = member(&contexts, origin).await?;
    let key = format!("{ACCEPT_PREFIX}{}", args.executor);
    let value = if args.abandon {
        let place = &args.place.system_namespace;
        let present = find(&client, kinds::CONFIG_MAP, Some(place), CONSENT).await?;
        let present = present.and_then(|map| map.data["data"][&key].as_str().map(str::to_owned));
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

/// Adds the ranges of the executor's Pods to those of the origin's Services, on the hub.
async fn add_ranges(contexts: &Contexts, args: &AcceptArgs) -> Result<()> {
    let hub = contexts.connect(&contexts.hub).await?.write;
    let policy = |member: &str| {
        let (hub, namespace) = (hub.clone(), member_namespace(member));
        async move { find(&hub, kinds::CONFIG_MAP, Some(&namespace), MemberPolicy::NAME).await }
    };
    let text =
        |policy: &Value, key: &str| policy["data"][key].as_str().unwrap_or_default().to_owned();
    let executor = policy(&args.executor).await?.map(|policy| text(&policy.data, "cidrs"));
    let executor = executor.filter(|ranges| !ranges.is_empty());
    let executor = executor.ok_or_else(|| {
        anyhow::anyhow!("the member policy of {} has no ranges of its pods (cidrs)", args.executor)
    })?;
    // Without a policy of its own the member is not restricted.
    let Some(own) = policy(&args.origin).await? else { return Ok(()) };
    ranges::warn((&args.origin, &text(&own.data, "cidrs")), (&args.executor, &executor));
    let present = |key: &str| own.data["data"][key].as_str();
    let ranges = consent::with_ranges(&text(&own.data, RANGES), &executor);
    let offered = offered_namespaces(&hub, args).await;
    let namespaces = consent::namespaces(present(RANGES), present(NAMESPACES), &offered);
    let after = json!({ RANGES: ranges, NAMESPACES: namespaces });
    if [RANGES, NAMESPACES].iter().all(|key| own.data["data"][*key] == after[*key]) {
        return Ok(());
    }
    let origin = &args.origin;
    if args.place.dry_run {
        report(&format!("Would set in the member policy of {origin}: {after}"));
        return Ok(());
    }
    let policies = api(hub.clone(), kinds::CONFIG_MAP, Some(&member_namespace(origin)));
    let patch = Patch::Merge(json!({ "data": after }));
    let patched = policies.patch(MemberPolicy::NAME, &PatchParams::default(), &patch).await;
    patched.map_err(|error| anyhow::anyhow!("{}", one_line(&error)))?;
    report(&format!("The member policy of {origin} allows it addresses of {}", args.executor));
    Ok(())
}

/// The namespaces whose Pods an executor accepts of an origin; all, if the hub does not show it.
async fn offered_namespaces(hub: &Client, args: &AcceptArgs) -> String {
    let namespace = member_namespace(&args.origin);
    let node = find(hub, kinds::VIRTUAL_NODE, Some(&namespace), &args.executor).await;
    let spec = node.ok().flatten().map(|node| node.data["spec"].clone());
    let spec: Option<VirtualNodeSpec> = spec.and_then(|spec| serde_json::from_value(spec).ok());
    spec.map_or_else(|| "*".to_owned(), |spec| spec.terms.namespaces.join(","))
}
