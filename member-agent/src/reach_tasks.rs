//! The task that dials what [`reach`](crate::reach) decides, shows the verdicts as metrics, and reports them to the hub. It runs while
//! this process leads and its cluster takes part in the fleet.

mod dialer;
mod reporter;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fleet_accumulator::{Accumulator, Tracked, View, diff};
use fleet_api::multicluster::{ReachHop, ReachReportSpec};
use fleet_runtime::agent::Connected;
use fleet_runtime::clients::ClientSet;
use fleet_runtime::clock::{BootClock, Clock};
use fleet_runtime::writer::WriteGate;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::Settings;
use crate::member_lease::works;
use crate::metrics::ReachMetrics;
use crate::reach::cell::{Cell, Dial, Target};
use crate::reach::outcome::Outcome;
use crate::reach::prober::{EVERY, Prober};
use crate::reach::report::{Calendar, Publisher, report};
use crate::reach::targets::Targets;
use crate::reach::verdict::{Verdict, verdicts};
use crate::snapshot::MemberSnapshot;
use dialer::{Dialer, Result};
use reporter::Reporter;

/// How often it is looked whether something else is imported.
const LOOK: Duration = Duration::from_secs(1);
/// A look that takes long is not repeated before so many times its duration: in a cluster where much changes it takes at most this part of a
/// processor.
const SHARE: u32 = 250;

/// Starts the task.
pub(crate) fn start(
    agent: &mut Connected<MemberSnapshot>,
    settings: &Settings,
    hub: &ClientSet,
) -> std::result::Result<(), prometheus::Error> {
    let metrics = ReachMetrics::register(agent.registry())?;
    let accumulator = agent.accumulator().clone();
    let reporter = Reporter::new(hub.write.clone(), &settings.identity);
    let settings = settings.clone();
    agent.task("reachability", |gate, cancel| async move {
        let work = Work {
            settings,
            accumulator,
            gate,
            metrics,
            reporter,
            dialer: Dialer::default(),
            clock: BootClock::system(),
            probe: Probe::default(),
            dials: JoinSet::new(),
            writes: JoinSet::new(),
        };
        cancel_at(work, cancel).await;
    });
    Ok(())
}

async fn cancel_at(mut work: Work, cancel: CancellationToken) {
    cancel.run_until_cancelled(work.run()).await;
}

/// What this process knows while it leads.
#[derive(Default)]
struct Probe {
    prober: Prober,
    publisher: Publisher,
    /// What is imported, and when it was looked.
    seen: Option<Arc<MemberSnapshot>>,
    looked: Option<Duration>,
    /// Aims and verdicts are not made anew before then.
    aims: Duration,
    tells: Duration,
    report: Option<ReachReportSpec>,
}

struct Work {
    settings: Settings,
    accumulator: Accumulator<MemberSnapshot>,
    gate: WriteGate,
    metrics: ReachMetrics,
    reporter: Reporter,
    dialer: Dialer,
    clock: BootClock,
    probe: Probe,
    dials: JoinSet<(Dial, Result)>,
    writes: JoinSet<Option<ReachReportSpec>>,
}

