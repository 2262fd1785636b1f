//! What became of every object, for the oracle.

use std::collections::BTreeMap;

use fleet_model_server::{Change, ModelServer};
use fleet_oracle::Recording;
use fleet_oracle::record::{END, Event, Mark, Micros, What};
use fleet_oracle::requests::Author;
use serde_json::json;

/// Between two writes.
const STEP: Micros = 1_000;
/// Longer than the oracle takes for a fleet to be at rest.
const REST: Micros = 10_000_000;

/// The record of a fleet.
#[derive(Clone, Default)]
pub(crate) struct Record {
    recording: Recording,
    now: Micros,
    /// How many changes of each cluster are in it.
    noted: BTreeMap<String, usize>,
}

impl Record {
    /// Notes what was written since, by this author.
    pub(crate) fn look(&mut self, cluster: &str, server: &ModelServer, author: &Author) {
        let noted = self.noted.entry(cluster.to_owned()).or_default();
        let changes = &server.changes()[*noted..];
        *noted += changes.len();
        for change in changes {
            self.now += STEP;
            let event = event(cluster, change);
            self.recording.note(self.now, author.clone(), change.kind, event);
        }
    }

    /// Nothing moves for a while: everything has to be in its place.
    pub(crate) fn rest(&mut self) {
        self.now += REST;
    }

    /// The record up to now, and nothing moves any more.
    pub(crate) fn end(&self) -> Recording {
        let mut recording = self.recording.clone();
        recording.marks.push(Mark { at: self.now + REST, mark: END.to_owned() });
        recording
    }
}

fn event(cluster: &str, change: &Change) -> Event {
    let what = match change.event {
        "ADDED" => What::Added,
        "DELETED" => What::Gone,
        _ => What::Changed,
    };
    let mut object = change.object.clone();
    object["metadata"]["resourceVersion"] = json!(change.version.to_string());
    Event { at: 0, cluster: cluster.to_owned(), kind: String::new(), what, object }
}
