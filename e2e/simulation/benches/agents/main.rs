//! What one change costs an agent, from the text of its event to the plan, in fleets of any size; and what a whole list
//! costs. Time by criterion, and allocations.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench fails by panicking")]

#[path = "../../examples/replay/agent.rs"]
mod agent;
mod cases;
#[path = "../../examples/replay/fleet.rs"]
#[allow(dead_code, reason = "the replay uses the rest")]
mod fleet;
mod lists;
#[path = "../../examples/replay/server.rs"]
mod server;

use criterion::{Criterion, criterion_group, criterion_main};
use fleet::{Fleet, Shape};

/// Objects that an agent watches. The large ones are for measuring only, not to see whether it runs.
fn sizes() -> &'static [usize] {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    if has("--bench") && !has("--test") { &[10, 1_000, 100_000] } else { &[10] }
}

fn benches(criterion: &mut Criterion) {
    let fleet = Fleet::exchanged(Shape::default());
    for &size in sizes() {
        cases::hub(criterion, &fleet, size);
        cases::exporter(criterion, &fleet, size);
        cases::importer(criterion, &fleet, size);
    }
}

criterion_group! {
    name = all; config = Criterion::default().without_plots().sample_size(20); targets = benches
}
criterion_main!(all);
