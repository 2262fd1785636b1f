//! Replays a fixed sequence of endpoint changes through both agents, between the text of watch events and plans, for
//! tools that count instructions: `replay exporter|hub|importer SERVICES CHANGES`. Whose work it is that counts goes
//! through the function `counted`. Fails if the agents wrote anything else than a change takes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "an example that ends by panicking")]

mod agent;
mod fleet;
mod server;

use std::process::ExitCode;

use fleet::{Fleet, Who};

/// The exporter's write, the hub's and the importer's.
const WRITES: usize = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [who, services, changes] = &arguments[..] else { return usage() };
    let who = match who.as_str() {
        "exporter" => Who::Exporter,
        "hub" => Who::Hub,
        "importer" => Who::Importer,
        _ => return usage(),
    };
    let (Ok(services), Ok(changes)) = (services.parse::<usize>(), changes.parse::<usize>()) else {
        return usage();
    };
    let mut fleet = Fleet::exchanged(services);
    fleet.take_writes();
    fleet.count(who);
    for turn in 0..changes {
        fleet.change(turn % services, turn);
        fleet.settle();
        let writes = fleet.take_writes();
        assert_eq!(writes, WRITES, "writes for change {turn}");
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: replay exporter|hub|importer SERVICES CHANGES");
    ExitCode::FAILURE
}
