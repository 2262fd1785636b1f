//! A Lease that shows others that an agent works: renewed by the process that leads, and by no other.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kube::Client;
use prometheus::IntCounterVec;
use tokio_util::sync::CancellationToken;

use super::claim::{Claim, Step};
use super::timing::Timing;
use crate::clock::BootClock;
use crate::writer::WriteGate;

/// How long a renewal that is not allowed now is put off.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// First renewals of a term that are tried again as soon as that. More of them only burden an API server that is slow anyway, and a
/// thousand agents may begin a term at once.
const EAGER_ATTEMPTS: u32 = 3;
/// Renewals come up to this much earlier, so that a thousand agents do not renew all at once for ever.
const SPREAD: f64 = 0.1;

/// A Lease that is kept: one holder, and no election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLease {
    /// Who writes it, for field managers.
    pub agent: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its holder: all processes that may renew it are one.
    pub holder: String,
    /// What the Lease asks for: how long others leave it alone after each renewal. In whole seconds.
    pub duration: Duration,
    /// Time between two renewals, and between two attempts.
    pub period: Duration,
}

impl KeptLease {
    fn timing(&self) -> Timing {
        Timing {
            duration: self.duration,
            renew_deadline: self.period * 2,
            retry_period: self.period,
            write_timeout: self.period,
        }
    }
}

/// Keeps one Lease.
pub struct LeaseKeeper<M> {
    claim: Claim,
    gate: WriteGate,
    /// Whether the Lease may be renewed now, beside the gate.
    may_renew: M,
    results: IntCounterVec,
    clock: BootClock,
    observer: Box<dyn Fn(Kept) + Send>,
}

/// What happens to a Lease that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// This process begins to renew it: it leads since then.
    Begun(Instant),
    /// It was renewed by a request that was sent at this time of the clock.
    Renewed(Duration),
}

impl<M: Fn() -> bool + Send> LeaseKeeper<M> {
    /// Renews `lease` by `clock` while `gate` is open and `may_renew`. `client` must not retry by itself. `results` counts renewals by
    /// `result`: `renewed` or `failed`.
    pub fn new(
        lease: KeptLease,
        client: Client,
        (gate, clock): (WriteGate, BootClock),
        may_renew: M,
        results: IntCounterVec,
    ) -> Self {
        for result in ["renewed", "failed"] {
            results.with_label_values(&[result]).inc_by(0);
        }
        let timing = lease.timing();
        let KeptLease { agent, namespace, name, holder, .. } = lease;
        let claim = Claim::new(holder, timing, client, (&namespace, name), agent, clock.clone());
        Self { claim, gate, may_renew, results, clock, observer: Box::new(|_| {}) }
    }

    /// Hands what happens to the Lease to `observer`.
    #[must_use]
    pub fn observed(self, observer: impl Fn(Kept) + Send + 'static) -> Self {
        Self { observer: Box::new(observer), ..self }
    }

    /// Writes what `annotations` returns with each renewal, which costs no request of its own.
    #[must_use]
    pub fn annotated(
        mut self,
        annotations: impl Fn() -> BTreeMap<String, String> + Send + Sync + 'static,
    ) -> Self {
        self.claim.annotate(annotations);
        self
    }

    /// Renews the Lease until `cancel`. It is not given back: that a process ends does not mean that the agent is gone.
    pub async fn run(mut self, cancel: CancellationToken) {
        let mut terms = self.gate.terms();
        while let Some(term) = cancel.run_until_cancelled(terms.begin()).await {
            (self.observer)(Kept::Begun(term.since));
            tokio::select! {
                () = cancel.cancelled() => return,
                () = terms.end(term) => {}
                () = self.keep() => {}
            }
        }
    }

    /// Renews while the term lasts: the caller ends it. The first renewal is tried again soon: who counts on renewals does not know yet
    /// whether they are possible.
    async fn keep(&mut self) {
        let mut eager = EAGER_ATTEMPTS;
        loop {
            let allowed = self.gate.check().is_ok() && (self.may_renew)();
            let pause = if allowed {
                let (renewed, pause) = self.renew().await;
                eager = if renewed { 0 } else { eager.saturating_sub(1) };
                if eager > 0 { pause.min(LOOK_AGAIN) } else { pause }
            } else {
                LOOK_AGAIN
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Whether it was renewed, and the time until the next renewal.
    async fn renew(&mut self) -> (bool, Duration) {
        // A process that led before may have renewed it since.
        let mut may_look_again = true;
        loop {
            let sent = self.clock.now();
            let (renewed, pause) = match self.claim.step(&mut may_look_again).await {
                Step::Again => continue,
                Step::Renewed(pause) => {
                    (self.observer)(Kept::Renewed(sent));
                    (true, pause)
                }
                Step::Waits(pause) => (false, pause),
            };
            let result = if renewed { "renewed" } else { "failed" };
            self.results.with_label_values(&[result]).inc();
            return (renewed, pause.mul_f64(1.0 - SPREAD * fastrand::f64()));
        }
    }
}
