//! A member is handed over to Go agents: `member-agent --prepare-rollback`.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use fleet_api::names::member_namespace;
use fleet_api::{annotations, kinds};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::objects::{api, edit, find};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::stage::{EXPORTER, IMPORTER, Stage, name_of};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    tests.alone("rollback::exported_slices_get_the_names_of_their_copies", exported_slices);
}

async fn exported_slices(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let mut crossing = stage.crossing("rollback", &[IMPORTER]).await?;
    let namespace = crossing.namespace.clone();
    let agent = Agent::Member(EXPORTER);
    agents.terminate(agent).await?;

    // The user's slice may have annotations, and keeps them.
    let slices = slices_of(stage, &namespace).await?;
    let slice = slices.keys().next().context("the Service has no slice")?;
    let note = json!({ "metadata": { "annotations": { "example.com/note": "kept" } } });
    edit(stage.exporter(), kinds::ENDPOINT_SLICE, (&namespace, slice), note).await?;

    let first = prepare(stage, agents).await?;
    ensure!(first.contains(&format!("EndpointSlice {namespace}/{slice}: annotated")), "{first}");
    ensure!(first.contains("ready for a Go agent"), "{first}");
    let found = find(stage.exporter(), kinds::ENDPOINT_SLICE, (&namespace, slice)).await?;
    let found = found.context("the slice is gone")?;
    ensure!(found.annotations().get("example.com/note").is_some(), "{found:?}");

    // What the original's collector compares: MESE-4.
    let copies = copies_of(stage, &namespace).await?;
    let slices = slices_of(stage, &namespace).await?;
    ensure!(copies.len() == slices.len(), "{copies:?} {slices:?}");
    for (copy, slice) in &copies {
        ensure!(slices.get(slice).is_some_and(|noted| noted.as_ref() == Some(copy)), "{slices:?}");
    }

    let second = prepare(stage, agents).await?;
    ensure!(!second.contains("annotated"), "again: {second}");

    // The agent that comes back goes on as if nothing had been.
    agents.restart(agent).await?;
    crossing.change(2).await?;
    crossing.arrived().await?;
    ensure!(copies_of(stage, &namespace).await? == copies, "the copies were made anew");
    crossing.withdraw().await
}

/// Runs the command as an operator would: with the rights of an admin in the member, and those of the
/// agent on the hub.
async fn prepare(stage: &Stage, agents: &Agents) -> Result<String> {
    let agent = Agent::Member(EXPORTER);
    let mut command = Command::new(agents.program(agent)?);
    command.arg("--prepare-rollback").env_clear().envs(stage.agent_env(agent));
    command.env("KUBECONFIG", stage.exporter().kubeconfig_path());
    let Output { status, stdout, stderr } = spawn_blocking(move || command.output()).await??;
    let errors = String::from_utf8_lossy(&stderr);
    ensure!(status.success(), "{status}: {errors}");
    Ok(String::from_utf8(stdout)?)
}

/// The slices of a user namespace, each with the name that it carries.
async fn slices_of(stage: &Stage, namespace: &str) -> Result<BTreeMap<String, Option<String>>> {
    let slices = api(stage.exporter().client(), kinds::ENDPOINT_SLICE, Some(namespace));
    let slices = slices.list(&ListParams::default()).await?;
    let noted = |slice: &kube::api::DynamicObject| {
        let noted = slice.annotations().get(annotations::FLEET_UNIQUE_NAME).cloned();
        (slice.name_any(), noted)
    };
    Ok(slices.iter().map(noted).collect())
}

/// The copies of a user namespace's slices on the hub, and which slice each is of.
async fn copies_of(stage: &Stage, namespace: &str) -> Result<BTreeMap<String, String>> {
    let hub_namespace = member_namespace(stage.exporter().name());
    let all = api(stage.hub().client(), kinds::ENDPOINT_SLICE_EXPORT, Some(&hub_namespace));
    let mut copies = BTreeMap::new();
    for copy in all.list(&ListParams::default()).await? {
        let reference = &copy.data["spec"]["endpointSliceReference"];
        if reference["namespace"] == namespace {
            let slice = reference["name"].as_str().context("a reference without name")?;
            copies.insert(name_of(copy.metadata.name.as_ref())?.to_owned(), slice.to_owned());
        }
    }
    Ok(copies)
}
