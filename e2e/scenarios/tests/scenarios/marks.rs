//! Every annotation, label and finalizer that the agents have put on anything is removed and altered
//! by hand, one at a time. What there is to tamper with is read from the objects of a Service that was exported and
//! imported, so that a new mark is tried without anybody thinking of it.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{annotations, kinds};
use fleet_oracle::mirror::Mirror;
use fleet_testbed::agents::Agents;
use fleet_testbed::objects::{Found, edit};
use futures::future::try_join_all;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::disturbed::Disturbed;
use crate::stage::{DEADLINE, Stage, name_of};
use crate::story::{ACTS, Act, QUIET, Story};
use crate::tests::Tests;

/// What a user writes in the place of a mark.
const FOREIGN: &str = "example.com/by-hand";
/// For what an admin does to be delivered, on a busy machine.
const SOON: Duration = Duration::from_secs(20);
/// A value that no mark has, and that every mark could.
const ALTERED: &str = "by-hand";

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // Who is quiet is seen at the testbed's proxies.
    }
    tests.apart("marks::each_one_heals", each_one_heals);
}

/// Something of ours on an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Label(String),
    Annotation(String),
    Finalizer(String),
}

/// A mark, the object that it is on, and what happens to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Tampering {
    /// The object in normal form.
    object: String,
    mark: Mark,
    removed: bool,
}

/// F32, F33: everything heals, to what it was.
async fn each_one_heals(stage: &Stage, others: &mut Agents) -> Result<()> {
    let mut fleet = Disturbed::start(stage, others).await?;
    let mut story = Story::learn(&mut fleet, "marks").await?;
    let mut names = vec![story.name()];
    tell(&mut fleet, &story, &names).await?;
    let tamperings = tamperings(&fleet.mirror, &names[0]);
    eprintln!("{} ways to tamper", tamperings.len());
    let more: Vec<String> = tamperings[1..].iter().map(|_| story.name()).collect();
    tell(&mut fleet, &story, &more).await?;
    names.extend(more);

    let pairs = || names.iter().zip(&tamperings);
    let tampered = pairs().map(async |(name, one)| {
        let result = tamper(&fleet, name, one).await;
        result.with_context(|| format!("{name}: {one:?}"))
    });
    try_join_all(tampered).await?;
    fleet.quiet(QUIET).await?;
    fleet.mirror.catch_up();
    let mut wounds = Vec::new();
    for (name, one) in pairs() {
        let healed = heals(&mut fleet, &story, name, one).await;
        wounds.extend(healed.err().map(|error| format!("{name}: {one:?}: {error:#}")));
    }
    ensure!(wounds.is_empty(), "{}", wounds.join("\n"));

    story.perform_all(stage, &names, Act::Unexport).await?;
    story.comes_out(&mut fleet, &names, Act::Unexport, DEADLINE).await?;
    story.end(&mut fleet, &names).await
}

/// Plays the story up to the change, of all of these at once.
async fn tell(fleet: &mut Disturbed<'_>, story: &Story, names: &[String]) -> Result<()> {
    for act in &ACTS[..3] {
        story.perform_all(fleet.stage, names, *act).await?;
        story.comes_out(fleet, names, *act, DEADLINE).await?;
    }
    Ok(())
}

/// A Service that bears another uid cannot both heal and be safe: nothing distinguishes it from a user's Service, which
/// no agent may touch. It is left alone and the import gets a Service under another name, so that what comes
/// out is not what was there.
fn is_given_away(one: &Tampering) -> bool {
    !one.removed && one.mark == Mark::Annotation(annotations::MULTI_CLUSTER_SERVICE_UID.to_owned())
}

/// Only decides on whose account a copy is corrected. Copies that earlier releases have made lack it, and none is written for
/// its sake.
fn is_only_accounted(one: &Tampering) -> bool {
    one.mark == Mark::Annotation(annotations::SLICE_EXPORT_GENERATION.to_owned())
}

/// On a hub that was rebuilt all exported slices have other uids, and no imported one is written for that: it gets the present uid with
/// its next change.
fn is_of_another_hub(one: &Tampering) -> bool {
    let is_imported = one.object.contains(": EndpointSlice ");
    let uid = annotations::SLICE_EXPORT_UID;
    is_imported && !one.removed && one.mark == Mark::Annotation(uid.to_owned())
}

