//! What a recorded run consists of: the watch history of every cluster, and marks that the recorder was given.

use std::io::BufRead;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::object::text;

/// The last mark of a record: what is quiescent then stays so.
pub const END: &str = "end of the record";

/// Microseconds since 1970, by the clock of the machine that all servers of a testbed share.
pub type Micros = i64;

/// What a watch showed of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// It was there when the recorder came.
    Found,
    /// It was made.
    Added,
    /// It was written.
    Changed,
    /// It is gone; the object is its last state, under the version of its removal.
    Gone,
}

/// One event of one watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When it arrived.
    pub at: Micros,
    /// `hub`, or the member's name.
    pub cluster: String,
    /// The object's kind.
    pub kind: String,
    /// What happened.
    pub what: What,
    /// The object after it.
    pub object: Value,
}

impl Event {
    /// The object's version; versions of one cluster are in the order of its writes.
    pub fn version(&self) -> u64 {
        text(&self.object, "/metadata/resourceVersion").parse().unwrap_or_default()
    }

    /// The object's incarnation.
    pub fn uid(&self) -> &str {
        text(&self.object, "/metadata/uid")
    }
}

/// Something the suite notes about itself, like the begin and end of a scenario that stops servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// When.
    pub at: Micros,
    /// What.
    pub mark: String,
}

/// One line of a history file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// An event.
    Event(Event),
    /// A mark.
    Mark(Mark),
}

/// Reads a history file. The last line may be cut where the recorder was killed.
pub fn read(path: &Path) -> Result<(Vec<Event>, Vec<Mark>)> {
    let file = std::fs::File::open(path)
        .with_context(|| format!("there is no history at {}", path.display()))?;
    let (mut events, mut marks) = (Vec::new(), Vec::new());
    for line in std::io::BufReader::new(file).lines() {
        match serde_json::from_str(&line?) {
            Ok(Line::Event(event)) => events.push(event),
            Ok(Line::Mark(mark)) => marks.push(mark),
            Err(error) if error.is_eof() => break,
            Err(error) => return Err(error).context("a line of the history cannot be read"),
        }
    }
    Ok((events, marks))
}
