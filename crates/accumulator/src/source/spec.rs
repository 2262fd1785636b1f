//! What of a kind a source watches.

use std::collections::BTreeSet;

use kube::Client;
use tokio::sync::watch;

use super::provided::Provided;
use super::selection::Selection;

/// What of a kind is watched, and with which client.
#[derive(Clone)]
pub struct SourceSpec {
    /// A client without retries and read timeout.
    pub client: Client,
    /// Only this namespace; all if `None`.
    pub namespace: Option<String>,
    /// Label selector.
    pub labels: Option<String>,
    /// Field selector.
    pub fields: Option<String>,
    /// After how many seconds the API server ends a watch, which costs one reconnect: a dead
    /// connection is noticed this much plus 5 s later. 290 if `None`.
    pub watch_timeout: Option<u32>,
    /// Whether the cluster may be asked which one it is. Who may read one namespace only may not ask.
    pub may_identify: bool,
    /// Only these objects, which may change at any time; each selection has its own namespace and fields.
    pub selections: Option<watch::Receiver<BTreeSet<Selection>>>,
    /// For a source without a server: what this process provides.
    pub provided: Option<watch::Receiver<Provided>>,
}

impl SourceSpec {
    /// All objects of the kind.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            namespace: None,
            labels: None,
            fields: None,
            watch_timeout: None,
            may_identify: true,
            selections: None,
            provided: None,
        }
    }

    /// Only the objects of one namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self.unidentified()
    }

    /// For a client that has no rights on the cluster's own namespaces.
    #[must_use]
    pub fn unidentified(mut self) -> Self {
        self.may_identify = false;
        self
    }

    /// Only objects with these labels.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }

    /// Only objects with these fields.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.fields = Some(selector.into());
        self
    }

    /// Only the objects of these selections.
    #[must_use]
    pub fn selections(mut self, selections: watch::Receiver<BTreeSet<Selection>>) -> Self {
        self.selections = Some(selections);
        self
    }

    /// What this process provides.
    #[must_use]
    pub fn provided(mut self, objects: watch::Receiver<Provided>) -> Self {
        self.provided = Some(objects);
        self
    }

    /// Lets the API server end each watch after so many seconds.
    #[must_use]
    pub fn watch_timeout(mut self, seconds: u32) -> Self {
        self.watch_timeout = Some(seconds);
        self
    }
}
