//! Which of several processes of the same agent writes: the one that holds the Lease.
//!
//! The [elector] decides, without clock and client; this is the thin loop around it. What it decides
//! becomes a deadline of the [`WriteGate`], which the writer looks at before each request. A process
//! that does not hold the lease plans nothing, watches on, and is a candidate.

mod claim;
mod elector;
mod keeper;
mod notes;
mod server;
mod timing;

#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::clock::BootClock;
use crate::metrics::LeaseMetrics;
use crate::writer::WriteGate;
use claim::{Claim, Step};

pub use keeper::{Kept, KeptLease, LeaseKeeper};
pub use notes::Notes;
pub use timing::{Timing, TimingError};

/// The end of the names of Leases. Each agent has its own, so that a hub may be a member as well.
const GROUP: &str = "networking.fleet.azure.com";

/// What an election is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseSettings {
    /// Which agent; its Lease is `<agent>.networking.fleet.azure.com`.
    pub agent: &'static str,
    /// Its namespace in the agent's own cluster.
    pub namespace: String,
    /// How long things take.
    pub timing: Timing,
}

/// This process in an election.
pub struct Candidate {
    claim: Claim,
    identity: String,
    gate: WriteGate,
    clock: BootClock,
    metrics: LeaseMetrics,
    leads: bool,
}

/// A name that no other process has: that of the Pod or machine, and a random number.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|host| !host.is_empty());
    let host =
        host.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
    // Seeded by the system: fastrand begins with the time, at which another process may have started as well.
    format!("{host}_{:016x}", RandomState::new().hash_one(std::process::id()))
}

impl Candidate {
    /// A candidate that opens and closes `gate`. `client` must not retry by itself.
    pub fn new(
        settings: &LeaseSettings,
        client: Client,
        gate: WriteGate,
        clock: BootClock,
        metrics: LeaseMetrics,
    ) -> Self {
        let LeaseSettings { agent, namespace, timing } = settings;
        let (identity, lease) = (identity(), (namespace.as_str(), format!("{agent}.{GROUP}")));
        let claim = Claim::new(identity.clone(), *timing, client, lease, agent, clock.clone());
        metrics.leads.set(0);
        Self { claim, identity, gate, clock, metrics, leads: false }
    }

    /// Keeps notes in the Lease.
    #[must_use]
    pub fn noted(mut self, notes: Notes) -> Self {
        self.claim.keep(notes);
        self
    }

    /// Stands for election until `cancel`. Then waits for `written`, which is when the last write
    /// was answered, and gives the lease back.
    pub async fn run(mut self, cancel: CancellationToken, written: impl Future<Output = ()>) {
        tracing::info!(identity = self.identity, "Standing for election");
        while !cancel.is_cancelled() {
            let pause = self.turn().await;
            if cancel.run_until_cancelled(self.pause(pause)).await.is_none() {
                break;
            }
        }
        written.await;
        self.give_back().await;
    }

    /// Does what is to be done now. Returns how long to wait then.
    async fn turn(&mut self) -> Duration {
        // A holder whose renewal is refused looks at once who was there; a candidate has lost a race.
        let mut may_look_again = self.leads;
        loop {
            self.show();
            if let Step::Renewed(pause) | Step::Waits(pause) =
                self.claim.step(&mut may_look_again).await
            {
                self.show();
                return pause;
            }
        }
    }

    /// Waits, but shows it when the gate closes meanwhile.
    async fn pause(&mut self, pause: Duration) {
        let left = self.claim.left();
        if self.leads && left < pause {
            tokio::time::sleep(left).await;
            self.show();
            tokio::time::sleep(pause.saturating_sub(left)).await;
        } else {
            tokio::time::sleep(pause).await;
        }
    }

    /// Makes the gate, the metrics and the log show the elector's state.
    fn show(&mut self) {
        let until = self.claim.leads_until();
        let leads = self.clock.now() < until;
        // It may have been lost and got again while this process stood still.
        if self.leads && !(leads && self.gate.check().is_ok()) {
            self.leads = false;
            self.metrics.lost.inc();
            self.metrics.leads.set(0);
            tracing::warn!(holder = self.claim.holder(), "Lost leadership");
        }
        if leads {
            self.gate.open_until(until);
        } else {
            self.gate.close();
        }
        if leads && !self.leads {
            self.leads = true;
            self.metrics.gained.inc();
            self.metrics.leads.set(1);
            tracing::info!(identity = self.identity, "Acquired leadership");
        }
    }

    async fn give_back(&mut self) {
        self.gate.close();
        self.metrics.leads.set(0);
        if self.claim.release().await {
            tracing::info!(identity = self.identity, "Released the lease");
        }
    }
}
