//! What a run is judged by: the watch history of all clusters, and the requests to them.

use std::path::Path;

use anyhow::{Context, Result};
use fleet_api::ResourceKind;

use super::answers;
use super::kind::recorded_as;
use super::object::{name, namespace};
use super::record::{self, Event, Mark, Micros, What};
use super::recorder::{AUDIT_LOG, HISTORY};
use super::requests::{self, Author, Request};

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

    /// Notes what became of an object, and who wrote it, where no watch and no audit log did. Of kinds that are not recorded it
    /// notes nothing. Times have to rise.
    pub fn note(&mut self, at: Micros, author: Author, kind: ResourceKind, mut event: Event) {
        let Some(recorded) = recorded_as(kind) else { return };
        recorded.clone_into(&mut event.kind);
        event.at = at;
        if author.is_agent() && event.what != What::Gone {
            self.requests.push(written(&event, author, kind));
        }
        self.events.push(event);
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

/// The request that wrote a version.
fn written(event: &Event, author: Author, kind: ResourceKind) -> Request {
    let is_new = event.what == What::Added;
    Request {
        cluster: event.cluster.clone(),
        user: String::new(),
        author,
        verb: if is_new { "create" } else { "update" }.to_owned(),
        group: kind.group.to_owned(),
        resource: kind.plural.to_owned(),
        subresource: String::new(),
        namespace: namespace(&event.object).to_owned(),
        name: name(&event.object).to_owned(),
        uri: String::new(),
        code: if is_new { 201 } else { 200 },
        message: String::new(),
        received: event.at,
        answered: event.at,
        body: event.object.clone(),
        response: event.object.clone(),
    }
}
