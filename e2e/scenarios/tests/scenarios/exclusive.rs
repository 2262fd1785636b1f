//! With `--exclusive-imports` one member at a time imports a Service, as with the original's hub agent.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use fleet_api::{ServiceInUseBy, annotations, kinds};
use fleet_oracle::history::EXCLUSIVE;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::exchange::{import, unimport, wait_gone, wait_imported};
use fleet_testbed::observer::{Observer, What};
use kube::api::DynamicObject;

use crate::stage::{DEADLINE, IMPORTER, SECOND_IMPORTER, Stage, becomes, condition};
use crate::tests::Tests;

const FLAG: &str = "--exclusive-imports";

pub(crate) fn add(tests: &mut Tests) {
    tests.alone("exclusive::the_flag_and_a_hand_over", the_flag_and_a_hand_over);
}

fn holders(import: &DynamicObject) -> Vec<String> {
    let annotations = import.metadata.annotations.clone().unwrap_or_default();
    let text = annotations.get(annotations::SERVICE_IN_USE_BY).map(String::as_str);
    let read = ServiceInUseBy::parse(text).unwrap_or_default();
    read.member_clusters.into_values().collect()
}

/// Waits until this member alone holds the import.
async fn held_by(stage: &Stage, key: (&str, &str), member: &str) -> Result<()> {
    let alone = |import: &DynamicObject| holders(import) == [member];
    let what = format!("is held by {member}");
    becomes(stage.hub(), kinds::SERVICE_IMPORT, key, &what, alone).await?;
    Ok(())
}

/// Two import; switched on, the flag leaves it to the first. When that one leaves, the second takes over, and keeps it
/// when the first comes again and over a restart. Switched off, both import.
async fn the_flag_and_a_hand_over(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let mut crossing = stage.crossing("exclusive", &[IMPORTER]).await?;
    let (namespace, name) = (crossing.namespace.clone(), crossing.name.clone());
    let key = (namespace.as_str(), name.as_str());
    let (first, second) = (stage.importer(), stage.member(SECOND_IMPORTER));
    import(second, &namespace, &name, &name).await?;
    wait_imported(second, &namespace, &name, &crossing.addresses, DEADLINE).await?;

    agents.restart_with(Agent::Hub, &[FLAG]).await?;
    wait_imported(second, &namespace, &name, &BTreeSet::new(), DEADLINE).await?;
    let mcs = kinds::MULTI_CLUSTER_SERVICE;
    condition(second, mcs, key, ("Valid", "Unknown")).await?;
    held_by(stage, key, first.name()).await?;
    crossing.arrived().await?;
    // From here on the oracle, too, allows one at a time.
    stage.mark(EXCLUSIVE[0]);

    let watched = [kinds::SERVICE_IMPORT, kinds::INTERNAL_SERVICE_IMPORT];
    let mut observer = Observer::start_for(watched.map(|kind| (stage.hub(), kind))).await?;
    unimport(first, &namespace, &name).await?;
    wait_imported(second, &namespace, &name, &crossing.addresses, DEADLINE).await?;
    condition(second, mcs, key, ("Valid", "True")).await?;
    never_two(&mut observer, &namespace)?;

    // The claim goes before what it was for.
    wait_gone(first, mcs, &namespace, &name, DEADLINE).await?;
    import(first, &namespace, &name, &name).await?;
    condition(first, mcs, key, ("Valid", "Unknown")).await?;
    agents.restart_with(Agent::Hub, &[FLAG]).await?;
    crossing.change(1).await?;
    wait_imported(second, &namespace, &name, &crossing.addresses, DEADLINE).await?;
    held_by(stage, key, second.name()).await?;

    stage.mark(EXCLUSIVE[1]);
    agents.restart(Agent::Hub).await?;
    crossing.arrived().await?;
    unimport(second, &namespace, &name).await?;
    crossing.withdraw().await
}

/// At no moment did the claim list two members, or were two requests granted.
fn never_two(observer: &mut Observer, namespace: &str) -> Result<()> {
    let mut granted = BTreeMap::new();
    for seen in observer.take() {
        let object = &seen.object;
        if seen.kind == kinds::SERVICE_IMPORT {
            let ours = object.metadata.namespace.as_deref() == Some(namespace);
            ensure!(!ours || holders(object).len() <= 1, "{seen}: {:?}", holders(object));
            continue;
        }
        if object.data["spec"]["serviceImportReference"]["namespace"] == namespace {
            let here = seen.what != What::Gone && object.data["status"]["clusters"].is_array();
            granted.insert(seen.name(), here);
            let count = granted.values().filter(|granted| **granted).count();
            ensure!(count <= 1, "{seen}: {granted:?}");
        }
    }
    Ok(())
}
