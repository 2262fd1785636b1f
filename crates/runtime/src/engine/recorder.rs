//! What happens to the measurements of plans.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use fleet_plan::{Controller, Event, Step};
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::writer::Failure;

/// Message of admission where a policy has no parameters yet and its binding denies for that (kube-apiserver 1.36). It has not looked
/// at the content.
const NO_PARAMETERS: &str = "no params found";

/// Records the measurements of one controller's plans, and keeps what its metrics have to remember. It is no part of
/// planning: no plan depends on it.
pub trait Recorder<K, M>: Send + 'static {
    /// Records a measurement of `key` that was planned, or whose step was acknowledged, at `at`. Returns Events that
    /// follow from what is remembered.
    fn record(&mut self, key: &K, what: &M, at: Timestamp) -> Vec<Event>;

    /// A term begins, in which this process leads since that time; it is recorded before anything is planned in it. Other processes may
    /// have led since the last one, so what was remembered by the clock may not be so any more.
    fn begin(&mut self, since: Instant) {
        let _ = since;
    }

    /// Takes note that an API server has refused a step of `key`, with its words, and will refuse it again until something changes
    /// that no watch shows.
    fn refused(&mut self, key: &K, step: &Step, why: &str) {
        let _ = (key, step, why);
    }

    /// Takes note of what came of a step of `key` that was sent, each time. Steps that were not sent have no answer.
    fn answered(&mut self, key: &K, step: &Step, answer: Answer) {
        let _ = (key, step, answer);
    }
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was carried out.
    Acknowledged,
    /// An API server has refused its content, and would refuse it again: it is invalid, or denied by admission, a policy or a quota.
    Refused,
    /// It failed, and may be carried out later: no answer, an outdated view, a right, a kind, a namespace or the parameters of a
    /// policy that are missing.
    Open,
}

impl Answer {
    pub(super) fn of(failure: &Failure) -> Self {
        let is_refusal = failure.class.is_about_content();
        if is_refusal && !failure.message.contains(NO_PARAMETERS) {
            Self::Refused
        } else {
            Self::Open
        }
    }
}

/// How one controller is wired to its agent.
pub struct Options<C: Controller> {
    pub(crate) queue_name: Option<&'static str>,
    pub(crate) recorder: SharedRecorder<C>,
}

/// The recorder of a controller, for all its runs; `None` where nothing is measured.
pub(super) type SharedRecorder<C> =
    Option<Arc<Mutex<dyn Recorder<<C as Controller>::Key, <C as Controller>::Measurement>>>>;

impl<C: Controller> Options<C> {
    /// Measures the controller's queue by this name of another program's queue, too, whose place it takes.
    #[must_use]
    pub fn queue_name(self, name: impl Into<Option<&'static str>>) -> Self {
        Self { queue_name: name.into(), ..self }
    }

    /// Records the measurements of the controller's plans.
    #[must_use]
    pub fn recorder(self, recorder: impl Recorder<C::Key, C::Measurement>) -> Self {
        Self { recorder: Some(Arc::new(Mutex::new(recorder))), ..self }
    }
}

impl<C: Controller> Default for Options<C> {
    fn default() -> Self {
        Self { queue_name: None, recorder: None }
    }
}

impl<C: Controller> fmt::Debug for Options<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("queue_name", &self.queue_name).finish_non_exhaustive()
    }
}
