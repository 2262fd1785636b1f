//! L7: one key that never rests, or never succeeds, does not delay the others. Counted in requests, because time
//! stands still while anything works.

use std::time::Duration;

use tokio::time::sleep;

use crate::world::{World, failure};

const OTHERS: usize = 50;
/// A hundred times a second.
const PERIOD: Duration = Duration::from_millis(10);
/// Requests of the restless key while another key is dealt with: the one on its way, and the next.
const MEANWHILE: usize = 2;

/// L7: a key that changes a hundred times a second.
#[tokio::test(start_paused = true)]
async fn a_key_that_never_rests_delays_no_other() {
    let world = World::new();
    world.slow(40);
    let running = world.start();
    let changing = {
        let world = world.clone();
        tokio::spawn(async move {
            for value in 0_u64.. {
                world.wish("restless", &value.to_string());
                sleep(PERIOD).await;
            }
        })
    };
    for number in 0..OTHERS {
        let name = format!("other-{number}");
        sleep(3 * PERIOD).await;
        // At the moment of a change, so that they compete.
        let busy = world.requests_for("restless");
        world.wish(&name, "1");
        while world.copy(&name).is_none() {
            tokio::task::yield_now().await;
        }
        let meanwhile = world.requests_for("restless") - busy;
        assert!(meanwhile <= MEANWHILE, "{name} waited for {meanwhile} requests of another");
    }
    assert!(world.requests_for("restless") > 2 * OTHERS, "it was not held back either");
    changing.abort();
    running.stop().await;
}

/// L7: a key that fails for ever backs off alone: what fails once beside it is tried again before it.
#[tokio::test(start_paused = true)]
async fn a_key_that_never_succeeds_delays_no_other() {
    let world = World::new();
    world.break_down("broken");
    let running = world.start();
    world.wish("broken", "1");
    // By now its pauses are as long as they get.
    sleep(Duration::from_mins(5)).await;
    for number in 0..OTHERS {
        let name = format!("other-{number}");
        let tried = world.requests_for("broken");
        if number % 2 == 0 {
            world.answer_next(failure(500, "InternalError", &name));
        }
        world.wish(&name, "1");
        world.until(|world| world.copy(&name).is_some()).await;
        let meanwhile = world.requests_for("broken") - tried;
        assert!(meanwhile <= 1, "{name} waited for {meanwhile} requests of another");
    }
    // Ten tries on the way to a pause of a minute, then one or two a minute.
    let before = world.requests_for("broken");
    assert!((10..=17).contains(&before), "{before}");
    sleep(Duration::from_mins(10)).await;
    let more = world.requests_for("broken") - before;
    assert!((9..=14).contains(&more), "{more} in ten minutes");
    running.stop().await;
}

/// L7: the same server that fails for one key works for all others that wait beside it, however many.
#[tokio::test(start_paused = true)]
async fn a_crowd_passes_a_key_that_fails() {
    let world = World::new();
    world.slow(5);
    world.break_down("broken");
    world.wish("broken", "1");
    for number in 0..1000 {
        world.wish(&format!("other-{number}"), "1");
    }
    let running = world.start();
    world.until(|world| world.copies() == 1000).await;
    assert!(world.requests_for("broken") <= 3, "{}", world.requests_for("broken"));
    running.stop().await;
}
