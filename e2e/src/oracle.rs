//! A program that judges a recorded run: did everything hold that must always hold?
//!
//! Its input is what any cluster can give: the watch history of every kind of the fleet in every cluster, and the audit
//! logs of the API servers. From these it computes who wrote each version of each object, and then asks one question
//! after the other, a file per group. It looks into no agent, and shares no code with what the agents decide.

pub mod history;
pub mod object;
pub mod record;
pub mod recorder;
pub mod requests;

use std::path::Path;

use anyhow::{Context, Result};

use record::{Event, Mark};
use recorder::{AUDIT_LOG, HISTORY};
use requests::Request;

/// A recorded run.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The watch history of all clusters, by arrival.
    pub events: Vec<Event>,
    /// What the suite said about itself.
    pub marks: Vec<Mark>,
    /// The requests to all clusters.
    pub requests: Vec<Request>,
}

impl Recording {
    /// Reads the folder of a run: the history, and a folder with an audit log per cluster.
    pub fn read(folder: &Path) -> Result<Self> {
        let (events, marks) = record::read(&folder.join(HISTORY))?;
        let mut requests = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let cluster = path.file_name().context("a folder has a name")?.to_string_lossy();
            let log = path.join(AUDIT_LOG);
            if log.exists() {
                requests.extend(requests::read(&cluster, &log)?);
            }
        }
        Ok(Self { events, marks, requests })
    }
}
