//! S21: many objects that a list does not show any more are believed to be gone when a second list agrees.

use std::time::Duration;

use tokio::time::sleep;

use crate::agents::agent::Agent;
use crate::agents::world::{World, rest};

/// So many Services are exchanged.
const ALL: usize = 40;
/// More than 20, and more than 30 % of them.
const MANY: usize = 25;
/// Shorter than the pause before the second list.
const MOMENT: Duration = Duration::from_millis(100);

/// Watches whose losses make an agent take something away.
const WATCHES: [(&str, &str); 5] = [
    ("a", "services"),
    ("a", "service_exports"),
    ("a", "endpoint_slices"),
    ("hub", "slice_exports"),
    ("hub", "internal_exports"),
];

fn relist(agent: &Agent, field: &str, omitted: usize) {
    agent.set(field, |valve| {
        valve.omitted = omitted;
        valve.lists += 1;
    });
}

/// S21: above the limit everything stays until the second list; the metric shows how much waits for it.
#[tokio::test(start_paused = true)]
async fn a_list_that_lacks_much_needs_a_second_one() {
    let exchanged = World::exchanged(ALL).await;
    for (name, field) in WATCHES {
        for agrees in [true, false] {
            let world = exchanged.fork();
            let agent = world.start(name);
            rest().await;
            relist(&agent, field, MANY);
            sleep(MOMENT).await;
            assert_eq!(agent.held(field), MANY, "{name} {field}");
            assert_eq!(world.taken(), [], "{name} {field}");
            if !agrees {
                agent.set(field, |valve| valve.omitted = 0);
            }
            rest().await;
            assert_eq!(agent.held(field), 0, "{name} {field}");
            let taken = world.taken().len();
            assert!((taken >= MANY) == agrees, "{name} {field} {agrees}: {taken}");
            assert!(agrees || taken == 0, "{name} {field}: {:#?}", world.taken());
            agent.stop().await;
        }
    }
}

/// S21, from below: what is within the limit goes at once.
#[tokio::test(start_paused = true)]
async fn a_list_that_lacks_little_is_believed() {
    let exchanged = World::exchanged(ALL).await;
    for (name, field) in WATCHES {
        let world = exchanged.fork();
        let agent = world.start(name);
        rest().await;
        relist(&agent, field, 5);
        sleep(MOMENT).await;
        assert_eq!(agent.held(field), 0, "{name} {field}");
        assert!(world.taken().len() >= 5, "{name} {field}: {:#?}", world.taken());
        agent.stop().await;
    }
}

/// S21: imported slices are kept even if the second list agrees, because our finalizers keep their copies from going
/// unseen. When the copies are shown again, nothing is left to do.
#[tokio::test(start_paused = true)]
async fn imported_slices_outlive_the_memory_of_the_hub() {
    let world = World::exchanged(ALL).await.fork();
    let agent = world.start("b");
    rest().await;
    relist(&agent, "slice_imports", MANY);
    rest().await;
    assert_eq!(agent.held("slice_imports"), 0, "the second list has agreed");
    assert_eq!((world.taken(), world.bound()), (Vec::new(), ALL));
    assert_eq!(agent.kept(), MANY, "the metric says so");
    relist(&agent, "slice_imports", 0);
    rest().await;
    assert_eq!((world.sent(), agent.kept()), (Vec::new(), 0));
    agent.stop().await;
}
