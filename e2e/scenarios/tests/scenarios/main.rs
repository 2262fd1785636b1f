//! What the agents promise, on real control planes; a file per behaviour.
//!
//! Most scenarios share one testbed of three members, whose start is the slow part, and each works in user namespaces of
//! its own. Many run side by side; those that end agents or servers, or that look at everything the agents do, run
//! alone, after the others. Some that take long and need two members only take turns on two testbeds apart meanwhile.
//!
//! `FLEET_HUB_KUBECONFIG` and `FLEET_MEMBER_KUBECONFIGS` put clusters that exist in the place of the testbed; scenarios
//! that need what those do not offer (audit logs, a server to stop) are then left out.

mod blocked;
mod bounds;
mod changes;
mod conflict;
mod crash;
mod crossing;
mod definitions;
mod disturbed;
mod doubles;
mod endpoints;
mod exchange;
mod exclusive;
mod exporters;
mod external_workloads;
mod faults;
mod fences;
mod grace;
mod handover;
mod home;
mod hostile;
mod kill;
mod kind;
mod latency;
mod leaving;
mod marks;
mod multicluster;
mod outage;
mod policies;
mod restored;
mod rollback;
mod shortfall;
mod silence;
mod stage;
mod story;
mod tampering;
mod terminating;
mod termination;
mod tests;
mod tokens;
mod vanished;
mod watches;
mod weight;
mod withdrawal;
mod writes;

use std::process::ExitCode;

use libtest_mimic::Arguments;
use tests::Tests;

/// They wait most of the time.
const SIDE_BY_SIDE: usize = 8;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut tests = Tests::new();

    // These take long, while all the others may run.
    silence::add_first(&mut tests);
    faults::add(&mut tests);
    crash::add(&mut tests);
    marks::add(&mut tests);
    endpoints::add_apart(&mut tests);
    doubles::add(&mut tests);
    tokens::add(&mut tests);
    watches::add(&mut tests);
    home::add(&mut tests);
    definitions::add(&mut tests);
    restored::add(&mut tests);
    fences::add(&mut tests);
    policies::add(&mut tests);

    exchange::add(&mut tests);
    changes::add(&mut tests);
    conflict::add(&mut tests);
    bounds::add(&mut tests);
    hostile::add(&mut tests);
    endpoints::add(&mut tests);
    tampering::add(&mut tests);
    withdrawal::add(&mut tests);
    handover::add(&mut tests);
    exporters::add(&mut tests);
    weight::add(&mut tests);
    terminating::add(&mut tests);
    external_workloads::add(&mut tests);

    writes::add(&mut tests);
    latency::add(&mut tests);
    termination::add(&mut tests);
    silence::add_alone(&mut tests);
    outage::add(&mut tests);
    blocked::add(&mut tests);
    shortfall::add(&mut tests);
    grace::add(&mut tests);
    exclusive::add(&mut tests);
    multicluster::add(&mut tests);
    vanished::add(&mut tests);
    rollback::add(&mut tests);
    kill::add(&mut tests);
    leaving::add(&mut tests);

    let code = tests.run(arguments.clone(), SIDE_BY_SIDE);
    if code == ExitCode::SUCCESS { kind::run(arguments) } else { code }
}
