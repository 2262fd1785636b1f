//! The contexts of hub and members, and clients for them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use fleet_accumulator::one_line;
use fleet_runtime::clients::{self, ClientSet};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};

use crate::output::report;
use crate::shell::quoted;

/// How the clusters are reached.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Clusters")]
pub struct Access {
    /// Kubeconfig with the contexts of hub and members; by default the files in KUBECONFIG, or ~/.kube/config
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the hub; by default the context named `hub`, or the current one
    #[arg(long, global = true, value_name = "CONTEXT", env = "FLEET_HUB_CONTEXT")]
    pub hub_context: Option<String>,
    /// Context of a member's cluster; repeat it for each member. By default, and for NAME alone, the context with the member's name
    #[arg(long = "member", global = true, value_name = "NAME[=CONTEXT]", value_parser = pair)]
    pub members: Vec<(String, String)>,
    /// Maximum time to wait for a cluster, in seconds
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 10)]
    pub timeout: u64,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, context) = text.split_once('=').unwrap_or((text, text));
    if name.is_empty() || context.is_empty() {
        return Err(
            "write the member's name and its context as NAME=CONTEXT, or NAME if both are the same"
                .to_owned(),
        );
    }
    Ok((name.to_owned(), context.to_owned()))
}

/// The contexts of a kubeconfig, and those of hub and members among them.
#[derive(Debug)]
pub struct Contexts {
    file: Kubeconfig,
    /// The hub's.
    pub hub: String,
    given: BTreeMap<String, String>,
    patience: Duration,
}

impl Access {
    /// Reads the kubeconfig and finds the hub in it.
    ///
    /// # Errors
    /// If the kubeconfig or a context is missing; the message names the option to set.
    pub fn contexts(&self) -> Result<Contexts> {
        let file = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let file = file.map_err(|error| anyhow::anyhow!(one_line(&error)));
        let file = file.context("no kubeconfig: use --kubeconfig, or set KUBECONFIG")?;
        let has = |name: &str| file.contexts.iter().any(|context| context.name == name);
        let given: BTreeMap<_, _> = self.members.iter().cloned().collect();
        let usual =
            || has("hub").then(|| "hub".to_owned()).or_else(|| file.current_context.clone());
        let hub = self.hub_context.clone().or_else(usual);
        let hub = hub.context("no context for the hub: use --hub-context")?;
        if let Some(unknown) = given.values().chain([&hub]).find(|name| !has(name)) {
            let known: Vec<_> = file.contexts.iter().map(|context| context.name.as_str()).collect();
            bail!("the kubeconfig has no context {unknown:?}; its contexts: {}", known.join(", "));
        }
        Ok(Contexts { file, hub, given, patience: self.patience() })
    }

    /// The line by which a script finds the contexts that were found here, in whatever shell it is run: those of the same names in other
    /// files may be of another fleet.
    ///
    /// # Errors
    /// If there is no text for the path of a file.
    pub(crate) fn exported(&self) -> Result<String> {
        let files = match &self.kubeconfig {
            Some(path) => Some(path.clone().into_os_string()),
            None => std::env::var_os("KUBECONFIG").filter(|files| !files.is_empty()),
        };
        // Without either, the user's own file is read, as by the programs that the script calls.
        files.map_or_else(|| Ok("unset KUBECONFIG".to_owned()), |files| export(&files))
    }

    /// Reports what commands that were printed need beside their contexts, where an option has named the file.
    ///
    /// # Errors
    /// As [`Self::exported`].
    pub(crate) fn report_for_commands(&self) -> Result<()> {
        if self.kubeconfig.is_some() {
            report(&format!("In the shell that the commands are for: {}", self.exported()?));
        }
        Ok(())
    }

    /// Maximum time to wait for a cluster.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }
}

/// By absolute paths: a script may be run elsewhere.
fn export(files: &OsStr) -> Result<String> {
    let files = std::env::split_paths(files).filter(|file| !file.as_os_str().is_empty());
    let files: Vec<_> = files.map(std::path::absolute).collect::<Result<_, _>>()?;
    let files = std::env::join_paths(files)?;
    let files = files.to_str().context("the path of the kubeconfig is not UTF-8")?;
    Ok(format!("export KUBECONFIG={}", quoted(files)))
}

impl Contexts {
    /// The context of a member, if one is known.
    pub fn of_member(&self, name: &str) -> Option<&str> {
        let usual =
            || self.file.contexts.iter().map(|known| &known.name).find(|known| *known == name);
        self.given.get(name).or_else(usual).map(String::as_str)
    }

    /// Members that were named on the command line.
    pub fn named(&self) -> impl Iterator<Item = &String> {
        self.given.keys()
    }

    /// Clients for a context, after a request that has to succeed.
    ///
    /// # Errors
    /// One line with the reason.
    pub async fn connect(&self, context: &str) -> Result<ClientSet> {
        let set = clients::from_config("chosen", self.config(context).await?).await?;
        let checked = tokio::time::timeout(self.patience, set.check()).await;
        let seconds = self.patience.as_secs();
        let checked = checked.with_context(|| format!("no answer within {seconds} s"));
        checked.and_then(|checked| Ok(checked?)).with_context(|| format!("context {context}"))?;
        Ok(set)
    }

    /// The configuration of a client for a context.
    ///
    /// # Errors
    /// One line with the reason.
    pub async fn config(&self, context: &str) -> Result<Config> {
        let options =
            KubeConfigOptions { context: Some(context.to_owned()), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(self.file.clone(), &options).await;
        let config =
            config.map_err(|error| anyhow::anyhow!("context {context}: {}", one_line(&error)))?;
        let encrypted = clients::require_encryption(&config.cluster_url);
        encrypted.map_err(|reason| anyhow::anyhow!("context {context}: {reason}"))?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_find_the_files_wherever_they_are_run() {
        let here = std::env::current_dir().unwrap();
        let here = here.to_str().unwrap();
        for (files, expected) in [
            ("/etc/prod.yaml", "/etc/prod.yaml".to_owned()),
            ("prod.yaml:/etc/b:", format!("{here}/prod.yaml:/etc/b")),
            ("/my files/it's", r"'/my files/it'\''s'".to_owned()),
        ] {
            let line = export(OsStr::new(files)).unwrap();
            assert_eq!(line, format!("export KUBECONFIG={expected}"));
        }
    }
}
