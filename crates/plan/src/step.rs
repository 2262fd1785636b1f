//! One API request, what it waits for, and its part in stages and traces.

use fleet_accumulator::{ClusterId, ResourceVersion, Uid};
use fleet_api::{ObjectName, ResourceKind, TraceContext};
use serde_json::Value;

use crate::affected::Account;
use crate::body::Body;

/// Which step of a [`Plan`](crate::Plan) another one waits for; returned by [`Plan::push`](crate::Plan::push).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepId(usize);

impl StepId {
    pub(crate) fn at(index: usize) -> Self {
        Self(index)
    }

    /// Position of the step in [`Plan::steps`](crate::Plan::steps).
    pub fn index(self) -> usize {
        self.0
    }
}

/// The incarnation and version of an object that a plan was computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition {
    /// Refuses another object of the same name.
    pub uid: Uid,
    /// Refuses another version of the object.
    pub version: ResourceVersion,
}

/// What is sent to the API server.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// POST of a whole object (`metadata.name` and `namespace`, `apiVersion`, `kind` included).
    Create(Body),
    /// PUT of a whole object that is wholly ours. The writer sets uid and resourceVersion in it.
    Replace {
        /// The object without uid and resourceVersion.
        body: Body,
        /// The version it was planned on.
        at: Precondition,
    },
    /// JSON patch (RFC 6902); the writer puts tests of uid and resourceVersion in front.
    Patch {
        /// The operations.
        operations: Vec<Value>,
        /// Whether it goes to the status subresource.
        status: bool,
        /// The version it was planned on.
        at: Precondition,
    },
    /// Server-side apply of fields that are ours: those of other managers stay, and those that were applied before and are not
    /// in the body go. An object that does not exist is created, unless the body has a uid.
    Apply {
        /// The object, with `apiVersion`, `kind` and the fields that are ours.
        body: Body,
        /// Whether it goes to the status subresource.
        status: bool,
    },
    /// DELETE with uid and resourceVersion preconditions. An object already gone counts as done.
    Delete {
        /// The version it was planned on.
        at: Precondition,
        /// Seconds that the containers of a Pod have to end; by default those that the Pod asks for.
        grace_seconds: Option<i64>,
    },
    /// GET that must answer "not found": the view lacks the object, and something is about to be
    /// released because of it, so a consistent read has to agree. Where the step names no namespace
    /// for a namespaced kind, no namespace may hold an object of that name (a LIST over all
    /// namespaces with the field selector `metadata.name`); where it names no object, its namespace
    /// may hold none of the kind (a LIST of at most one).
    ConfirmAbsent,
}

impl Action {
    /// Verb for logs and metrics.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Create(_) => "create",
            Self::Replace { .. } => "update",
            Self::Patch { status: true, .. } => "patch_status",
            Self::Patch { status: false, .. } => "patch",
            Self::Apply { status: true, .. } => "apply_status",
            Self::Apply { status: false, .. } => "apply",
            Self::Delete { .. } => "delete",
            Self::ConfirmAbsent => "get",
        }
    }
}

/// Where on the way of an endpoint change a step is. A trace has a span of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// The change enters the fleet; the object carries the context of a new trace.
    Begins,
    /// The change comes from an object with this context, and the new one carries it on.
    Continues(Option<TraceContext>),
    /// The change comes from an object with this context, and has arrived.
    Ends(Option<TraceContext>),
}

impl Trace {
    /// What led to the step, if that left its context.
    pub fn parent(self) -> Option<TraceContext> {
        match self {
            Self::Begins => None,
            Self::Continues(parent) | Self::Ends(parent) => parent,
        }
    }

    /// Whether the object that is written carries the context to another cluster.
    pub fn travels_on(self) -> bool {
        !matches!(self, Self::Ends(_))
    }
}

/// One request, and what it waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The API server it goes to.
    pub cluster: ClusterId,
    /// Kind of the object.
    pub kind: ResourceKind,
    /// Name of the object.
    pub name: ObjectName,
    /// What is sent.
    pub action: Action,
    /// Steps that must have succeeded before this one is sent.
    pub after: Vec<StepId>,
    /// On whose account it waits for the API server.
    pub account: Account,
    /// Goes before most other steps that wait for the same API server: removals of endpoints.
    pub urgent: bool,
    /// Stage histogram (`export`, `resolve`, `distribute`, `import`) that takes the time from the
    /// event that dirtied the key to the acknowledgement of this step.
    pub stage: Option<&'static str>,
    /// Its part in a trace. What is planned does not depend on whether there are traces.
    pub trace: Option<Trace>,
}

impl Step {
    /// A step without dependencies, not urgent, not measured, on the account of the namespace of its object.
    pub fn new(cluster: ClusterId, kind: ResourceKind, name: ObjectName, action: Action) -> Self {
        let account = Account::clone(&name.namespace);
        let (after, urgent, stage, trace) = (Vec::new(), false, None, None);
        Self { cluster, kind, name, action, after, account, urgent, stage, trace }
    }

    /// Sends this step on the account of a namespace: where what leads to it has changed.
    #[must_use]
    pub fn on_account_of(mut self, namespace: &Account) -> Self {
        self.account = Account::clone(namespace);
        self
    }

    /// Sends this step only after `step` has succeeded.
    #[must_use]
    pub fn after(mut self, steps: impl IntoIterator<Item = StepId>) -> Self {
        self.after.extend(steps);
        self
    }

    /// Lets this step go before most others.
    #[must_use]
    pub fn urgent(mut self) -> Self {
        self.urgent = true;
        self
    }

    /// Times this step as the end of `stage`.
    #[must_use]
    pub fn stage(mut self, stage: &'static str) -> Self {
        self.stage = Some(stage);
        self
    }

    /// Makes this step a span of a trace.
    #[must_use]
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = Some(trace);
        self
    }
}
