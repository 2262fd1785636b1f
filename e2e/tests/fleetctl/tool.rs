//! The program as a user starts it, with a kubeconfig of all clusters.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use anyhow::{Context, Result, ensure};
use fleet_api::ResourceKind;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_testbed::Testbed;
use fleet_testbed::binaries;
use fleet_testbed::cluster::{Cluster, merged_kubeconfig};
use fleet_testbed::go_module::KUBECTL;
use fleet_testbed::wait::wait_for;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};

use super::{DEADLINE, SERVICE};

/// The Lease that member agents hold.
pub(crate) const LEASE: &str = "member-agent.networking.fleet.azure.com";
/// Deployments.
pub(crate) const DEPLOYMENT: ResourceKind = ResourceKind {
    group: "apps",
    version: "v1",
    kind: "Deployment",
    plural: "deployments",
    namespaced: true,
};

/// That Lease, renewed now.
pub(crate) fn lease(holder: &str, now: Timestamp) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": LEASE, "namespace": SYSTEM_NAMESPACE },
        "spec": { "holderIdentity": holder, "leaseDurationSeconds": 3600,
            "renewTime": MicroTime(now) },
    })
}

/// The Deployment of a chart, of a release with another name.
pub(crate) fn deployment() -> Value {
    let labels = json!({
        "app.kubernetes.io/name": "member-agent",
        "app.kubernetes.io/instance": "my-agent",
        "app.kubernetes.io/part-of": "fleet-networking",
    });
    labelled("agent", &labels)
}

/// The one of `KubeFleet`'s chart for members, which has the name and most labels of ours, and comes first in lists.
pub(crate) fn of_kubefleet() -> Value {
    let labels = json!({
        "app.kubernetes.io/name": "member-agent", "app.kubernetes.io/instance": "a-member-agent",
    });
    labelled("a-member-agent", &labels)
}

fn labelled(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "namespace": SYSTEM_NAMESPACE, "labels": labels },
        "spec": { "replicas": 1, "selector": { "matchLabels": labels }, "template": {
            "metadata": { "labels": labels },
            "spec": { "containers": [{ "name": "agent", "image": "agent" }] } } },
    })
}

/// `fleetctl`, and how it reaches the clusters.
pub(crate) struct Tool {
    program: PathBuf,
    folder: PathBuf,
}

