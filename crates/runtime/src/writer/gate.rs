//! Whether this process may write.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::clock::{BootClock, monotonic as now};

/// Another process may hold the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another process may hold the lease")]
pub struct NotLeader;

/// Asked before each request that changes something, and again when its bytes go out. Clones share
/// the state.
///
/// It closes by itself at a deadline, on a clock that also counts the time in which the process or
/// the machine stood still: a process that wakes up after that sends nothing, even if it has not
/// noticed yet that it lost the lease.
#[derive(Clone)]
pub struct WriteGate(Arc<Inner>);

struct Inner {
    /// Nanoseconds of `clock`: closed from then on.
    until: AtomicU64,
    clock: BootClock,
    term: watch::Sender<Term>,
}

/// A time without interruption in which this process may write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    number: u64,
    /// Since when. What was read before may lack what another process has written.
    pub(crate) since: Instant,
    open: bool,
}

impl fmt::Debug for WriteGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WriteGate").field(&*self.0.term.borrow()).finish()
    }
}

impl WriteGate {
    /// A gate that lets writes through, for a process without a rival.
    pub fn open() -> Self {
        let gate = Self::closed(BootClock::system());
        gate.open_until(Duration::MAX);
        gate
    }

    /// A gate that lets nothing through before it is opened.
    pub fn closed(clock: BootClock) -> Self {
        let term = watch::Sender::new(Term { number: 0, since: now(), open: false });
        Self(Arc::new(Inner { until: AtomicU64::new(0), clock, term }))
    }

    /// Opens the gate, or leaves it open, until a time of its clock. If it was closed in between,
    /// be it by its own deadline, this begins a new term.
    pub fn open_until(&self, until: Duration) {
        let lapsed = self.check().is_err();
        self.0.until.store(nanos(until), Ordering::Release);
        self.0.term.send_if_modified(|term| {
            let begins = lapsed || !term.open;
            if begins {
                *term = Term { number: term.number + 1, since: now(), open: true };
            }
            begins
        });
    }

    /// Closes the gate. Requests that are on their way are not called back.
    pub fn close(&self) {
        self.0.until.store(0, Ordering::Release);
        self.0.term.send_if_modified(|term| std::mem::take(&mut term.open));
    }

    /// Whether a write may be sent now.
    ///
    /// # Errors
    /// While the gate is closed.
    pub fn check(&self) -> Result<(), NotLeader> {
        let until = self.0.until.load(Ordering::Acquire);
        if nanos(self.0.clock.now()) < until { Ok(()) } else { Err(NotLeader) }
    }

    /// The terms from now on.
    pub(crate) fn terms(&self) -> Terms {
        Terms { term: self.0.term.subscribe(), _keep: self.clone() }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Follows the terms of a gate.
pub(crate) struct Terms {
    term: watch::Receiver<Term>,
    /// The channel stays open.
    _keep: WriteGate,
}

impl Terms {
    /// Waits for a term to begin, unless one has. Cancel safe.
    pub(crate) async fn begin(&mut self) -> Term {
        let begun = self.term.wait_for(|term| term.open).await.map(|term| *term).ok();
        match begun {
            Some(term) => term,
            // Cannot be: this holds a sender.
            None => std::future::pending().await,
        }
    }

    /// Waits for the end of a term. Cancel safe.
    pub(crate) async fn end(&mut self, begun: Term) {
        let over = |term: &Term| !term.open || term.number != begun.number;
        let over = self.term.wait_for(over).await.is_ok();
        if !over {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn gate() -> (BootClock, WriteGate) {
        let clock = BootClock::by_hand();
        (clock.clone(), WriteGate::closed(clock))
    }

    #[test]
    fn it_closes_by_itself() {
        let (clock, gate) = gate();
        assert_eq!(gate.check(), Err(NotLeader));
        gate.open_until(Duration::from_secs(10));
        assert_eq!(gate.check(), Ok(()));
        clock.advance(Duration::from_secs(10));
        assert_eq!(gate.check(), Err(NotLeader));
    }

    #[test]
    fn without_a_rival_it_never_closes() {
        let gate = WriteGate::open();
        assert_eq!(gate.check(), Ok(()));
        gate.close();
        assert_eq!(gate.check(), Err(NotLeader));
    }

    #[test]
    fn a_term_lasts_while_the_gate_is_opened_again_in_time() {
        let (clock, gate) = gate();
        let mut terms = gate.terms();
        assert!(terms.begin().now_or_never().is_none());
        gate.open_until(Duration::from_secs(10));
        let first = terms.begin().now_or_never().unwrap();
        clock.advance(Duration::from_secs(9));
        gate.open_until(Duration::from_secs(19));
        assert!(terms.end(first).now_or_never().is_none());
        gate.close();
        assert!(terms.end(first).now_or_never().is_some());
        assert!(terms.begin().now_or_never().is_none());
    }

    #[test]
    fn a_term_that_lapsed_unnoticed_is_over_when_the_next_begins() {
        let (clock, gate) = gate();
        let mut terms = gate.terms();
        gate.open_until(Duration::from_secs(10));
        let first = terms.begin().now_or_never().unwrap();
        clock.advance(Duration::from_mins(1));
        gate.open_until(Duration::from_secs(70));
        assert!(terms.end(first).now_or_never().is_some());
        let second = terms.begin().now_or_never().unwrap();
        assert_eq!(second.number, first.number + 1);
        assert!(second.since >= first.since);
    }
}
