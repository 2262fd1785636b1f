//! S20: who does not know does not delete.

use crate::agents::world::{AGENTS, World, fields, rest, watches};

/// Watches without which an agent that did not wait for them would withdraw something, as
/// [`what_a_blind_agent_would_take`] shows. Without copies on the hub nothing goes: the hub has to confirm that they are gone.
const TEMPTING: [(&str, &str); 9] = [
    ("hub", "internal_exports"),
    ("hub", "internal_imports"),
    ("hub", "slice_exports"),
    ("a", "services"),
    ("a", "service_exports"),
    ("a", "endpoint_slices"),
    ("b", "multi_cluster_services"),
    ("b", "service_imports"),
    ("b", "internal_imports"),
];

/// S20: each agent is started beside what it has made before, with each of its watches stuck in the middle of its first
/// list. It deletes nothing and shrinks nothing, for however long; and when the list ends, nothing is to be done.
#[tokio::test(start_paused = true)]
async fn nothing_is_taken_before_every_watch_has_listed() {
    let exchanged = World::exchanged(4).await;
    for name in AGENTS {
        for field in watches(name) {
            let world = exchanged.fork();
            let valves = fields(name);
            valves[field].send_modify(|valve| valve.list_stuck = true);
            let agent = world.start_with(name, valves);
            rest().await;
            assert_eq!(world.taken(), [], "{name} without {field}");
            agent.set(field, |valve| valve.list_stuck = false);
            rest().await;
            assert_eq!(world.sent(), [], "{name} with {field}");
            agent.stop().await;
        }
    }
}

/// The test above can fail: an agent that takes half a list for a whole one does take something.
#[tokio::test(start_paused = true)]
async fn what_a_blind_agent_would_take() {
    let exchanged = World::exchanged(4).await;
    let mut tempting = Vec::new();
    for name in AGENTS {
        for field in watches(name) {
            let world = exchanged.fork();
            let valves = fields(name);
            valves[field].send_modify(|valve| valve.omitted = 2);
            let agent = world.start_with(name, valves);
            rest().await;
            if !world.taken().is_empty() {
                tempting.push((name, field));
            }
            agent.stop().await;
        }
    }
    assert_eq!(tempting, TEMPTING);
}

/// S20: while each watch in turn does not show an agent its own writes, Services are exported and imported. What an
/// agent does not see, it has not lost: nothing is deleted, and nothing made twice.
#[tokio::test(start_paused = true)]
async fn nothing_is_taken_because_the_own_writes_are_not_seen() {
    for late in AGENTS {
        for field in watches(late) {
            let world = World::new();
            let agents = AGENTS.map(|name| world.start(name));
            rest().await;
            let agent = agents.iter().find(|agent| agent.name == late).unwrap();
            agent.set(field, |valve| valve.changes_stuck = true);
            world.users_exchange(2);
            rest().await;
            assert_eq!(world.taken(), [], "{late} without news of {field}");
            agent.set(field, |valve| valve.changes_stuck = false);
            rest().await;
            assert_eq!(world.taken(), [], "{late} with late news of {field}");
            assert_eq!(world.bound(), 2, "{late} with late news of {field}");
            for agent in agents {
                agent.stop().await;
            }
        }
    }
}
