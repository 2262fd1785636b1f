//! Runs plans, on all processors, and repeats those that fail.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::act::{self, Act};
use crate::base::{Base, FEW_MEMBERS, MEMBERS};
use crate::env::Env;
use crate::random::Random;
use crate::record;
use crate::shrink::shrink;
use crate::world::World;

/// What came of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) findings: Vec<String>,
    pub(crate) acts: usize,
    pub(crate) plans: usize,
    pub(crate) writes: usize,
    pub(crate) crashes: usize,
    pub(crate) asked: usize,
    pub(crate) judged: bool,
    pub(crate) passed: Duration,
    log: Vec<String>,
}

/// What came of many.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) first: u64,
    pub(crate) count: u64,
    sums: Outcome,
    judged: usize,
    /// Seeds, and what was found first.
    pub(crate) failed: Vec<(u64, String)>,
}

impl Totals {
    fn add(&mut self, seed: u64, outcome: Outcome) {
        self.sums.acts += outcome.acts;
        self.sums.plans += outcome.plans;
        self.sums.writes += outcome.writes;
        self.sums.crashes += outcome.crashes;
        self.sums.asked += outcome.asked;
        self.sums.passed += outcome.passed;
        self.judged += usize::from(outcome.judged);
        if let Some(first) = outcome.findings.into_iter().next() {
            self.failed.push((seed, first));
        }
    }

    /// The first failing plans.
    pub(crate) fn failures(&self) -> String {
        let line = |(seed, what): &(u64, String)| format!("FLEET_SEED={seed}: {what}");
        self.failed.iter().take(20).map(line).collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, count, sums, judged, failed } = self;
        write!(
            f,
            "seeds {first} to {}: {} acts in {} hours, {} plans of keys, {} writes each looked at ({} changes), {} crashes, {judged} \
             histories judged by the oracle; {} failed",
            first + count - 1,
            sums.acts,
            sums.passed.as_secs() / 3600,
            sums.plans,
            sums.writes,
            sums.asked,
            sums.crashes,
            failed.len(),
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

/// Runs so many plans.
pub(crate) fn run_all(size: Size, first: u64, count: u64) -> Totals {
    let next = Arc::new(AtomicU64::new(first));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let next = Arc::clone(&next);
            std::thread::spawn(move || work(size, &next, first + count))
        })
        .collect();
    let mut totals = Totals { first, count, ..Totals::default() };
    for worker in workers {
        for (seed, outcome) in worker.join().unwrap() {
            totals.add(seed, outcome);
        }
    }
    totals.failed.sort();
    totals
}

fn work(size: Size, next: &AtomicU64, end: u64) -> Vec<(u64, Outcome)> {
    let base = Base::joined(size.members);
    let mut outcomes = Vec::new();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return outcomes;
        }
        let outcome = run(&base, seed, &acts(size, seed), false);
        if let Some(first) = outcome.findings.first() {
            eprintln!("FLEET_SEED={seed}: {first}");
        }
        outcomes.push((seed, outcome));
    }
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
    let judged = world.is_fine() && world.has_one_store();
    if judged {
        let violations = fleet_oracle::judge_history(&record::of(base, &world));
        let lines = violations.iter().map(ToString::to_string);
        world.fleet.env.findings.extend(lines);
    }
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
        asked: env.questions.asked,
        judged,
        passed: env.now.saturating_sub(base.now),
        log: env.log.unwrap_or_default(),
    }
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

/// Repeats a plan and, where it fails, prints what is needed for that.
pub(crate) fn repeat(size: Size, seed: u64) {
    let base = Base::joined(size.members);
    let acts = acts(size, seed);
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
