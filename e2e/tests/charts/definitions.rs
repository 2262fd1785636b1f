//! The kinds of the fleet: installed and upgraded with the chart, unless others have installed them.

use anyhow::{Context, Result, ensure};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::crds;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use serde_json::json;

use crate::fleet::Fleet;
use crate::with;

const IMPORTS: &str = "multiclusterservices.networking.fleet.azure.com";
const WORKLOADS: &str = "externalworkloads.workload.linkerd.io";
/// Of a kind that the chart installs on demand.
const WORKLOAD_FILES: [&str; 1] = ["member-agent/files/external-workloads-crds"];

/// West's admin has applied the files by hand before.
pub(crate) async fn installed_by_others_are_left_alone(fleet: &Fleet) -> Result<()> {
    let by_hand = [crds::load(&crds::MEMBER)?, crds::load(&WORKLOAD_FILES)?].concat();
    crds::install(&fleet.west().client(), &by_hand).await?;
    let release = fleet.release(fleet.west(), "member-agent");
    let wanted = json!({ "crds": { "externalWorkloads": true } });
    let values = with(fleet.member_values(fleet.west())?, &wanted);
    let notes = release.install(&values, &[]).await?;
    for theirs in [IMPORTS, WORKLOADS] {
        ensure!(notes.contains(&format!("{theirs}: installed without Helm")), "{notes}");
    }
    ensure!(owner(fleet.west(), IMPORTS).await?.is_none());
    release.uninstall().await?;
    ensure!(find(fleet.west(), IMPORTS).await.is_ok(), "they are not the release's to delete");
    Ok(())
}

/// A chart of before had another text in a definition.
pub(crate) async fn are_upgraded_with_the_chart(fleet: &Fleet) -> Result<()> {
    for (cluster, name) in [(fleet.hub(), "hub-agent"), (fleet.east(), "member-agent")] {
        let release = fleet.release(cluster, name);
        let older = fleet.bare().run().folder(&format!("older-{name}"))?;
        copy(&release.chart, &older)?;
        let file = older.join("files/crds/networking.fleet.azure.com_multiclusterservices.yaml");
        let text = std::fs::read_to_string(&file)?;
        let now = find(cluster, IMPORTS).await?;
        let described = description(&now).context("a kind is described")?;
        let first = described.split_whitespace().next().context("a word")?;
        std::fs::write(&file, text.replacen(&format!("{first} "), "Of old, ", 1))?;

        let reuse = ["--reuse-values"];
        let past = fleet_testbed::helm::Release { chart: older, ..release.clone() };
        past.upgrade(&json!({}), &reuse).await?;
        let then = description(&find(cluster, IMPORTS).await?).unwrap_or_default();
        ensure!(then.starts_with("Of old,"), "{then}");
        release.upgrade(&json!({}), &reuse).await?;
        ensure!(description(&find(cluster, IMPORTS).await?) == Some(described));
    }
    Ok(())
}

/// The hub is a member, too: of the two charts there, the first to come has the definitions that both carry.
pub(crate) async fn are_shared_by_two_charts(fleet: &Fleet) -> Result<()> {
    let release = fleet.release(fleet.hub(), "member-agent");
    let values = fleet.member_values(fleet.hub())?;
    let notes = release.install(&values, &[]).await?;
    let theirs = format!("{IMPORTS}: installed by the Helm release fleet-system/hub-agent");
    ensure!(notes.contains(&theirs), "{notes}");
    let notes = release.upgrade(&values, &[]).await?;
    ensure!(notes.contains(&theirs), "{notes}");
    ensure!(owner(fleet.hub(), IMPORTS).await?.as_deref() == Some("hub-agent"));
    release.uninstall().await
}

/// West's admin leaves them to Helm.
pub(crate) async fn are_taken_over_on_demand(fleet: &Fleet) -> Result<()> {
    let release = fleet.release(fleet.west(), "member-agent");
    let reuse = "--reuse-values";
    let adopt = json!({ "crds": { "adopt": true } });
    let refused = release.upgrade(&adopt, &[reuse]).await.err().context("Helm wants to be told")?;
    ensure!(format!("{refused:#}").contains("invalid ownership metadata"), "{refused:#}");
    release.upgrade(&adopt, &[reuse, "--take-ownership"]).await?;
    ensure!(owner(fleet.west(), IMPORTS).await?.as_deref() == Some("member-agent"));
    let notes = release.upgrade(&json!({ "crds": { "adopt": false } }), &[reuse]).await?;
    ensure!(!notes.contains(IMPORTS), "they are its own now: {notes}");
    Ok(())
}

pub(crate) async fn find(cluster: &Cluster, name: &str) -> Result<CustomResourceDefinition> {
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client());
    api.get(name).await.with_context(|| format!("the definition {name} in {}", cluster.name()))
}

async fn owner(cluster: &Cluster, name: &str) -> Result<Option<String>> {
    let annotations = find(cluster, name).await?.metadata.annotations.unwrap_or_default();
    Ok(annotations.get("meta.helm.sh/release-name").cloned())
}

fn description(definition: &CustomResourceDefinition) -> Option<String> {
    let schema = definition.spec.versions[0].schema.as_ref()?.open_api_v3_schema.as_ref()?;
    schema.description.clone()
}

pub(crate) fn copy(from: &std::path::Path, to: &std::path::Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            std::fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
