//! The program as a user starts it, with a kubeconfig of all clusters.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use anyhow::{Context, Result, ensure};
use fleet_testbed::Testbed;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::wait::wait_for;
use kube::config::Kubeconfig;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};

use super::{DEADLINE, SERVICE};

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
        let program = agent.with_file_name("fleetctl");
        ensure!(
            program.is_file(),
            "{} is missing; `cargo build --bins` makes it",
            program.display()
        );
        let folder = testbed.run_path().join("fleetctl");
        std::fs::create_dir_all(&folder)?;
        let names =
            [(testbed.hub(), "hub"), (testbed.member(0), "member-1"), (testbed.member(1), "west")];
        let mut all = Kubeconfig::default();
        for (cluster, name) in names {
            all = all.merge(renamed(cluster, name)?)?;
        }
        all.current_context = Some("west".to_owned());
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

/// One cluster's kubeconfig, with all names in it replaced.
fn renamed(cluster: &Cluster, name: &str) -> Result<Kubeconfig> {
    let mut file = Kubeconfig::read_from(cluster.kubeconfig_path())?;
    name.clone_into(&mut file.clusters[0].name);
    name.clone_into(&mut file.auth_infos[0].name);
    let context = &mut file.contexts[0];
    name.clone_into(&mut context.name);
    let inner = context.context.as_mut().context("a context")?;
    name.clone_into(&mut inner.cluster);
    inner.user = Some(name.to_owned());
    Ok(file)
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
