//! A version of this project, as its users get it.

use std::path::PathBuf;

use anyhow::Result;
use fleet_testbed::agents::{Agent, find_program};
use fleet_testbed::crds::charts;

/// Agents and charts of one version.
#[derive(Clone, Debug)]
pub(crate) struct Edition {
    /// For reports.
    pub(crate) name: String,
    /// Folder of the agents.
    pub(crate) programs: PathBuf,
    /// Folder of the charts.
    pub(crate) charts: PathBuf,
}

impl Edition {
    /// This checkout, with the agents beside the running program.
    pub(crate) fn current() -> Result<Self> {
        let mut programs = find_program(Agent::Hub.program())?;
        programs.pop();
        Ok(Self { name: "this checkout".to_owned(), programs, charts: charts() })
    }
}
