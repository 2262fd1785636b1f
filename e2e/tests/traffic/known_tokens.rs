//! Identities of members that do not depend on what the hub stores, as projected tokens that it accepts by structured authentication.

use std::path::PathBuf;

use anyhow::Result;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::kubeconfig::write_secret;
use fleet_testbed::rbac;

/// What agents read their token for the hub from.
const PATH: &str = "CONFIG_PATH";

/// A token for each member, and the file by which API servers know them. Both go with it.
pub(crate) struct KnownTokens {
    folder: PathBuf,
    tokens: Vec<PathBuf>,
}

impl KnownTokens {
    /// Makes them; the name is that of a test.
    pub(crate) fn make(name: &str, members: usize) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("fleet-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let lines: Vec<_> = (1..=members).map(line).collect();
        write_secret(&folder.join("known.csv"), &lines.join("\n"))?;
        let token = |number: usize| {
            let path = folder.join(format!("token-{number}"));
            write_secret(&path, &format!("projected-{number}"))?;
            anyhow::Ok(path)
        };
        let tokens = (1..=members).map(token).collect::<Result<_>>()?;
        Ok(Self { folder, tokens })
    }

    /// What an API server is started with.
    pub(crate) fn argument(&self) -> String {
        format!("--token-auth-file={}", self.folder.join("known.csv").display())
    }

    /// Lets agents use them from their next start on.
    pub(crate) fn give(&self, agents: &mut Agents) -> Result<()> {
        use_tokens(agents, &self.tokens)
    }
}

impl Drop for KnownTokens {
    fn drop(&mut self) {
        // What is left is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Lets the agents of members read these files, from their next start on.
pub(crate) fn use_tokens(agents: &mut Agents, paths: &[PathBuf]) -> Result<()> {
    for (member, path) in paths.iter().enumerate() {
        agents.set_variable(Agent::Member(member), PATH, &path.display().to_string())?;
    }
    Ok(())
}

/// A line of a file of tokens: the member is who its service account would be.
fn line(number: usize) -> String {
    let user = rbac::member_on_hub(&format!("member-{number}")).user();
    let groups = "system:serviceaccounts,system:authenticated";
    format!("projected-{number},{user},{number},\"{groups}\"")
}
