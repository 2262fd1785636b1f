//! Replays a fixed sequence of endpoint changes through both agents, between the text of watch events and plans, for
//! tools that count instructions: `replay exporter|hub|importer CHANGES [services|exporters|importers|endpoints|ports=N]...`.
//! Whose work it is that counts goes through the function `counted`. Fails if the agents wrote anything else than a change
//! takes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "an example that ends by panicking")]

mod agent;
mod fleet;
mod server;

use std::process::ExitCode;

use fleet::{Fleet, Shape, Who};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((who, changes, shape)) = parse(&arguments) else { return usage() };
    let mut fleet = Fleet::exchanged(shape);
    fleet.take_writes();
    fleet.count(who, counted);
    for turn in 0..changes {
        fleet.change(turn % shape.services, turn);
        fleet.settle();
        // The exporter's write, and for each importer the hub's and its own.
        let writes = fleet.take_writes();
        assert_eq!(writes, 1 + 2 * shape.importers, "writes for change {turn}");
    }
    ExitCode::SUCCESS
}

/// What is counted, under a name that tools find.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
}

fn parse(arguments: &[String]) -> Option<(Who, usize, Shape)> {
    let [who, changes, sizes @ ..] = arguments else { return None };
    let who = match who.as_str() {
        "exporter" => Who::Exporter,
        "hub" => Who::Hub,
        "importer" => Who::Importer,
        _ => return None,
    };
    let mut shape = Shape::default();
    for size in sizes {
        let (what, count) = size.split_once('=')?;
        let part = match what {
            "services" => &mut shape.services,
            "exporters" => &mut shape.exporters,
            "importers" => &mut shape.importers,
            "endpoints" => &mut shape.endpoints,
            "ports" => &mut shape.ports,
            _ => return None,
        };
        *part = count.parse().ok().filter(|count| *count > 0)?;
    }
    Some((who, changes.parse().ok()?, shape))
}

fn usage() -> ExitCode {
    let sizes = "[services|exporters|importers|endpoints|ports=N]...";
    eprintln!("usage: replay exporter|hub|importer CHANGES {sizes}");
    ExitCode::FAILURE
}
