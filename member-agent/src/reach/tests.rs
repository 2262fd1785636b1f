//! A network that is played: which dials are answered is decided by the test.

mod reports;
mod scans;
mod sources;
mod stops;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use fleet_api::ObjectName;
use fleet_api::multicluster::{ReachApi, ReachHop};

use super::cell::{Cell, Destination, Dial, Imported};
use super::outcome::Outcome;
use super::prober::{EVERY, Prober};
use super::targets::{Front, Targets};
use super::verdict::{Verdict, verdicts};

/// Time until a dial without an answer is over.
const TIMEOUT: Duration = Duration::from_secs(2);

fn imported(service: &str) -> Imported {
    Imported { api: ReachApi::Standard, service: ObjectName::parse(service).unwrap() }
}

fn cell(service: &str, exporter: &str) -> Cell {
    Cell { imported: imported(service), exporter: exporter.into() }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Services by their cells and endpoints.
fn targets(cells: &[(&str, &str, &[&str])]) -> Targets {
    let cells = cells.iter().map(|(service, exporter, endpoints)| {
        let endpoints: BTreeSet<_> = endpoints.iter().map(|text| address(text)).collect();
        (cell(service, exporter), endpoints)
    });
    Targets { cells: cells.collect(), fronts: BTreeMap::new() }
}

fn with_front(mut targets: Targets, service: &str, front: &str, name: Option<&str>) -> Targets {
    let front = Front { address: address(front), name: name.map(Into::into) };
    targets.fronts.insert(imported(service), front);
    targets
}

/// Plays time: a dial is answered at once, or not at all.
struct World<F> {
    prober: Prober,
    now: Duration,
    waiting: Vec<(Duration, Dial)>,
    outcome: F,
    dials: Vec<(Duration, Dial)>,
}

impl<F: FnMut(&Destination, Duration) -> Outcome> World<F> {
    fn new(targets: Targets, outcome: F) -> Self {
        let mut prober = Prober::default();
        prober.aim(targets);
        let now = Duration::from_secs(100);
        Self { prober, now, waiting: Vec::new(), outcome, dials: Vec::new() }
    }

    fn run(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while self.now < end {
            self.now += EVERY / 4;
            let (over, waiting): (Vec<_>, Vec<_>) =
                self.waiting.drain(..).partition(|(until, _)| *until <= self.now);
            self.waiting = waiting;
            for (_, dial) in over {
                self.prober.heard(&dial, Outcome::TimedOut, self.now);
            }
            let Some(dial) = self.prober.next(self.now) else { continue };
            self.dials.push((self.now, dial.clone()));
            match (self.outcome)(&dial.to, self.now) {
                Outcome::TimedOut => self.waiting.push((self.now + TIMEOUT, dial)),
                outcome => self.prober.heard(&dial, outcome, self.now),
            }
        }
    }

    fn verdict(&self, service: &str, exporter: &str) -> Verdict {
        verdicts(&self.prober)[&cell(service, exporter)].clone()
    }

    fn hop(&self, service: &str, exporter: &str) -> Option<ReachHop> {
        match self.verdict(service, exporter) {
            Verdict::Stops(stop) => Some(stop.hop),
            _ => None,
        }
    }
}