/// Every way to tamper with what was made for a name.
fn tamperings(mirror: &Mirror, name: &str) -> Vec<Tampering> {
    let mut all = BTreeSet::new();
    for (object, found) in mirror.objects(name).filter(|(_, found)| !is_the_users(found)) {
        for mark in marks(&found.object) {
            all.extend([true, false].map(|removed| Tampering {
                object: object.clone(),
                mark: mark.clone(),
                removed,
            }));
        }
    }
    let is_left = [is_given_away, is_only_accounted, is_of_another_hub];
    all.into_iter().filter(|one| !is_left.iter().any(|is_left| is_left(one))).collect()
}

/// Services and slices outside our namespace are not ours, nor is what they carry.
fn is_the_users(found: &Found) -> bool {
    let derived = [kinds::SERVICE, kinds::ENDPOINT_SLICE].contains(&found.kind);
    derived && found.object.metadata.namespace.as_deref() != Some(SYSTEM_NAMESPACE)
}

fn marks(object: &DynamicObject) -> Vec<Mark> {
    let metadata = &object.metadata;
    let keys = |map: &Option<std::collections::BTreeMap<String, String>>| {
        map.iter().flat_map(|map| map.keys().cloned()).collect::<Vec<_>>()
    };
    let labels = keys(&metadata.labels).into_iter().map(Mark::Label);
    let annotations = keys(&metadata.annotations).into_iter().map(Mark::Annotation);
    let finalizers = metadata.finalizers.iter().flatten().cloned().map(Mark::Finalizer);
    labels.chain(annotations).chain(finalizers).collect()
}

fn found<'a>(mirror: &'a Mirror, name: &str, object: &str) -> Result<&'a Found> {
    let mut all = mirror.objects(name);
    let found = all.find(|(normal, _)| normal == object).context("the object is there")?;
    Ok(found.1)
}

async fn tamper(fleet: &Disturbed<'_>, name: &str, one: &Tampering) -> Result<()> {
    let found = found(&fleet.mirror, name, &one.object)?;
    let metadata = &found.object.metadata;
    let altered = if one.removed { Value::Null } else { ALTERED.into() };
    let change = match &one.mark {
        Mark::Label(key) => json!({ "labels": { key: altered } }),
        Mark::Annotation(key) => json!({ "annotations": { key: altered } }),
        Mark::Finalizer(ours) => {
            let mut left = metadata.finalizers.clone().unwrap_or_default();
            left.retain(|finalizer| finalizer != ours);
            left.extend((!one.removed).then(|| FOREIGN.to_owned()));
            json!({ "finalizers": left })
        }
    };
    change_metadata(fleet, found, change).await
}

async fn change_metadata(fleet: &Disturbed<'_>, found: &Found, change: Value) -> Result<()> {
    let cluster = fleet.stage.clusters().find(|cluster| cluster.name() == found.cluster);
    let cluster = cluster.context("a cluster of the fleet")?;
    edit(cluster, found.kind, key_of(found)?, json!({ "metadata": change })).await?;
    Ok(())
}

fn key_of(found: &Found) -> Result<(&str, &str)> {
    let metadata = &found.object.metadata;
    Ok((name_of(metadata.namespace.as_ref())?, name_of(metadata.name.as_ref())?))
}

async fn heals(
    fleet: &mut Disturbed<'_>,
    story: &Story,
    name: &str,
    one: &Tampering,
) -> Result<()> {
    if let Tampering { object, mark: Mark::Finalizer(ours), removed: false } = one {
        clean_up(fleet, name, object, ours).await?;
    }
    // All was quiet: nothing will come of waiting long.
    story.comes_out(fleet, &[name.to_owned()], Act::Change, SOON).await
}

/// Takes away what a user has put in the place of a mark, which agents leave alone.
async fn clean_up(fleet: &Disturbed<'_>, name: &str, object: &str, ours: &str) -> Result<()> {
    let found = found(&fleet.mirror, name, object)?;
    let mut left = found.object.metadata.finalizers.clone().unwrap_or_default();
    ensure!(left.iter().any(|one| one == ours), "it did not come back beside {left:?}");
    ensure!(left.iter().any(|one| one == FOREIGN), "another's finalizer went");
    left.retain(|finalizer| finalizer != FOREIGN);
    change_metadata(fleet, found, json!({ "finalizers": left })).await
}
