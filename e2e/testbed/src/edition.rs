//! A version of this project, as its users get it.

use std::path::PathBuf;

use crate::agent::{Agent, find_program};
use crate::crds::charts;
use anyhow::Result;

/// Agents and charts of one version.
#[derive(Clone, Debug)]
pub struct Edition {
    /// For reports.
    pub name: String,
    /// Folder of the agents.
    pub programs: PathBuf,
    /// Folder of the charts.
    pub charts: PathBuf,
}

impl Edition {
    /// This checkout, with the agents beside the running program.
    pub fn current() -> Result<Self> {
        let mut programs = find_program(Agent::Hub.program())?;
        programs.pop();
        Ok(Self { name: "this checkout".to_owned(), programs, charts: charts() })
    }
}
