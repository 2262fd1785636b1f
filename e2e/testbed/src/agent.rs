//! One agent of a fleet: which it is, where its program is, what it must not inherit.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Folder of the agents' programs, if they are not beside the running program.
pub const AGENTS_FOLDER: &str = "FLEET_AGENTS_DIR";

/// Variables of the caller that would make an agent talk to another cluster or report to others; agents are started
/// without them.
pub const FOREIGN: [&str; 7] = [
    "KUBECONFIG",
    "HUB_SERVER_URL",
    "CONFIG_PATH",
    "HUB_CERTIFICATE_AUTHORITY",
    "HUB_KUBE_HEADER",
    "MEMBER_CLUSTER_NAME",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];

/// Which agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// The hub's.
    Hub,
    /// That of the member at this position, from 0.
    Member(usize),
}

impl Agent {
    /// Name of its program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Hub => "hub-agent",
            Self::Member(_) => "member-agent",
        }
    }
}

/// `FLEET_AGENTS_DIR`, else the folder of the running program, or the one above it for a test in `deps/`.
pub(super) fn programs_folder() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os(AGENTS_FOLDER) {
        return Ok(PathBuf::from(folder));
    }
    let mut folder = std::env::current_exe().context("find the running program")?;
    folder.pop();
    if folder.ends_with("deps") || folder.ends_with("examples") {
        folder.pop();
    }
    Ok(folder)
}

/// The program `hub-agent` or `member-agent`, in [`AGENTS_FOLDER`] or beside the running program.
pub fn find_program(name: &str) -> Result<PathBuf> {
    program_in(&programs_folder()?, name)
}

pub(super) fn program_in(folder: &Path, name: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    if !path.is_file() {
        bail!(
            "{} is missing; `cargo build --bins` makes it, or set {AGENTS_FOLDER}",
            path.display()
        );
    }
    Ok(path)
}
