//! What happens in a plan, one thing after the other.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::env::Moment;
use crate::fleet::{Disturbance, HUB_PROCESSES};
use crate::questions::imports::Api;
use crate::random::Random;

/// Services of the fleet's own API, and those of the standard API.
pub(crate) const SERVICES: [(Api, &str); 5] = [
    (Api::Fleet, "web"),
    (Api::Fleet, "api"),
    (Api::Fleet, "db"),
    (Api::Standard, "cart"),
    (Api::Standard, "mail"),
];

/// Ports of a Service. Those of one set contradict those of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PortSet {
    Usual,
    Other,
}

impl PortSet {
    /// Names and numbers.
    pub(crate) fn ports(self) -> [(&'static str, i64); 2] {
        match self {
            Self::Usual => [("web", 80), ("tls", 443)],
            Self::Other => [("web", 81), ("admin", 9090)],
        }
    }
}

/// What is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Service,
    Slice,
}

/// One thing that users, administrators or misfortune do. Services are positions in [`SERVICES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// A member exports a Service with so many endpoints. One that is deployed anew has these ports.
    Export {
        service: usize,
        member: usize,
        endpoints: usize,
        ports: PortSet,
    },
    Unexport {
        service: usize,
        member: usize,
    },
    /// Other endpoints take the place of those that there are, but for the first.
    Endpoints {
        service: usize,
        member: usize,
        endpoints: usize,
    },
    /// A Service, or its slice, is deleted and made again.
    Recreate {
        service: usize,
        member: usize,
        part: Part,
    },
    /// A member imports a Service of the fleet's own API.
    Import {
        service: usize,
        member: usize,
    },
    Unimport {
        service: usize,
        member: usize,
    },
    /// A member gets the namespace of the standard API.
    Namespace {
        member: usize,
    },
    /// `None` is every Service of the member.
    Drain {
        member: usize,
        service: Option<usize>,
        percent: i64,
        over: i64,
        force: bool,
    },
    Undrain {
        member: usize,
    },
    /// The owner prefers close endpoints, in a member or, without one, in all.
    Prefer {
        service: usize,
        member: Option<usize>,
    },
    NoPreference {
        service: usize,
        member: Option<usize>,
    },
    /// A process is killed at its next so many writes.
    Ambush {
        process: usize,
        writes: usize,
        moment: Moment,
    },
    /// One of so many writes kills the process that makes it, which comes back a moment later. 0 is none.
    Storm {
        one_in: usize,
    },
    /// The same at one write, counted from the beginning. It is in no random plan: each write of a plan is tried.
    Fatal {
        write: usize,
        moment: Moment,
    },
    Kill {
        process: usize,
    },
    Restart {
        process: usize,
    },
    /// The other process of the hub agent takes over.
    HandOver,
    /// The term of a member agent ends, and another one begins.
    Term {
        member: usize,
    },
    /// A member does not reach the hub, or does so again.
    Cut {
        member: usize,
    },
    Mend {
        member: usize,
    },
    Watch {
        process: usize,
        watch: usize,
        how: Disturbance,
    },
    /// The clock of a process is off by so many seconds from now on.
    Clock {
        process: usize,
        seconds: i64,
    },
    /// The clock of an API server.
    ServerClock {
        server: usize,
        seconds: i64,
    },
    /// One of so many requests is lost, one in as many unanswered. 0 is none.
    Lossy {
        one_in: usize,
    },
    /// The store of the hub is saved.
    Backup,
    /// The hub goes back to what was saved.
    Restore,
    /// The store of the hub is lost, and built anew by its administrator.
    Wipe,
    /// Time passes.
    Pass {
        millis: u64,
    },
    /// All that is broken is mended, and everything has to come to rest and be in its place.
    Rest,
}

/// A random plan for so many members, of so many rounds at most. The last act is a rest.
pub(crate) fn plan(random: &mut Random, members: usize, rounds: usize) -> Vec<Act> {
    let random = &mut Chance { random, members };
    let mut acts = Vec::new();
    // Something to work with.
    let exports = random.below(5) + 2;
    acts.extend((0..exports).map(|_| export(random)));
    let imports = random.below(6) + 1;
    acts.extend((0..imports).map(|_| import(random)));
    acts.push(if random.once_in(3) { pass(random) } else { Act::Rest });
    if random.once_in(2) {
        acts.push(Act::Backup);
    }
    let rounds = random.below(rounds) + 1;
    for _ in 0..rounds {
        for _ in 0..random.below(9) + 2 {
            let act = act(random);
            let refused = match act {
                Act::Watch { process, how: Disturbance::Refuse(_), .. } => Some(process),
                _ => None,
            };
            acts.push(act);
            // The next process has never seen what this one is refused.
            if let Some(process) = refused.filter(|_| random.once_in(2)) {
                acts.push(Act::Restart { process });
            }
            if !random.once_in(3) {
                acts.push(pass(random));
            }
        }
        acts.push(Act::Rest);
    }
    acts
}

