//! Runs plans, on all processors, and repeats those that fail.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fleet_oracle::{judge_history, judge_rests};

use crate::act::{self, Act};
use crate::base::{Base, FEW_MEMBERS, MEMBERS};
use crate::effects::{Effect, Effects};
use crate::env::{Env, Moment};
use crate::random::Random;
use crate::record::{self, Start};
use crate::shrink::shrink;
use crate::world::World;

/// Of so many seeds each disturbance has had an effect.
const MANY_SEEDS: u64 = 500;

/// What came of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) findings: Vec<String>,
    pub(crate) acts: usize,
    pub(crate) plans: usize,
    pub(crate) writes: usize,
    pub(crate) crashes: usize,
    /// Writes that were begun, whatever became of them.
    pub(crate) begun: usize,
    pub(crate) asked: usize,
    pub(crate) judged: Option<Judged>,
    /// As in [`World::dearest`].
    pub(crate) dearest: usize,
    pub(crate) passed: Duration,
    effects: Effects,
    log: Vec<String>,
}

/// What the oracle was asked about the record of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// All that needs no audit log.
    Whole,
    /// What must be so at rest: the hub got another store, and the record begins there.
    Rests,
}

/// What came of many.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) first: u64,
    pub(crate) count: u64,
    sums: Outcome,
    runs: usize,
    judged_whole: usize,
    judged_rests: usize,
    /// How to repeat them, and what was found first.
    pub(crate) failed: Vec<(String, String)>,
}

impl Totals {
    fn add(&mut self, name: String, outcome: Outcome) {
        self.runs += 1;
        self.sums.acts += outcome.acts;
        self.sums.plans += outcome.plans;
        self.sums.writes += outcome.writes;
        self.sums.crashes += outcome.crashes;
        self.sums.asked += outcome.asked;
        self.sums.passed += outcome.passed;
        self.sums.dearest = self.sums.dearest.max(outcome.dearest);
        self.sums.effects.add(&outcome.effects);
        self.judged_whole += usize::from(outcome.judged == Some(Judged::Whole));
        self.judged_rests += usize::from(outcome.judged == Some(Judged::Rests));
        if let Some(first) = outcome.findings.into_iter().next() {
            eprintln!("FLEET_SEED={name}: {first}");
            self.failed.push((name, first));
        }
    }

    fn and(mut self, other: Self) -> Self {
        self.sums.acts += other.sums.acts;
        self.sums.plans += other.sums.plans;
        self.sums.writes += other.sums.writes;
        self.sums.crashes += other.sums.crashes;
        self.sums.asked += other.sums.asked;
        self.sums.passed += other.sums.passed;
        self.sums.dearest = self.sums.dearest.max(other.sums.dearest);
        self.sums.effects.add(&other.sums.effects);
        self.runs += other.runs;
        self.judged_whole += other.judged_whole;
        self.judged_rests += other.judged_rests;
        self.failed.extend(other.failed);
        self
    }

    /// Disturbances without any effect, of so many seeds that all should have had one. One plan that is run again and again has its own.
    pub(crate) fn missing(&self) -> Vec<Effect> {
        if self.count < MANY_SEEDS { Vec::new() } else { self.sums.effects.missing() }
    }

    /// The first failing plans.
    pub(crate) fn failures(&self) -> String {
        let line = |(name, what): &(String, String)| format!("FLEET_SEED={name}: {what}");
        self.failed.iter().take(20).map(line).collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, count, sums, runs, judged_whole, judged_rests, failed } = self;
        write!(
            f,
            "seeds {first} to {}: {runs} plans with {} acts in {} hours, {} plans of keys, {} writes each looked at ({} changes), at most {} % of \
             what may be written, {} crashes, {judged_whole} histories judged by the oracle and {judged_rests} since the hub's last store; {} failed\nEffects: {}",
            first + count - 1,
            sums.acts,
            sums.passed.as_secs() / 3600,
            sums.plans,
            sums.writes,
            sums.asked,
            sums.dearest,
            sums.crashes,
            failed.len(),
            sums.effects,
        )
    }
}

/// How large fleets and plans are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) members: usize,
    pub(crate) rounds: usize,
}

impl Size {
    pub(crate) const SMALL: Self = Self { members: FEW_MEMBERS, rounds: 1 };
    pub(crate) const WHOLE: Self = Self { members: MEMBERS, rounds: 3 };
}

/// Runs so many plans, each by itself.
pub(crate) fn run_all(size: Size, first: u64, count: u64) -> Totals {
    each_seed(size, first, count, |base, seed, totals| {
        totals.add(seed.to_string(), run(base, seed, &acts(size, seed), false));
    })
}

