//! The images that `make image` made: what is in them, and both agents at work from their unpacked layers, with nothing
//! of this machine around them.
//!
//! Reports that it was skipped where there are no images, unless `FLEET_IMAGES` names their folder. `FLEET_IMAGE_ARCHITECTURE`
//! names another architecture than this machine's: its programs run in the emulator of Debian's package qemu-user-static.

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
use fleet_image::oci::{CERTIFICATES, USER};
use fleet_testbed::agents::{AgentOptions, Agents};
use fleet_testbed::exchange::{export, import, wait_imported};
use fleet_testbed::workload::{ServiceSpec, Workload};
use fleet_testbed::{Options, Testbed};
use serde_json::Value;

const DEADLINE: Duration = Duration::from_mins(2);
/// With the most bytes that each may have. The CLI holds the decisions of both agents, with which it tries what an action would do.
const PROGRAMS: [(&str, u64); 3] =
    [("fleetctl", 40_000_000), ("hub-agent", 25_000_000), ("member-agent", 25_000_000)];

#[tokio::test(flavor = "multi_thread")]
async fn both_agents_work_from_the_unpacked_layer() {
    let Some(images) = images() else { return };
    let architecture = Architecture::chosen();
    let testbed = Testbed::start(Options::members(1)).await.unwrap();
    let result = story(&testbed, &images, &architecture).await;
    testbed.explain(result).await.unwrap();
}

/// The architecture of the programs.
struct Architecture {
    /// Its name in images.
    name: String,
    /// What runs its programs on this machine, if that is of another.
    emulator: Option<PathBuf>,
}

impl Architecture {
    fn chosen() -> Self {
        let own = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        let name = std::env::var("FLEET_IMAGE_ARCHITECTURE").unwrap_or_else(|_| own.to_owned());
        let qemu = if name == "arm64" { "qemu-aarch64-static" } else { "qemu-x86_64-static" };
        let emulator = (name != own).then(|| Path::new("/usr/bin").join(qemu));
        Self { name, emulator }
    }
}

/// Where the images are, if there are any.
fn images() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("FLEET_IMAGES") {
        return Some(named.into());
    }
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/image");
    if !made.is_dir() {
        eprintln!("SKIPPED: there are no images; `make image` makes them");
        return None;
    }
    Some(made)
}

async fn story(testbed: &Testbed, images: &Path, architecture: &Architecture) -> Result<()> {
    let roots = testbed.run_path().join("images");
    let programs = testbed.run_path().join("programs");
    fs::create_dir_all(&programs)?;
    for (program, limit) in PROGRAMS {
        let root = roots.join(program);
        unpack(&images.join(format!("{program}.tar")), &root, program, architecture)?;
        is_bare(&root, program, limit)?;
        enclose(&programs.join(program), &root, program, architecture)?;
    }
    testbed.user_namespace("team").await?;
    for agent in testbed.agents() {
        hand_over(&roots.join(agent.program()), &testbed.agent_env(agent))?;
    }
    let options = AgentOptions { programs: Some(programs.clone()), ..AgentOptions::default() };
    let agents = Agents::start(testbed, &options).await?;
    for agent in testbed.agents() {
        let pid = agents.pid(agent).context("it runs")?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        ensure!(!is_root()? || status.contains("Uid:\t65532\t65532"), "{status}");
        let inside = fs::read_link(format!("/proc/{pid}/root"))?;
        let root = fs::canonicalize(roots.join(agent.program()))?;
        ensure!(inside == root, "{agent:?} runs in {}", inside.display());
    }
    let help = Command::new(programs.join("fleetctl")).arg("--help").output()?;
    ensure!(help.status.success(), "{help:?}");
    // One cluster is enough: a member may import what it exports.
    let member = testbed.member(0);
    let web = Workload::deploy(member, ServiceSpec::http("team", "web"), 2).await?;
    export(member, "team", "web").await?;
    import(member, "team", "web", "web").await?;
    wait_imported(member, "team", "web", &web.addresses(), DEADLINE).await
}

/// Unpacks the layer for an architecture.
fn unpack(image: &Path, root: &Path, program: &str, architecture: &Architecture) -> Result<()> {
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
    let manifests = index["manifests"].as_array().context("manifests")?;
    let ours = manifests.iter().find(|one| one["platform"]["architecture"] == architecture.name);
    let manifest: Value =
        serde_json::from_slice(blob(ours.context("none for the architecture")?)?)?;
    let config: Value = serde_json::from_slice(blob(&manifest["config"])?)?;
    ensure!(config["config"]["User"] == USER, "{config}");
    ensure!(config["config"]["Entrypoint"][0] == format!("/{program}"), "{config}");
    let layer = GzDecoder::new(&blob(&manifest["layers"][0])?[..]);
    tar::Archive::new(layer).unpack(root)?;
    Ok(())
}

/// The program, of at most `limit` bytes, and the certificates; no shell, no library.
fn is_bare(root: &Path, program: &str, limit: u64) -> Result<()> {
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
            ensure!(size <= limit, "{path} has {size} bytes");
            found.insert(path);
        }
    }
    let certificates = CERTIFICATES.trim_start_matches('/');
    let expected = [program, certificates].into_iter().map(str::to_owned).collect();
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

/// Makes a program that starts the image's, as its user, with `root` as its file system; in the emulator, which then is in it,
/// too, if there is one.
fn enclose(path: &Path, root: &Path, program: &str, architecture: &Architecture) -> Result<()> {
    let enter = enter()?;
    let mut emulator = "";
    if let Some(from) = &architecture.emulator {
        emulator = "/emulator ";
        fs::copy(from, root.join("emulator"))
            .with_context(|| format!("{}: apt-get install qemu-user-static", from.display()))?;
    }
    let start = format!("exec {enter} {} {emulator}/{program} \"$@\"", root.display());
    fs::write(path, format!("#!/bin/sh\n{start}\n"))?;
    fs::set_permissions(path, Permissions::from_mode(0o755))?;
    Ok(())
}

/// How the file system is changed: who is not root does so in a user namespace of his own.
fn enter() -> Result<String> {
    if is_root()? {
        return Ok(format!("chroot --userspec={USER}"));
    }
    let tried = Command::new("unshare").args(["-r", "true"]).output().context("unshare")?;
    ensure!(
        tried.status.success(),
        "images are started by root, or in user namespaces, which this machine refuses ({}); on Ubuntu: \
         sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        String::from_utf8_lossy(&tried.stderr).trim_end()
    );
    Ok("unshare -r chroot".to_owned())
}

fn is_root() -> Result<bool> {
    let id = Command::new("id").arg("-u").output().context("id")?;
    Ok(id.stdout == b"0\n")
}
