//! One Lease that this process claims: what the elector decides, sent to the API server.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::Client;

use super::elector::{Elector, Found, NextAction, Object};
use super::notes::Notes;
use super::server::{Failure, LeaseServer};
use super::timing::Timing;
use crate::clock::{BootClock, Clock};

/// A claim, and what is known of its Lease.
pub(super) struct Claim {
    elector: Elector,
    server: LeaseServer,
    timing: Timing,
    clock: BootClock,
    wall: Clock,
    complained: bool,
}

/// What became of one request.
pub(super) enum Step {
    /// The next one follows at once.
    Again,
    /// The Lease was renewed; the time until the next renewal.
    Renewed(Duration),
    /// It was not; the time until the next attempt.
    Waits(Duration),
}

impl Claim {
    /// A claim of `holder` to a Lease. `client` must not retry by itself.
    pub(super) fn new(
        holder: String,
        timing: Timing,
        client: Client,
        (namespace, name): (&str, String),
        manager: &str,
        clock: BootClock,
    ) -> Self {
        Self {
            elector: Elector::new(holder, timing),
            server: LeaseServer::new(client, namespace, name, manager),
            timing,
            clock,
            wall: Clock::system(),
            complained: false,
        }
    }

    /// Writes what `annotations` returns with each renewal.
    pub(super) fn annotate(
        &mut self,
        annotations: impl Fn() -> BTreeMap<String, String> + Send + Sync + 'static,
    ) {
        self.server.annotate(annotations);
    }

    /// Keeps notes in the Lease.
    pub(super) fn keep(&mut self, notes: Notes) {
        let Notes { write, read } = notes;
        self.server.annotate(write);
        self.server.hand_on(read);
    }

    /// For how much longer the claim stands.
    pub(super) fn left(&self) -> Duration {
        self.leads_until().saturating_sub(self.clock.now())
    }

    /// Until when it stands: a time of the clock.
    pub(super) fn leads_until(&self) -> Duration {
        self.elector.leads_until()
    }

    /// Who has the Lease, as far as known; empty if it is free.
    pub(super) fn holder(&self) -> &str {
        self.elector.holder()
    }

    /// Sends what is to be sent now. After a conflict it reads the Lease at once, if `may_look_again`, which it clears.
    pub(super) async fn step(&mut self, may_look_again: &mut bool) -> Step {
        let sent = self.clock.now();
        match self.elector.decide(sent, self.wall.now()) {
            NextAction::Wait => {
                self.elector.forget();
                Step::Waits(self.timing.pause(fastrand::f64()))
            }
            NextAction::Read => match self.server.read(self.timing.request_timeout()).await {
                Ok(found) => {
                    self.elector.read(self.clock.now(), found);
                    Step::Again
                }
                Err(failure) => self.failed(&failure),
            },
            NextAction::Write { at, record } => match self.write(at, &record).await {
                Ok(found) => {
                    self.complained = false;
                    self.elector.wrote(sent, found);
                    Step::Renewed(self.timing.retry_period)
                }
                Err(failure) => {
                    self.elector.forget();
                    let conflict = failure == Failure::Conflict;
                    if conflict && std::mem::take(may_look_again) {
                        Step::Again
                    } else {
                        self.failed(&failure)
                    }
                }
            },
        }
    }

    /// Gives the Lease back, if it is ours. Returns whether it was given back.
    pub(super) async fn release(&mut self) -> bool {
        let released = self.elector.release(self.clock.now(), self.wall.now());
        let Some(NextAction::Write { at, record }) = released else { return false };
        let written = self.write(at, &record).await;
        if let Err(failure) = &written {
            self.complain(failure);
        }
        written.is_ok()
    }

    async fn write(&self, at: Option<String>, record: &Object) -> Result<Found, Failure> {
        self.server.write(at, record, self.timing.request_timeout()).await
    }

    fn failed(&mut self, failure: &Failure) -> Step {
        self.complain(failure);
        Step::Waits(self.timing.retry_period)
    }

    /// Once until the next success.
    fn complain(&mut self, failure: &Failure) {
        let lease = self.server.name();
        if std::mem::replace(&mut self.complained, true) {
            tracing::debug!(lease, error = %failure, "Lease request failed");
        } else {
            let leading = !self.left().is_zero();
            tracing::warn!(lease, error = %failure, leading, "Lease request failed");
        }
    }
}
