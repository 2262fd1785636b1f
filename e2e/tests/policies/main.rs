//! The admission policies of the hub's chart on a real API server: each rule P1 to P18 refuses its attack, from a member
//! that has every right that KubeFleet grants, and lets the legal write pass.
//!
//! The rules A1 to A7 and A9 of the member's chart hold the member agent to its own writes in the same way.
//!
//! One hub and one member for all; nothing runs on it but Kubernetes itself, so that what an agent would write is written by the tests,
//! with the agents' own accounts.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

mod addresses;
mod bounds;
mod cluster_reports;
mod documents;
mod exports;
mod flows;
mod imports;
mod legal;
mod member_agent;
mod member_offload;
mod member_policy;
mod member_standard;
mod multicluster;
mod objects;
mod offload;
mod ordinary;
mod quotas;
mod reach;
mod refusals;
mod sizes;
mod traffic;
mod verdicts;
mod ways;
mod world;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use world::World;

/// One runtime, because the clients belong to it, and one hub, that the first test starts.
struct Shared {
    world: OnceCell<Result<World, String>>,
    runtime: Runtime,
}

/// The tests, and what they share.
pub(crate) struct Tests {
    shared: Arc<Shared>,
    trials: Vec<Trial>,
}

impl Tests {
    /// Adds a test. Each works on objects of its own.
    pub(crate) fn add(
        &mut self,
        name: &'static str,
        test: impl AsyncFnOnce(&World) -> Result<()> + Send + 'static,
    ) {
        let shared = Arc::clone(&self.shared);
        let run = move || {
            let result = shared.runtime.block_on(async {
                let start = async || World::start().await.map_err(|error| format!("{error:#}"));
                let world = shared.world.get_or_init(start).await;
                test(world.as_ref().map_err(|error| anyhow!("no hub: {error}"))?).await
            });
            result.map_err(|error| Failed::from(format!("{error:#}")))
        };
        self.trials.push(Trial::test(name, run));
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let runtime = Runtime::new().expect("threads can be started");
    let shared = Arc::new(Shared { world: OnceCell::new(), runtime });
    let mut tests = Tests { shared: Arc::clone(&shared), trials: Vec::new() };
    documents::add(&mut tests);
    exports::add(&mut tests);
    addresses::add(&mut tests);
    bounds::add(&mut tests);
    sizes::add(&mut tests);
    member_policy::add(&mut tests);
    imports::add(&mut tests);
    verdicts::add(&mut tests);
    cluster_reports::add(&mut tests);
    multicluster::add(&mut tests);
    offload::add(&mut tests);
    reach::add(&mut tests);
    traffic::add(&mut tests);
    legal::add(&mut tests);
    ordinary::add(&mut tests);
    quotas::add(&mut tests);
    refusals::add(&mut tests);
    flows::add(&mut tests);
    member_agent::add(&mut tests);
    member_standard::add(&mut tests);
    member_offload::add(&mut tests);
    let conclusion = libtest_mimic::run(&arguments, tests.trials);
    // The hub ends with its runtime still there.
    if let Some(Shared { world, runtime }) = Arc::into_inner(shared) {
        runtime.block_on(async { drop(world) });
    }
    conclusion.exit_code()
}
