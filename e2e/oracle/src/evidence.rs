//! What a run is judged by: the watch history of all clusters, and the requests to them.

use std::path::Path;

use anyhow::{Context, Result};

use super::answers;
use super::record::{self, Event, Mark};
use super::recorder::{AUDIT_LOG, HISTORY};
use super::requests::{self, Request};

/// A recorded run.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The watch history of all clusters, by arrival.
    pub events: Vec<Event>,
    /// What the suite noted about itself.
    pub marks: Vec<Mark>,
    /// The requests to all clusters.
    pub requests: Vec<Request>,
    /// What the answers to writes show, with the position of the request: after a server has forgotten the past, no
    /// watch does.
    pub answered: Vec<(usize, Event)>,
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
        Ok(Self { events, marks, requests, ..Self::default() }.with_answers())
    }

    /// Fills in what the answers to writes show.
    #[must_use]
    pub fn with_answers(mut self) -> Self {
        let requests = self.requests.iter().enumerate();
        let answers = requests.filter(|(_, request)| request.is_write() && request.succeeded());
        self.answered =
            answers.filter_map(|(at, request)| Some((at, answers::told(request)?))).collect();
        self
    }
}
