//! Installing the fleet's CRDs from the charts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use futures::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};

use crate::wait::{TAKEN_UP, wait_until};

/// The folders, relative to `charts/`, whose CRDs a hub needs.
pub const HUB: [&str; 2] = ["hub-agent/files/crds", "hub-agent/files/membership-crds"];
/// The folder, relative to `charts/`, whose CRDs a hub needs beside these to serve the API of multicluster.x-k8s.io.
pub const MULTICLUSTER: [&str; 1] = ["hub-agent/files/multicluster-crds"];
/// Those of offloading on a hub.
pub const OFFLOAD: [&str; 1] = ["hub-agent/files/offload-crds"];
/// Those of traffic on a hub.
pub const TRAFFIC: [&str; 1] = ["hub-agent/files/traffic-crds"];
/// Those of traffic in a member.
pub const MEMBER_TRAFFIC: [&str; 1] = ["member-agent/files/traffic-crds"];
/// That of reports of what members reach on a hub.
pub const REACHABILITY: [&str; 1] = ["hub-agent/files/reachability-crds"];
/// The folders, relative to `charts/`, of the APIs of SIG Multicluster, which a member serves that takes part.
pub const STANDARD: [&str; 2] =
    ["member-agent/files/multicluster-crds", "member-agent/files/about-crds"];
/// The folders, relative to `charts/`, whose CRDs a member needs.
pub const MEMBER: [&str; 1] = ["member-agent/files/crds"];

/// Folder of the charts: those of this checkout; `FLEET_CHARTS` names others.
pub fn charts() -> PathBuf {
    std::env::var_os("FLEET_CHARTS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts"), PathBuf::from)
}

/// Reads every CRD of the given folders of the charts.
pub fn load(folders: &[&str]) -> Result<Vec<CustomResourceDefinition>> {
    let mut definitions = Vec::new();
    for folder in folders {
        let folder = charts().join(folder);
        let count = definitions.len();
        read_folder(&folder, &mut definitions)?;
        if definitions.len() == count {
            bail!("there is no CRD in {}; `make crds` writes them", folder.display());
        }
    }
    Ok(definitions)
}

fn read_folder(folder: &Path, definitions: &mut Vec<CustomResourceDefinition>) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            read_folder(&path, definitions)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = std::fs::read_to_string(&path)?;
            if text.contains("kind: CustomResourceDefinition") {
                let definition = serde_saphyr::from_str(&text)
                    .with_context(|| format!("{} is not a CRD", path.display()))?;
                definitions.push(definition);
            }
        }
    }
    Ok(())
}

/// Installs the CRDs and waits until each is served.
pub async fn install(client: &Client, definitions: &[CustomResourceDefinition]) -> Result<()> {
    try_join_all(definitions.iter().map(|definition| install_one(client, definition))).await?;
    Ok(())
}

async fn install_one(client: &Client, definition: &CustomResourceDefinition) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = definition.metadata.name.as_deref().context("a CRD without a name")?;
    let params = PatchParams::apply("fleet-testbed").force();
    api.patch(name, &params, &Patch::Apply(definition))
        .await
        .with_context(|| format!("install the CRD {name}"))?;
    wait_until(&format!("CRD {name} established"), TAKEN_UP, async || {
        let status = api.get(name).await?.status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        Ok(conditions
            .iter()
            .any(|condition| condition.type_ == "Established" && condition.status == "True"))
    })
    .await
}
