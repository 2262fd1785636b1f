//! The desk of an administrator of several fleets: the programs that are used there, and a kubeconfig in which this fleet has other names
//! than the usual ones, which lead to another fleet. The kubeconfig of the shell has that other fleet alone.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_testbed::agents::find_program;
use fleet_testbed::binaries;
use fleet_testbed::cluster::merged_kubeconfig;
use fleet_testbed::crds;
use fleet_testbed::go_module::KUBECTL;
use kube::config::Kubeconfig;
use serde_json::Value;
use tokio::process::Command;

use crate::fleet::Fleet;

/// Begins the contexts of the fleet.
const OURS: &str = "prod-";
/// Where the fleet is, as a user names it.
pub(crate) const FLEET: &str = "--kubeconfig ../desk-programs/fleets --hub-context prod-hub --member east=prod-east --member west=prod-west";
/// Another fleet, which has the contexts that `fleetctl` takes by itself. A command that does not name its cluster fails there.
const STAGING: &str = r#"{
    "apiVersion": "v1", "kind": "Config", "current-context": "hub",
    "clusters": [{ "name": "staging", "cluster": { "server": "https://127.0.0.1:9" } }],
    "users": [{ "name": "staging", "user": { "token": "none" } }],
    "contexts": [
        { "name": "hub", "context": { "cluster": "staging", "user": "staging" } },
        { "name": "east", "context": { "cluster": "staging", "user": "staging" } },
        { "name": "west", "context": { "cluster": "staging", "user": "staging" } }
    ]
}"#;

/// For all commands of a script together: several upgrades by Helm, each of which waits for its agents.
const PLAN_DEADLINE: Duration = Duration::from_mins(6);

/// Where an administrator sits: a checkout, and the programs that scripts name.
pub(crate) struct Desk {
    pub(crate) folder: PathBuf,
    programs: PathBuf,
}

impl Desk {
    pub(crate) async fn new(fleet: &Fleet) -> Result<Self> {
        let run = fleet.bare().run();
        let (folder, programs) = (run.folder("desk")?, run.folder("desk-programs")?);
        let kubectl = tokio::task::spawn_blocking(|| binaries::own(&KUBECTL)).await??;
        symlink(kubectl, programs.join("kubectl"))?;
        symlink(find_program("fleetctl")?, programs.join("fleetctl"))?;
        let [east, others] = fleet.helms().map(|helm| helm.program().display().to_string());
        let helm = format!(
            "#!/bin/sh\ncase \" $* \" in *' --kube-context {OURS}east '*) exec '{east}' \"$@\";; *) exec '{others}' \"$@\";; esac\n"
        );
        std::fs::write(programs.join("helm"), helm)?;
        std::fs::set_permissions(programs.join("helm"), Permissions::from_mode(0o755))?;
        symlink(crds::charts(), folder.join("charts"))?;
        let contexts =
            fleet.bare().clusters().iter().map(|it| (it, format!("{OURS}{}", it.name())));
        let contexts: Vec<_> = contexts.collect();
        let clusters: Vec<_> = contexts.iter().map(|(it, name)| (*it, name.as_str())).collect();
        let fleets = Kubeconfig::from_yaml(STAGING)?.merge(merged_kubeconfig(&clusters)?)?;
        std::fs::write(programs.join("fleets"), serde_saphyr::to_string(&fleets)?)?;
        std::fs::write(programs.join("staging"), STAGING)?;
        Ok(Self { folder, programs })
    }

    /// What the doctor finds.
    pub(crate) async fn examine(&self) -> Result<Value> {
        let said = self.run(&format!("fleetctl doctor {FLEET} -o json || [ $? = 1 ]")).await?;
        serde_json::from_str(&said).with_context(|| said)
    }

    /// Runs commands of which none may fail; what they print.
    pub(crate) async fn run(&self, commands: &str) -> Result<String> {
        let path = std::env::var_os("PATH").context("PATH")?;
        let path = std::env::split_paths(&path);
        let path = std::env::join_paths(std::iter::once(self.programs.clone()).chain(path))?;
        let home: &Path = &self.folder;
        let ran = Command::new("sh")
            .args(["-euc", commands])
            .current_dir(home)
            .env_clear()
            .env("PATH", path)
            .env("HOME", home)
            .env("KUBECONFIG", self.programs.join("staging"))
            .kill_on_drop(true)
            .output();
        let ran = tokio::time::timeout(PLAN_DEADLINE, ran).await.context("it does not end")??;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let (said, error) = (text(&ran.stdout), text(&ran.stderr));
        ensure!(ran.status.success(), "{commands}\n{said}{error}");
        Ok(said)
    }
}
