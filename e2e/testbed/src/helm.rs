//! Helm, built from its Go modules: what users install the charts with.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::binaries;
use crate::crds::charts;
use crate::go_module::{HELMS, Program};

/// One version of Helm.
#[derive(Clone, Debug)]
pub struct Helm {
    program: PathBuf,
}

/// An installation of a chart in a cluster, there or not.
#[derive(Clone, Debug)]
pub struct Release<'a> {
    /// With which Helm.
    pub helm: &'a Helm,
    /// Where, and as whom.
    pub kubeconfig: &'a Path,
    /// Its name.
    pub name: &'a str,
    /// Its namespace; made if there is none.
    pub namespace: &'a str,
    /// Folder of the chart.
    pub chart: PathBuf,
}

/// Folder of one of this project's charts, `hub-agent` or `member-agent`.
pub fn chart(name: &str) -> PathBuf {
    charts().join(name)
}

impl Helm {
    /// The newest Helm 3, built first if need be.
    pub async fn v3() -> Result<Self> {
        Self::ensure(&HELMS[0]).await
    }

    /// The newest Helm 4, built first if need be.
    pub async fn v4() -> Result<Self> {
        Self::ensure(&HELMS[1]).await
    }

    async fn ensure(program: &'static Program) -> Result<Self> {
        let program = tokio::task::spawn_blocking(|| binaries::own(program)).await??;
        Ok(Self { program })
    }

    /// The program's file.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Output of `helm lint`. Warnings are errors.
    pub async fn lint(&self, chart: &Path, values: &Value) -> Result<String> {
        let chart = chart.display().to_string();
        self.run(&["lint", "--strict", &chart], values).await
    }

    /// The objects of a chart, without a cluster.
    pub async fn template(
        &self,
        chart: &Path,
        (namespace, name): (&str, &str),
        values: &Value,
    ) -> Result<Vec<Value>> {
        documents(&self.template_text(chart, (namespace, name), values, &[]).await?)
    }

    /// What `helm template` prints.
    pub async fn template_text(
        &self,
        chart: &Path,
        (namespace, name): (&str, &str),
        values: &Value,
        arguments: &[&str],
    ) -> Result<String> {
        let chart = chart.display().to_string();
        let fixed = ["template", name, &chart, "--namespace", namespace];
        self.run(&[&fixed[..], arguments].concat(), values).await
    }

    /// `helm package` into a folder; the package's file.
    pub async fn package(&self, chart: &Path, folder: &Path) -> Result<PathBuf> {
        let (chart, folder) = (chart.display().to_string(), folder.display().to_string());
        let said = self.run(&["package", &chart, "--destination", &folder], &Value::Null).await?;
        let (_, file) = said.trim_end().rsplit_once(": ").context("helm names the package")?;
        Ok(PathBuf::from(file))
    }

    /// A chart in a cluster.
    pub fn release<'a>(
        &'a self,
        kubeconfig: &'a Path,
        (namespace, name): (&'a str, &'a str),
        chart: PathBuf,
    ) -> Release<'a> {
        Release { helm: self, kubeconfig, name, namespace, chart }
    }

    /// Runs Helm; what it prints, or an error with what it complains about. Neither the caller's Helm settings nor a
    /// kubeconfig that is not named have an influence.
    async fn run(&self, arguments: &[&str], values: &Value) -> Result<String> {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            if name == "KUBECONFIG" || name.to_string_lossy().starts_with("HELM_") {
                command.env_remove(name);
            }
        }
        let home = self.program.with_extension("home");
        for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(variable, &home);
        }
        command.args(arguments).kill_on_drop(true);
        if !values.is_null() {
            command.args(["--values", "-"]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("start helm")?;
        let mut input = child.stdin.take().context("helm's input")?;
        // JSON is YAML. A Helm that ends before it has read all reports why.
        let _ = input.write_all(values.to_string().as_bytes()).await;
        drop(input);
        let output = child.wait_with_output().await?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let said = text(&output.stdout);
        if !output.status.success() {
            bail!("helm {}: {said}{}", arguments.join(" "), text(&output.stderr).trim_end());
        }
        Ok(said)
    }
}

impl Release<'_> {
    /// `helm install`; its notes.
    pub async fn install(&self, values: &Value, arguments: &[&str]) -> Result<String> {
        let chart = self.chart.display().to_string();
        let fixed = ["install", self.name, &chart, "--create-namespace"];
        self.run(&[&fixed[..], arguments].concat(), values).await
    }

    /// `helm upgrade`; its notes.
    pub async fn upgrade(&self, values: &Value, arguments: &[&str]) -> Result<String> {
        let chart = self.chart.display().to_string();
        let fixed = ["upgrade", self.name, &chart];
        self.run(&[&fixed[..], arguments].concat(), values).await
    }

    /// `helm rollback` to a revision.
    pub async fn rollback(&self, revision: u32) -> Result<()> {
        let revision = revision.to_string();
        self.run(&["rollback", self.name, &revision], &Value::Null).await?;
        Ok(())
    }

    /// The newest revision of a version of the chart.
    pub async fn revision_of(&self, version: &str) -> Result<u32> {
        let history = self.run(&["history", self.name, "--output", "json"], &Value::Null).await?;
        let revisions: Vec<Value> = serde_json::from_str(&history)?;
        let name = self.chart.file_name().context("the chart's folder")?;
        let chart = format!("{}-{version}", name.to_string_lossy());
        let found = revisions.iter().rev().find(|one| one["chart"] == *chart);
        let number = found.and_then(|one| one["revision"].as_u64());
        let number = number.with_context(|| format!("{} was never of {chart}", self.name))?;
        Ok(number.try_into()?)
    }

    /// `helm uninstall`, and a wait until everything is gone that is to go.
    pub async fn uninstall(&self) -> Result<()> {
        self.run(&["uninstall", self.name, "--wait"], &Value::Null).await?;
        Ok(())
    }

    /// The objects of the newest revision.
    pub async fn manifest(&self) -> Result<Vec<Value>> {
        documents(&self.run(&["get", "manifest", self.name], &Value::Null).await?)
    }

    async fn run(&self, arguments: &[&str], values: &Value) -> Result<String> {
        let kubeconfig = self.kubeconfig.display().to_string();
        let place = ["--namespace", self.namespace, "--kubeconfig", &kubeconfig];
        self.helm.run(&[arguments, &place].concat(), values).await
    }
}

/// The documents of a YAML stream, as Helm prints it.
pub fn documents(text: &str) -> Result<Vec<Value>> {
    let documents = text.split("\n---").map(|document| document.trim_start_matches("---"));
    let read = documents.map(|document| {
        serde_saphyr::from_str::<Value>(document)
            .with_context(|| format!("a manifest is not YAML:\n{document}"))
    });
    read.filter(|value| !matches!(value, Ok(Value::Null))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read_without_empty_ones() {
        let text = "---\n# Source: a\nkind: A\ndata: |\n  x\n---\n# Source: b\n---\nkind: B\n";
        let kinds: Vec<_> =
            documents(text).unwrap().iter().map(|one| one["kind"].clone()).collect();
        assert_eq!(kinds, ["A", "B"]);
    }
}
