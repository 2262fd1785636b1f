//! What came of a plan.

use std::fmt;
use std::time::{Duration, Instant};

use fleet_accumulator::Expectation;

/// Why a step failed, as far as it matters for what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The object is not as the plan saw it: the view was behind.
    Conflict,
    /// An object of that name exists: the view was behind, or the name is taken.
    AlreadyExists,
    /// The object is gone: the view was behind.
    NotFound,
    /// The namespace does not exist.
    NamespaceMissing,
    /// The namespace is being deleted.
    NamespaceTerminating,
    /// The server does not serve the kind.
    KindMissing,
    /// The server asks for a pause.
    Throttled,
    /// No answer, or a server that is not well. Whether the write happened is unknown.
    Transient,
    /// The server has yet to free what the object asks for: the address of a Service that was deleted a moment ago.
    Occupied,
    /// The server will never accept this.
    Invalid,
    /// A permission is missing.
    Forbidden,
    /// Permissions suffice, but a policy, a quota or a webhook of the server refuses the write.
    Denied,
    /// The credentials were refused.
    Unauthorized,
    /// Not sent: another process may be writing.
    NotLeader,
    /// Not sent: the process is stopping.
    Stopping,
}

impl Class {
    /// Label value in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::AlreadyExists => "already_exists",
            Self::NotFound => "not_found",
            Self::NamespaceMissing => "namespace_missing",
            Self::NamespaceTerminating => "namespace_terminating",
            Self::KindMissing => "kind_missing",
            Self::Throttled => "throttled",
            Self::Transient => "transient",
            Self::Occupied => "occupied",
            Self::Invalid => "invalid",
            Self::Forbidden => "forbidden",
            Self::Denied => "denied",
            Self::Unauthorized => "unauthorized",
            Self::NotLeader => "not_leader",
            Self::Stopping => "stopping",
        }
    }

    /// Whether a plan on a newer view is the remedy.
    pub fn is_stale_view(self) -> bool {
        matches!(self, Self::Conflict | Self::AlreadyExists | Self::NotFound)
    }

    /// Whether trying again soon is pointless.
    pub fn is_hopeless(self) -> bool {
        self.is_about_content() || self == Self::Forbidden
    }

    /// Whether the content is rejected, whichever client writes it: users can do something about that.
    pub fn is_about_content(self) -> bool {
        matches!(self, Self::Invalid | Self::Denied)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A step that failed. Steps that depend on it were not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Position in the plan.
    pub step: usize,
    /// What kind of failure.
    pub class: Class,
    /// How long the server wants to be left alone.
    pub retry_after: Option<Duration>,
    /// One line for a person.
    pub message: String,
}

/// A request that went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Position of its step in the plan.
    pub step: usize,
    /// When it was sent.
    pub sent: Instant,
    /// When it was answered or given up.
    pub ended: Instant,
}

/// What came of a plan.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What the view has to show before the key is planned again.
    pub expectations: Vec<Expectation>,
    /// Steps that succeeded, with the time of the answer.
    pub acknowledged: Vec<(usize, Instant)>,
    /// Requests that went out, whatever came of them.
    pub exchanges: Vec<Exchange>,
    /// Steps that failed.
    pub failures: Vec<Failure>,
    /// Steps that were not sent because one they wait for failed.
    pub skipped: Vec<usize>,
}