/// Chance, and how many members there are.
struct Chance<'a> {
    random: &'a mut Random,
    members: usize,
}

impl Deref for Chance<'_> {
    type Target = Random;

    fn deref(&self) -> &Random {
        self.random
    }
}

impl DerefMut for Chance<'_> {
    fn deref_mut(&mut self) -> &mut Random {
        self.random
    }
}

fn act(random: &mut Chance<'_>) -> Act {
    match random.below(57) {
        0..4 => export(random),
        4..6 => Act::Unexport { service: service(random), member: exporter(random) },
        6..10 => Act::Endpoints {
            service: service(random),
            member: exporter(random),
            endpoints: random.below(4) + 1,
        },
        10..12 => import(random),
        12 => Act::Unimport { service: random.below(3), member: importer(random) },
        13 => Act::Namespace { member: importer(random) },
        14..18 => Act::Drain {
            member: anyone(random),
            service: random.once_in(2).then(|| service(random)),
            percent: *random.pick(&[50, 100, 100]),
            over: *random.pick(&[0, 60, 120]),
            force: random.once_in(3),
        },
        18..20 => Act::Undrain { member: anyone(random) },
        20 => Act::Prefer { service: service(random), member: some_member(random) },
        21 => Act::NoPreference { service: service(random), member: some_member(random) },
        22..26 => Act::Ambush {
            process: process(random),
            writes: random.below(6) + 1,
            moment: *random.pick(&Moment::ALL),
        },
        26..28 => Act::Kill { process: process(random) },
        28..31 => Act::Restart { process: process(random) },
        31 => Act::HandOver,
        32..34 | 49 => Act::Cut { member: anyone(random) },
        34 => Act::Mend { member: anyone(random) },
        35..39 => disturb(random),
        39 => Act::Clock { process: process(random), seconds: seconds(random) },
        40 => Act::ServerClock { server: server(random), seconds: seconds(random) },
        41..43 => Act::Lossy { one_in: *random.pick(&[0, 3, 10, 50]) },
        43..45 => Act::Backup,
        45..47 => Act::Restore,
        47 => Act::Wipe,
        50..52 => Act::Storm { one_in: *random.pick(&[0, 5, 20, 60]) },
        52..54 => Act::Term { member: anyone(random) },
        54..57 => Act::Recreate {
            service: service(random),
            member: exporter(random),
            part: *random.pick(&[Part::Service, Part::Slice]),
        },
        _ => Act::Kill { process: HUB_PROCESSES + exporter(random) },
    }
}

fn disturb(random: &mut Chance<'_>) -> Act {
    let how = match random.below(5) {
        0 => Disturbance::Silence(Duration::from_millis(random.within(500, 90_000))),
        1 => Disturbance::Lose,
        2 => Disturbance::Relist,
        3 => Disturbance::Refuse(Duration::from_millis(random.within(500, 90_000))),
        _ => Disturbance::Interrupt,
    };
    Act::Watch { process: process(random), watch: random.below(64), how }
}

fn export(random: &mut Chance<'_>) -> Act {
    Act::Export {
        service: service(random),
        member: if random.once_in(4) { importer(random) } else { exporter(random) },
        endpoints: random.below(4) + 1,
        ports: if random.once_in(4) { PortSet::Other } else { PortSet::Usual },
    }
}

fn import(random: &mut Chance<'_>) -> Act {
    Act::Import { service: random.below(3), member: importer(random) }
}

fn service(random: &mut Chance<'_>) -> usize {
    random.below(SERVICES.len())
}

/// Few members export, so that what happens concerns one another.
fn exporter(random: &mut Chance<'_>) -> usize {
    random.below(4)
}

/// An exporter, or any member.
fn anyone(random: &mut Chance<'_>) -> usize {
    if random.once_in(2) { exporter(random) } else { importer(random) }
}

fn importer(random: &mut Chance<'_>) -> usize {
    let members = random.members;
    random.below(members)
}

fn server(random: &mut Chance<'_>) -> usize {
    let members = random.members;
    random.below(members + 1)
}

fn some_member(random: &mut Chance<'_>) -> Option<usize> {
    random.once_in(2).then(|| importer(random))
}

/// The hub agent, and members that export, more often than others.
fn process(random: &mut Chance<'_>) -> usize {
    match random.below(4) {
        0 => random.below(HUB_PROCESSES),
        1 => HUB_PROCESSES + importer(random),
        _ => HUB_PROCESSES + exporter(random),
    }
}

fn seconds(random: &mut Chance<'_>) -> i64 {
    *random.pick(&[-3600, -60, -2, 0, 2, 60, 3600])
}

fn pass(random: &mut Chance<'_>) -> Act {
    let millis = match random.below(4) {
        0 => random.within(1, 50),
        1 => random.within(50, 2000),
        2 => random.within(2000, 20_000),
        _ => random.within(20_000, 150_000),
    };
    Act::Pass { millis }
}
