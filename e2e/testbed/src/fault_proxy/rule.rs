//! Which requests meet with which fault.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context, Result};
use http::StatusCode;
use tokio::sync::watch;

use super::request::Seen;

/// What a client gets in the place of the API server's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Code of the answer, which has a `Status` for a body as from an API server.
    pub code: StatusCode,
    /// Seconds of the `Retry-After` header.
    pub retry_after: Option<u64>,
}

impl Answer {
    /// An answer without further headers.
    pub fn new(code: StatusCode) -> Self {
        Self { code, retry_after: None }
    }
}

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends before the API server sees the request.
    CutBefore,
    /// The API server does what it is asked, and the connection ends without an answer.
    CutAfter,
    /// The API server never sees the request.
    AnswerBefore(Answer),
    /// The API server does what it is asked, and the client gets another answer.
    AnswerAfter(Answer),
    /// Nothing happens until [`Planned::release`]; then it goes on as without a fault.
    HoldBefore,
    /// The API server does what it is asked, and the answer waits for [`Planned::release`].
    HoldAfter,
    /// Another user changes the object just before.
    Race,
}

impl Fault {
    /// Whether it shows only once the API server has done what it was asked.
    pub(super) fn comes_after(&self) -> bool {
        matches!(self, Self::CutAfter | Self::AnswerAfter(_) | Self::HoldAfter)
    }
}

type Matches = Box<dyn Fn(&Seen) -> bool + Send + Sync>;

/// A fault and the requests it is for. Faults that come after the answer count only requests that the API server
/// accepted.
pub struct Rule {
    fault: Fault,
    matches: Matches,
    skip: usize,
    times: usize,
}

impl Rule {
    /// The fault for the first request that matches.
    pub fn new(fault: Fault, matches: impl Fn(&Seen) -> bool + Send + Sync + 'static) -> Self {
        Self { fault, matches: Box::new(matches), skip: 0, times: 1 }
    }

    /// Lets so many matching requests pass first.
    #[must_use]
    pub fn after(self, skip: usize) -> Self {
        Self { skip, ..self }
    }

    /// For so many requests instead of one.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    pub(super) fn into_parts(self) -> (Planned, Pending) {
        let state = Arc::new(watch::Sender::new(State::default()));
        let pending = Pending {
            fault: self.fault,
            matches: self.matches,
            skip: self.skip,
            times: self.times,
            state: Arc::downgrade(&state),
        };
        (Planned { state }, pending)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} times after {}", self.fault, self.times, self.skip)
    }
}

#[derive(Clone, Debug, Default)]
struct State {
    hits: Vec<Hit>,
    released: bool,
}

/// A request that met with its fault.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The request.
    pub seen: Seen,
}

/// A fault in force. Dropping it ends the fault for requests to come.
#[derive(Debug)]
pub struct Planned {
    state: Arc<watch::Sender<State>>,
}

impl Planned {
    /// The requests that have met with the fault.
    pub fn hits(&self) -> Vec<Hit> {
        self.state.borrow().hits.clone()
    }

    /// Waits for the first request that meets with the fault.
    pub async fn happened(&self, deadline: Duration) -> Result<Hit> {
        let mut state = self.state.subscribe();
        let hit = state.wait_for(|state| !state.hits.is_empty());
        let hit = tokio::time::timeout(deadline, hit).await.context("no request met the fault")?;
        hit.context("the fault is gone")?.hits.first().cloned().context("a hit")
    }

    /// Lets what is held go on.
    pub fn release(&self) {
        self.state.send_modify(|state| state.released = true);
    }
}

/// [`Planned`] seen from the proxy.
pub(super) struct Pending {
    fault: Fault,
    matches: Matches,
    skip: usize,
    times: usize,
    state: Weak<watch::Sender<State>>,
}

/// A fault that a request has met.
#[derive(Debug)]
pub(super) struct Met {
    pub(super) fault: Fault,
    state: watch::Receiver<State>,
}

impl Met {
    /// Waits for the release. For ever, if the fault ends without one.
    pub(super) async fn released(&mut self) {
        if self.state.wait_for(|state| state.released).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[derive(Default)]
pub(super) struct Rules(Vec<Pending>);

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rules", self.0.len())
    }
}

impl Rules {
    pub(super) fn add(&mut self, pending: Pending) {
        self.0.retain(|one| one.state.strong_count() > 0 && one.times > 0);
        self.0.push(pending);
    }

    /// The fault that this request meets `after` it was answered, or before; counted as met.
    pub(super) fn meet(&mut self, seen: &Seen, after: bool) -> Option<Met> {
        for rule in &mut self.0 {
            if rule.times == 0 || rule.fault.comes_after() != after || !(rule.matches)(seen) {
                continue;
            }
            let Some(state) = rule.state.upgrade() else { continue };
            if rule.skip > 0 {
                rule.skip -= 1;
                continue;
            }
            rule.times -= 1;
            let receiver = state.subscribe();
            state.send_modify(|state| state.hits.push(Hit { seen: seen.clone() }));
            return Some(Met { fault: rule.fault.clone(), state: receiver });
        }
        None
    }
}
