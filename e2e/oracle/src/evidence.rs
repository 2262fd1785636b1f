//! What a run is judged by: the watch history of all clusters, and the requests to them.

use std::path::Path;

use anyhow::{Context, Result};
use fleet_api::{ObjectName, ResourceKind};
use serde_json::{Value, json};

use super::answers;
use super::kind::recorded_as;
use super::object::{finalizers, name, namespace};
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
        if author.is_agent() {
            self.requests.push(written(&event, author, kind));
        }
        self.events.push(event);
    }

    /// Notes that an agent has asked for an object that is not there.
    pub fn note_absence(
        &mut self,
        at: Micros,
        author: Author,
        cluster: &str,
        kind: ResourceKind,
        name: &ObjectName,
    ) {
        let object = json!({ "metadata": { "namespace": name.namespace, "name": name.name } });
        let (cluster, kind_name) = (cluster.to_owned(), String::new());
        let event = Event { at, cluster, kind: kind_name, what: What::Gone, object };
        let asked = Request {
            verb: "get".to_owned(),
            code: 404,
            response: Value::Null,
            ..written(&event, author, kind)
        };
        self.requests.push(asked);
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

/// The request that wrote a version, or that an object ended with: a deletion where nothing held it, else the write that took the last
/// finalizer off.
fn written(event: &Event, author: Author, kind: ResourceKind) -> Request {
    let mut response = event.object.clone();
    let verb = match event.what {
        What::Added => "create",
        What::Gone if finalizers(&event.object).is_empty() => "delete",
        What::Gone => {
            response["metadata"]["finalizers"] = json!([]);
            "update"
        }
        What::Found | What::Changed => "update",
    };
    Request {
        cluster: event.cluster.clone(),
        user: String::new(),
        author,
        verb: verb.to_owned(),
        group: kind.group.to_owned(),
        resource: kind.plural.to_owned(),
        subresource: String::new(),
        namespace: namespace(&event.object).to_owned(),
        name: name(&event.object).to_owned(),
        uri: String::new(),
        code: if event.what == What::Added { 201 } else { 200 },
        message: String::new(),
        received: event.at,
        answered: event.at,
        body: if verb == "delete" { Value::Null } else { response.clone() },
        response,
    }
}