/// Runs each plan as often as agents write in it, and each time one of its writes kills the process that makes it: of `one_in`
/// writes one is tried.
pub(crate) fn kill_at_each_write(size: Size, first: u64, count: u64, one_in: usize) -> Totals {
    each_seed(size, first, count, |base, seed, totals| {
        let acts = acts(size, seed);
        let whole = run(base, seed, &acts, false);
        let (is_fine, writes) = (whole.findings.is_empty(), whole.begun);
        totals.add(seed.to_string(), whole);
        for write in (1..=writes).step_by(one_in).take_while(|_| is_fine) {
            for moment in Moment::ALL {
                let name = format!("{seed} FLEET_WRITE={write} FLEET_MOMENT={moment:?}");
                totals.add(name, run(base, seed, &with_death(&acts, write, moment), false));
            }
        }
    })
}

fn with_death(acts: &[Act], write: usize, moment: Moment) -> Vec<Act> {
    [&[Act::Fatal { write, moment }], acts].concat()
}

/// Does something with so many seeds, on all processors.
fn each_seed(
    size: Size,
    first: u64,
    count: u64,
    work: impl Fn(&Base, u64, &mut Totals) + Sync,
) -> Totals {
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let worker = || {
        let (base, mut totals) = (Base::joined(size.members), Totals::default());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return totals;
            }
            work(&base, seed, &mut totals);
        }
    };
    let mut totals = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let all = workers.into_iter().map(|worker| worker.join().unwrap());
        all.reduce(Totals::and).unwrap()
    });
    (totals.first, totals.count) = (first, count);
    totals.failed.sort();
    totals
}

fn acts(size: Size, seed: u64) -> Vec<Act> {
    act::plan(&mut Random::new(seed), size.members, size.rounds)
}

/// Runs a plan. A panic is a finding.
fn run(base: &Base, seed: u64, acts: &[Act], is_told: bool) -> Outcome {
    let result = catch_unwind(AssertUnwindSafe(|| perform(base, seed, acts, is_told)));
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let finding = format!("panic: {}", text.unwrap_or_default());
        Outcome { findings: vec![finding], ..Outcome::default() }
    })
}

fn perform(base: &Base, seed: u64, acts: &[Act], is_told: bool) -> Outcome {
    let mut world = World::new(base, seed ^ 0x5eed);
    if is_told {
        world.fleet.env.log = Some(Vec::new());
    }
    for act in acts {
        world.perform(act);
        if !world.is_fine() {
            break;
        }
    }
    if world.is_fine() {
        world.withdraw();
    }
    let judged = world.is_fine().then(|| judge(base, &mut world));
    let dearest = world.dearest;
    let mut env = world.fleet.env;
    if let Ok(kinds) = std::env::var("FLEET_SHOW") {
        show(&mut env, &kinds);
    }
    Outcome {
        findings: env.findings,
        acts: acts.len(),
        plans: env.plans,
        writes: env.writes,
        crashes: env.crashes,
        begun: env.begun,
        asked: env.questions.asked,
        judged,
        dearest,
        effects: env.effects,
        passed: env.now.saturating_sub(base.now),
        log: env.log.unwrap_or_default(),
    }
}

fn judge(base: &Base, world: &mut World) -> Judged {
    let (judged, violations) = match &world.replaced {
        None => (Judged::Whole, judge_history(&record::of(&Start::of(&base.servers), world))),
        Some(start) => (Judged::Rests, judge_rests(&record::of(start, world))),
    };
    world.fleet.env.findings.extend(violations.iter().map(ToString::to_string));
    judged
}

/// Shows all objects of these kinds as they were in the end.
fn show(env: &mut Env, kinds: &str) {
    for at in 0..env.servers.0.len() {
        let objects = env.servers.0[at].model.all_objects();
        let wanted = objects.filter(|(kind, ..)| kinds.split(',').any(|one| one == kind.kind));
        let lines: Vec<_> = wanted
            .map(|(kind, name, object)| format!("{at}: {} {name}: {object}", kind.kind))
            .collect();
        for line in lines {
            env.note(|| line);
        }
    }
}

/// All that happens in a plan, a line each.
pub(crate) fn steps(size: Size, seed: u64) -> Vec<String> {
    run(&Base::joined(size.members), seed, &acts(size, seed), true).log
}

/// Repeats a plan and, where it fails, prints what is needed for that. `death` is the write at which a process is killed.
pub(crate) fn repeat(size: Size, seed: u64, death: Option<(usize, Moment)>) {
    let base = Base::joined(size.members);
    let mut acts = acts(size, seed);
    if let Some((write, moment)) = death {
        acts = with_death(&acts, write, moment);
    }
    let first = run(&base, seed, &acts, false);
    let Some(found) = first.findings.first().cloned() else {
        eprintln!("seed {seed} holds: {acts:#?}");
        return;
    };
    let code = |finding: &str| finding.split(':').next().unwrap_or_default().to_owned();
    let fails = |fewer: &[Act]| {
        let outcome = run(&base, seed, fewer, false);
        outcome.findings.first().is_some_and(|finding| code(finding) == code(&found))
    };
    let acts = shrink(acts, fails);
    let Outcome { findings, log, .. } = run(&base, seed, &acts, true);
    eprintln!("{}\n", log.join("\n"));
    panic!("seed {seed} fails with {acts:#?}\n{}", findings.join("\n"));
}