impl Work {
    async fn run(&mut self) {
        let mut ticks = tokio::time::interval(EVERY);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    self.tick();
                    // One that comes a little late would make the next one early, which dials nothing: that was every other one.
                    ticks.reset();
                }
                Some(Ok((dial, result))) = self.dials.join_next() => self.heard(&dial, result),
                Some(Ok(written)) = self.writes.join_next() => self.written(written),
            }
        }
    }

    fn tick(&mut self) {
        if self.gate.check().is_err() {
            self.rest();
            return;
        }
        let now = self.clock.now();
        if self.probe.looked.is_none_or(|last| now.saturating_sub(last) >= LOOK) {
            self.probe.looked = Some(now);
            if !self.look() {
                return;
            }
            self.tell(now);
        }
        if let Some(dial) = self.probe.prober.next(now) {
            let dialler = self.dialer.clone();
            self.dials.spawn(async move {
                let result = dialler.dial(&dial.to).await;
                (dial, result)
            });
        }
    }

    /// Forgets everything, if there is something: another process leads, or the cluster has left the fleet.
    fn rest(&mut self) {
        if self.probe.seen.is_some() {
            let publisher = self.probe.publisher.rested();
            self.probe = Probe { publisher, ..Probe::default() };
            // With them go results that have not been taken yet.
            self.dials = JoinSet::new();
            self.writes = JoinSet::new();
            self.metrics.show([0; 4], |_| 0);
        }
    }

    /// Aims at what is imported now. False if nothing is to be dialled.
    fn look(&mut self) -> bool {
        let snapshot = self.accumulator.snapshot();
        if !works(&self.settings.identity, &snapshot) {
            self.rest();
            return false;
        }
        let is_other = |old: &Arc<MemberSnapshot>| {
            differs(&old.endpoint_slices, &snapshot.endpoint_slices)
                || differs(&old.services, &snapshot.services)
                || differs(&old.standard_imports, &snapshot.standard_imports)
        };
        let begin = self.clock.now();
        if begin >= self.probe.aims && self.probe.seen.as_ref().is_none_or(is_other) {
            self.probe.prober.aim(Targets::of(&self.settings, &snapshot));
            self.probe.seen = Some(snapshot);
            self.probe.aims = self.again(begin);
        }
        true
    }

    /// Shows what is known, and reports it if it is time.
    fn tell(&mut self, now: Duration) {
        let begin = self.clock.now();
        if begin >= self.probe.tells && self.probe.prober.take_changed() {
            let found = verdicts(&self.probe.prober);
            let calendar = Calendar { now: Clock::system().now(), at: now };
            let names = self.settings.reachability.names();
            let report = report(&found, names, calendar);
            let counts = [report.reachable, report.unreachable, report.unknown, report.not_dialled];
            let hops = by_hop(&found);
            self.metrics.show(counts, |hop| hops.get(&hop).copied().unwrap_or_default());
            self.probe.report = Some(report);
            self.probe.tells = self.again(begin);
        }
        let Some(report) = &self.probe.report else { return };
        if self.writes.is_empty() && self.probe.publisher.is_due(report, now) {
            let (reporter, report) = (self.reporter.clone(), report.clone());
            self.writes.spawn(async move { reporter.write(report).await });
        }
    }

    /// When something that began then, and has just ended, may be done again.
    fn again(&self, begin: Duration) -> Duration {
        let took = self.clock.now().saturating_sub(begin);
        begin.saturating_add(took.saturating_mul(SHARE))
    }

    fn heard(&mut self, dial: &Dial, result: Result) {
        let target = match &dial.target {
            Target::Endpoints(_) => "endpoint",
            Target::Address(_) => "address",
            Target::Name(_) => "name",
        };
        let Result { outcome, elapsed } = result;
        let seconds = (outcome == Outcome::Ok).then_some(elapsed.as_secs_f64());
        self.metrics.dialled(target, outcome.label(), seconds);
        self.probe.prober.heard(dial, outcome, self.clock.now());
    }

    fn written(&mut self, written: Option<ReachReportSpec>) {
        self.metrics.reported(written.is_some());
        match written {
            Some(report) => self.probe.publisher.written(report),
            None => self.probe.publisher.forget(),
        }
    }
}

fn differs<T: Tracked>(old: &View<T>, new: &View<T>) -> bool {
    diff(old, new).next().is_some()
}

fn by_hop(verdicts: &BTreeMap<&Cell, Verdict>) -> BTreeMap<ReachHop, i64> {
    let mut hops = BTreeMap::new();
    for verdict in verdicts.values() {
        if let Verdict::Stops(stop) = verdict {
            *hops.entry(stop.hop).or_default() += 1;
        }
    }
    hops
}