/// What it printed.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Tool {
    /// The program lies beside the agents'. The second cluster is called `west`.
    pub(crate) fn new(testbed: &Testbed, agent: &Path) -> Result<Self> {
        let names =
            [(testbed.hub(), "hub"), (testbed.member(0), "member-1"), (testbed.member(1), "west")];
        Self::of(testbed, agent, &names)
    }

    /// The same with these clusters, the first of which is the hub.
    pub(crate) fn of(testbed: &Testbed, agent: &Path, names: &[(&Cluster, &str)]) -> Result<Self> {
        let program = agent.with_file_name("fleetctl");
        ensure!(
            program.is_file(),
            "{} is missing; `cargo build --bins` makes it",
            program.display()
        );
        let folder = testbed.run_path().join("fleetctl");
        std::fs::create_dir_all(&folder)?;
        let mut all = merged_kubeconfig(names)?;
        all.current_context = names.last().map(|(_, name)| (*name).to_owned());
        std::fs::write(folder.join("kubeconfig"), serde_saphyr::to_string(&all)?)?;
        Ok(Self { program, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let kubeconfig = self.folder.join("kubeconfig");
        command.args(arguments).env_clear().env("KUBECONFIG", kubeconfig).kill_on_drop(true);
        command
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<Said> {
        let output = tokio::time::timeout(DEADLINE, self.command(arguments).output()).await;
        Ok(Said::of(&output.with_context(|| format!("{arguments:?} does not end"))??))
    }

    /// Runs the command that the doctor prints for what this check has found in the first member, as the user of a shell would.
    pub(crate) async fn mend(&self, check: &str) -> Result<()> {
        let found = self.run(&["doctor", "--member", "member-1", "-o", "json"]).await?.json()?;
        let mut lines = found["results"].as_array().into_iter().flatten();
        let command = lines.find(|it| it["check"] == check).and_then(|it| it["command"].as_str());
        let command = command.with_context(|| format!("no command mends {check}: {found:#}"))?;
        let kubectl = tokio::task::spawn_blocking(|| binaries::own(&KUBECTL)).await??;
        let folders = [&self.program, &kubectl].into_iter().filter_map(|program| program.parent());
        let path = std::env::var_os("PATH").context("PATH")?;
        let folders = folders.map(Path::to_owned).chain(std::env::split_paths(&path));
        let mut shell = Command::new("sh");
        shell.args(["-euc", command]).env("PATH", std::env::join_paths(folders)?);
        shell.env("KUBECONFIG", self.folder.join("kubeconfig")).current_dir(&self.folder);
        let ran = tokio::time::timeout(DEADLINE, shell.kill_on_drop(true).output()).await;
        let ran = ran.with_context(|| format!("{command} does not end"))??;
        Said::of(&ran).succeeds().with_context(|| command.to_owned())?;
        Ok(())
    }

    /// Starts it and leaves it running.
    pub(crate) fn start(&self, arguments: &[&str]) -> Result<Running> {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let errors = BufReader::new(child.stderr.take().context("piped")?);
        Ok(Running { child, errors, err: String::new() })
    }

    pub(crate) async fn explain(&self) -> Result<Said> {
        self.run(&["explain", "service", SERVICE]).await
    }

    /// Waits until it is printed that the Service crosses.
    pub(crate) async fn crosses(&self) -> Result<()> {
        wait_for("the Service crosses", DEADLINE, async || {
            let said = self.explain().await?;
            said.exits(0).map(Some)
        })
        .await?;
        Ok(())
    }

    /// Waits until it is printed that the Service stops for this cause first, in these words.
    pub(crate) async fn stops(&self, cause: &str, words: &str) -> Result<()> {
        wait_for(&format!("it stops for {cause}"), DEADLINE, async || {
            let said = self.run(&["explain", "service", SERVICE, "-o", "json"]).await?;
            let story = said.exits(1)?.json()?;
            let mut hops = story["hops"].as_array().into_iter().flatten();
            let first = hops.find_map(|hop| hop["cause"].as_str());
            let verdict = story["verdict"].as_str().unwrap_or_default();
            ensure!(first == Some(cause) && verdict.contains(words), "{story:#}");
            ensure!(story["advice"].is_string(), "{story:#}");
            Ok(Some(()))
        })
        .await
    }
}

impl Said {
    fn of(output: &Output) -> Self {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    pub(crate) fn exits(self, code: i32) -> Result<Self> {
        ensure!(self.code == Some(code), "not {code}: {self:?}");
        Ok(self)
    }

    pub(crate) fn succeeds(self) -> Result<Self> {
        self.exits(0)
    }

    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.out).with_context(|| format!("{self:?}"))
    }

    /// An error unless it is a doctor's whole answer, which has none of these words.
    pub(crate) fn finds_none_of(&self, words: &[&str]) -> Result<()> {
        self.tells(&[" failures, ", " not checked"])?;
        ensure!(!words.iter().any(|word| self.out.contains(word)), "{}", self.out);
        Ok(())
    }

    /// On standard output or standard error.
    pub(crate) fn tells(&self, words: &[&str]) -> Result<()> {
        for word in words {
            ensure!(
                self.out.contains(word) || self.err.contains(word),
                "{word:?} is not in {self:?}"
            );
        }
        Ok(())
    }
}

/// A program that goes on.
pub(crate) struct Running {
    child: Child,
    errors: BufReader<ChildStderr>,
    err: String,
}

impl Running {
    /// Waits until it has printed something on standard error.
    pub(crate) async fn until(mut self, words: &str) -> Result<Self> {
        let told = async {
            while !self.err.contains(words) {
                ensure!(self.errors.read_line(&mut self.err).await? > 0, "it ended: {}", self.err);
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(DEADLINE, told).await.context("it says nothing")??;
        Ok(self)
    }

    /// Waits for its end.
    pub(crate) async fn end(mut self) -> Result<Said> {
        let output = tokio::time::timeout(DEADLINE, self.child.wait_with_output()).await;
        let output = output.context("it does not end")??;
        self.errors.read_to_string(&mut self.err).await?;
        Ok(Said { err: self.err, ..Said::of(&output) })
    }
}
