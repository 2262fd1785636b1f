//! What went through a proxy, in the order of arrival.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::request::Seen;

/// One request and what became of it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The request.
    pub seen: Seen,
    /// When all of it had arrived.
    pub at: Instant,
    /// When the last of it happened at the proxy: an answer, a cut.
    pub ended: Option<Instant>,
    /// What the API server answered, if it was asked.
    pub server: Option<StatusCode>,
    /// What the client was answered, if it was.
    pub client: Option<StatusCode>,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = |code: Option<StatusCode>| match code {
            Some(code) => code.as_u16().to_string(),
            None => "-".to_owned(),
        };
        write!(f, "{} (server {}, client {})", self.seen, code(self.server), code(self.client))
    }
}

/// All requests of a proxy but reads of lists and watches.
#[derive(Clone, Debug)]
pub struct Log {
    entries: Arc<Mutex<Vec<Entry>>>,
    /// Number of changes of the log, to wait for.
    changes: watch::Sender<usize>,
}

impl Default for Log {
    fn default() -> Self {
        Self { entries: Arc::default(), changes: watch::Sender::new(0) }
    }
}

impl Log {
    /// All entries so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().clone()
    }

    /// How many entries there are: what comes from now on has a number from here.
    pub fn len(&self) -> usize {
        self.entries.lock().len()
    }

    /// Whether nothing was asked yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The writes to objects of the fleet that mention `text`.
    pub fn work(&self, text: &str) -> Vec<Entry> {
        let entries = self.entries.lock();
        entries
            .iter()
            .filter(|one| one.seen.is_work() && one.seen.mentions(text))
            .cloned()
            .collect()
    }

    /// How long no write to an object of the fleet has come or gone; nothing if one is under way.
    pub fn quiet_for(&self, now: Instant) -> Option<Duration> {
        let entries = self.entries.lock();
        let mut last = None;
        for one in entries.iter().filter(|one| one.seen.is_work()) {
            last = last.max(Some(one.ended?));
        }
        Some(last.map_or(Duration::MAX, |last| now.saturating_duration_since(last)))
    }

    /// Notified of every change.
    pub fn changes(&self) -> watch::Receiver<usize> {
        self.changes.subscribe()
    }

    pub(super) fn arrived(&self, seen: Seen) -> Open {
        let entry = Entry { seen, at: Instant::now(), ended: None, server: None, client: None };
        let mut entries = self.entries.lock();
        entries.push(entry);
        let number = entries.len() - 1;
        drop(entries);
        self.changed();
        Open { log: self.clone(), number }
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

/// An entry whose request is under way. However that ends, it is noted.
#[derive(Debug)]
pub(super) struct Open {
    log: Log,
    number: usize,
}

impl Open {
    pub(super) fn server(&self, code: StatusCode) {
        self.log.entries.lock()[self.number].server = Some(code);
    }

    pub(super) fn client(&self, code: StatusCode) {
        self.log.entries.lock()[self.number].client = Some(code);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.log.entries.lock()[self.number].ended = Some(Instant::now());
        self.log.changed();
    }
}
