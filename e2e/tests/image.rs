//! The image that `make image` made: what is in it, and both agents at work from its unpacked layer, with nothing of this
//! machine around them.
//!
//! Says that it was skipped where there is no image, unless `FLEET_IMAGE` names one.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use fleet_e2e::exchange::{export, import, wait_imported};
use fleet_e2e::testbed::agents::{Agent, AgentOptions, Agents};
use fleet_e2e::testbed::{Options, Testbed};
use fleet_e2e::workload::{ServiceSpec, Workload};
use fleet_image::oci::{CERTIFICATES, USER};
use serde_json::Value;

const DEADLINE: Duration = Duration::from_mins(1);
const PROGRAMS: [&str; 3] = ["fleetctl", "hub-agent", "member-agent"];
/// Largest program, in bytes.
const LIMIT: u64 = 25_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn both_agents_work_from_the_unpacked_layer() {
    let Some(image) = image() else { return };
    let testbed = Testbed::start(Options::members(1)).await.unwrap();
    let root = testbed.run_path().join("image");
    let result = story(&testbed, &image, &root).await;
    testbed.explain(result).await.unwrap();
}

/// Where the image is, if there is one.
fn image() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("FLEET_IMAGE") {
        return Some(named.into());
    }
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/image/image.tar");
    if !made.is_file() {
        eprintln!("SKIPPED: there is no image; `make image` makes it");
        return None;
    }
    Some(made)
}

async fn story(testbed: &Testbed, image: &Path, root: &Path) -> Result<()> {
    unpack(image, root)?;
    is_bare(root)?;
    testbed.user_namespace("team").await?;
    for agent in testbed.agents() {
        hand_over(root, &testbed.agent_env(agent))?;
    }
    let programs = Some(enclose(root)?);
    let options = AgentOptions { programs, ..AgentOptions::default() };
    let agents = Agents::start(testbed, &options).await?;
    for agent in [Agent::Hub, Agent::Member(0)] {
        let pid = agents.pid(agent).context("it runs")?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        ensure!(status.contains("Uid:\t65532\t65532"), "{status}");
        let inside = fs::read_link(format!("/proc/{pid}/root"))?;
        ensure!(inside == fs::canonicalize(root)?, "{agent:?} runs in {}", inside.display());
    }
    // One cluster is enough: a member may import what it exports.
    let member = testbed.member(0);
    let web = Workload::deploy(member, ServiceSpec::http("team", "web"), 2).await?;
    export(member, "team", "web").await?;
    import(member, "team", "web", "web").await?;
    wait_imported(member, "team", "web", &web.addresses(), DEADLINE).await
}

/// Unpacks the layer for this machine's architecture; all digests of the way there are checked by the library's own tests.
fn unpack(image: &Path, root: &Path) -> Result<()> {
    let archive = fs::read(image).with_context(|| format!("reading {}", image.display()))?;
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(&archive[..]).entries()? {
        let mut entry = entry?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        files.insert(entry.path()?.display().to_string(), bytes);
    }
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().context("a digest")?.replace(':', "/");
        files.get(&format!("blobs/{digest}")).with_context(|| format!("no blob {digest}"))
    };
    let top: Value = serde_json::from_slice(&files["index.json"])?;
    let index: Value = serde_json::from_slice(blob(&top["manifests"][0])?)?;
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let manifests = index["manifests"].as_array().context("manifests")?;
    let ours = manifests.iter().find(|one| one["platform"]["architecture"] == architecture);
    let manifest: Value = serde_json::from_slice(blob(ours.context("none for this machine")?)?)?;
    let config: Value = serde_json::from_slice(blob(&manifest["config"])?)?;
    ensure!(config["config"]["User"] == USER, "{config}");
    let layer = GzDecoder::new(&blob(&manifest["layers"][0])?[..]);
    tar::Archive::new(layer).unpack(root)?;
    Ok(())
}

/// The programs and the certificates; no shell, no library.
fn is_bare(root: &Path) -> Result<()> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
                continue;
            }
            let path = entry.path().strip_prefix(root)?.display().to_string();
            let size = entry.metadata()?.len();
            ensure!(size <= LIMIT, "{path} has {size} bytes");
            found.insert(path);
        }
    }
    let certificates = CERTIFICATES.trim_start_matches('/');
    let expected = PROGRAMS.into_iter().chain([certificates]).map(str::to_owned).collect();
    ensure!(found == expected, "{found:?}");
    Ok(())
}

/// Puts the files that an agent's variables name to the same places under `root`, for the image's user.
fn hand_over(root: &Path, environment: &[(String, String)]) -> Result<()> {
    for (_, value) in environment {
        let file = Path::new(value);
        if file.is_absolute() && file.is_file() {
            let inside = root.join(file.strip_prefix("/")?);
            fs::create_dir_all(inside.parent().context("a folder")?)?;
            fs::copy(file, &inside)?;
            fs::set_permissions(&inside, Permissions::from_mode(0o644))?;
        }
    }
    Ok(())
}

/// A folder with programs that start those of the image, as its user, with `root` as their file system.
fn enclose(root: &Path) -> Result<PathBuf> {
    let folder = root.with_extension("programs");
    fs::create_dir_all(&folder)?;
    // Who is not root becomes it in a user namespace of his own, where there is no other user to change to.
    let root = root.display();
    let enter = if is_root()? {
        format!("chroot --userspec={USER} {root}")
    } else {
        let id = USER.split(':').next().unwrap_or_default();
        format!("unshare --user --map-user={id} --map-group={id} --root={root}")
    };
    for program in PROGRAMS {
        let path = folder.join(program);
        fs::write(&path, format!("#!/bin/sh\nexec {enter} /{program} \"$@\"\n"))?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    }
    Ok(folder)
}

fn is_root() -> Result<bool> {
    let id = Command::new("id").arg("-u").output().context("id")?;
    Ok(id.stdout == b"0\n")
}
