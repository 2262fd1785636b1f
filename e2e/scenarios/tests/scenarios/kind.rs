//! What `e2e/kind` does for users with docker: the charts installed by its scripts, and then these scenarios on
//! clusters known by their kubeconfigs alone, with agents that get what the charts give to their Pods.
//!
//! The clusters are a testbed's here; stand-ins for docker and kind hand them out. Pods of users do not run in them, so
//! what shows traffic between Pods is left out.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use fleet_testbed::apply::apply;
use fleet_testbed::binaries;
use fleet_testbed::fleet::HUB_KUBECONFIG;
use fleet_testbed::helm::Helm;
use fleet_testbed::kubelet::Kubelet;

use fleet_testbed::go_module::KUBECTL;
use fleet_testbed::{Bare, Options};
use futures::future::select_all;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::json;
use tokio::process::Command;
use tokio::runtime::Runtime;

use crate::tests::select;

/// What up.sh calls the clusters, but for the beginning.
const CLUSTERS: [&str; 4] = ["hub", "member-1", "member-2", "member-3"];
/// Crossing, change, withdrawal, conflict: a few that make much of the way.
const SCENARIOS: [&str; 5] = [
    "exchange::a_service_with_pods_crosses",
    "changes::slices_come_and_go",
    "withdrawal::an_export_goes_and_comes",
    "withdrawal::several_importers_are_served",
    "conflict::the_loser_is_told_and_takes_over",
];

/// Runs what the arguments ask for, when everything else has ended: its clusters are further ones.
pub(crate) fn run(mut arguments: Arguments) -> ExitCode {
    if std::env::var_os(HUB_KUBECONFIG).is_some() {
        return ExitCode::SUCCESS; // That is what it would do.
    }
    let trial = Trial::test("kind::the_scripts_install_and_test_a_fleet", || {
        let runtime = Runtime::new().map_err(|error| Failed::from(error.to_string()))?;
        runtime.block_on(story()).map_err(|error| Failed::from(format!("{error:#}")))
    });
    let trials = select(vec![trial], &mut arguments);
    libtest_mimic::run(&arguments, trials).exit_code()
}

async fn story() -> Result<()> {
    let machine = Machine::start().await?;
    let result = machine.scripts().await;
    result.with_context(|| format!("logs are in {}", machine.bare.run().keep_logs().display()))
}

/// A user's machine, with clusters instead of docker.
struct Machine {
    bare: Bare,
    /// What the stand-ins know.
    folder: PathBuf,
}

impl Machine {
    async fn start() -> Result<Self> {
        let helm = Helm::v4().await?;
        let kubectl = tokio::task::spawn_blocking(|| binaries::own(&KUBECTL)).await??;
        let bare = Bare::start(&CLUSTERS, &Options::default().with_deployments()).await?;
        let folder = bare.run().folder("kind")?;
        for (number, cluster) in bare.clusters().iter().enumerate() {
            let name = cluster.name();
            symlink(cluster.kubeconfig_path(), folder.join(format!("{name}.kubeconfig")))?;
            let node = json!({
                "apiVersion": "v1", "kind": "Node", "spec": { "podCIDR": pods_of(number) },
                "metadata": { "name": format!("fleet-{name}-control-plane") },
            });
            apply(&cluster.client(), node).await?;
        }
        let programs = folder.join("bin");
        std::fs::create_dir(&programs)?;
        symlink(helm.program(), programs.join("helm"))?;
        symlink(kubectl, programs.join("kubectl"))?;
        for name in ["kind", "docker", "cargo"] {
            symlink(scripts().join("stand-in").join(name), programs.join(name))?;
        }
        // They are not read here.
        for agent in ["hub-agent", "member-agent"] {
            std::fs::write(folder.join(format!("{agent}.tar")), "")?;
        }
        Ok(Self { bare, folder })
    }

    async fn scripts(&self) -> Result<()> {
        self.play("up.sh", &[]).await?;
        let calls = self.calls()?;
        ensure!(calls.matches("kind load image-archive").count() == CLUSTERS.len(), "{calls}");
        let route = |from: usize, to: usize| {
            let (from, to, range) = (CLUSTERS[from], CLUSTERS[to], pods_of(to));
            format!("fleet-{from}-control-plane ip route replace {range} via address-of-{to}\n")
        };
        for (from, to) in [(1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2)] {
            ensure!(calls.contains(&route(from, to)), "{calls}");
        }

        let said = self.play("scenarios.sh", &[&SCENARIOS.join(",")]).await?;
        let all = format!("test result: ok. {} passed", SCENARIOS.len());
        ensure!(said.contains(&all), "{said}");
        let calls = self.calls()?;
        ensure!(calls.contains("cargo test --workspace --locked --test scenarios -- "), "{calls}");

        self.play("down.sh", &[]).await?;
        let calls = self.calls()?;
        for cluster in CLUSTERS {
            let deleted = format!("kind delete cluster --name fleet-{cluster}\n");
            ensure!(calls.contains(&deleted), "{calls}");
        }
        ensure!(!self.state().exists(), "the kubeconfigs are left");
        Ok(())
    }

    fn calls(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.folder.join("calls"))?)
    }

    fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// Runs a script, while kubelets look after the agents' Pods; returns its output.
    async fn play(&self, script: &str, arguments: &[&str]) -> Result<String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.folder.join("bin")).chain(std::env::split_paths(&path));
        let output = Command::new(scripts().join(script))
            .args(arguments)
            .env("PATH", std::env::join_paths(folders)?)
            .env("HOME", &self.folder)
            .env("FLEET_STAND_IN", &self.folder)
            .env("FLEET_IMAGES", &self.folder)
            .env("FLEET_KIND_STATE", self.state())
            .env("FLEET_SCENARIOS", std::env::current_exe()?)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let kubelet = |cluster| Box::pin(Kubelet::of_agents(cluster, self.bare.run()).run());
        let kubelets = select_all(self.bare.clusters().iter().map(kubelet));
        let output = tokio::select! {
            output = output => output.with_context(|| format!("run {script}"))?,
            (never, ..) = kubelets => match never {},
        };
        let said =
            [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        let said = said.join("\n");
        ensure!(output.status.success(), "{script}: {}:\n{said}", output.status);
        Ok(said)
    }
}

/// The range of a cluster's Pods.
fn pods_of(number: usize) -> String {
    format!("10.{}.0.0/24", 20 + number)
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kind")
}
