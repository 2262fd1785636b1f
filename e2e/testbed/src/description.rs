//! What a running testbed writes about itself, for other processes: the command, a shell, an editor.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::kubeconfig::write_secret;

/// A running fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Its folder, with one folder of logs and credentials per cluster.
    pub folder: PathBuf,
    /// The hub, then the members.
    pub clusters: Vec<ClusterDescription>,
    /// The hub agent, then the member agents; whether they run or not.
    pub agents: Vec<AgentDescription>,
}

/// How to reach a cluster as its admin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterDescription {
    /// `hub`, or the member's name.
    pub name: String,
    /// The API server's address.
    pub server: String,
    /// The admin's kubeconfig.
    pub kubeconfig: PathBuf,
}

/// How to start an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDescription {
    /// `hub-agent`, or `<member>-agent`.
    pub name: String,
    /// Its environment.
    pub environment: Vec<(String, String)>,
}

impl Description {
    /// Where it is kept in a run folder.
    pub fn path(run: &Path) -> PathBuf {
        run.join("fleet.json")
    }

    /// Writes it into a run folder; readers take its presence for "ready".
    pub fn write(&self, run: &Path) -> Result<()> {
        write_secret(&Self::path(run), &serde_json::to_string_pretty(self)?)
    }

    /// Reads it from a run folder.
    pub fn read(run: &Path) -> Result<Self> {
        let text = std::fs::read(Self::path(run)).with_context(|| {
            let name = run.file_name().unwrap_or_default().to_string_lossy();
            format!("no testbed called `{name}` is ready")
        })?;
        serde_json::from_slice(&text).context("the testbed's description is of another version")
    }

    /// Names of all clusters and agents.
    pub fn targets(&self) -> Vec<&str> {
        let clusters = self.clusters.iter().map(|cluster| cluster.name.as_str());
        clusters.chain(self.agents.iter().map(|agent| agent.name.as_str())).collect()
    }

    /// Variables for working on a cluster as its admin, or for starting an agent.
    pub fn environment_of(&self, target: &str) -> Option<Vec<(String, String)>> {
        let cluster = self.clusters.iter().find(|cluster| cluster.name == target);
        if let Some(cluster) = cluster {
            return Some(vec![("KUBECONFIG".to_owned(), cluster.kubeconfig.display().to_string())]);
        }
        let agent = self.agents.iter().find(|agent| agent.name == target)?;
        Some(agent.environment.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_and_agents_are_found_by_name() {
        let description = Description {
            folder: PathBuf::from("/run"),
            clusters: vec![ClusterDescription {
                name: "hub".to_owned(),
                server: "https://127.0.0.1:1".to_owned(),
                kubeconfig: PathBuf::from("/run/hub/admin.kubeconfig"),
            }],
            agents: vec![AgentDescription {
                name: "hub-agent".to_owned(),
                environment: vec![("A".to_owned(), "b".to_owned())],
            }],
        };
        assert_eq!(description.targets(), ["hub", "hub-agent"]);
        assert_eq!(description.environment_of("hub").unwrap()[0].1, "/run/hub/admin.kubeconfig");
        assert_eq!(description.environment_of("hub-agent").unwrap()[0].0, "A");
        assert_eq!(description.environment_of("nobody"), None);
    }
}
