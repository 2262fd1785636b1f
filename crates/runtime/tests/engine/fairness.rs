//! L7: one key that never rests, or never succeeds, does not delay the others. Counted in requests, because time
//! stands still while anything works.

use std::time::Duration;

use tokio::time::sleep;

use crate::copies::{CROWD, CROWD_SIZE};
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

/// L7: plans that take long are made a few at a time; in between the other tasks of the thread have their turn, such as
/// those that read watches.
#[tokio::test(start_paused = true)]
async fn slow_plans_leave_turns_to_other_tasks() {
    const KEYS: usize = 200;
    let world = World::new();
    world.plans_take(Duration::from_millis(2));
    for number in 0..KEYS {
        world.wish(&format!("n{number}"), "1");
    }
    let running = world.start();
    // A task as the engine is one: the test itself has its turn after a few dozen of others.
    let watching = {
        let world = world.clone();
        tokio::spawn(async move {
            let (mut before, mut most) = (0, 0);
            while world.copies() < KEYS {
                tokio::task::yield_now().await;
                let plans = world.plans();
                most = most.max(plans - before);
                before = plans;
            }
            most
        })
    };
    let most = watching.await.unwrap();
    // Three of 2 ms each are a turn of 5 ms. How many turns the engine has while this task has one is up to the runtime, which
    // wakes tasks that yield after a few dozen others. Without turns it would be 64 plans in a row at least.
    assert!((1..64).contains(&most), "{most} plans in a row");
    running.stop().await;
}

/// L7: a plan with more steps than are sent at once goes on without a pause, and others are dealt with in between.
#[tokio::test(start_paused = true)]
async fn steps_beyond_the_cap_of_a_plan_follow_and_delay_no_other_key() {
    let world = World::new();
    world.wish("large", CROWD);
    let running = world.start();
    let begun = tokio::time::Instant::now();
    world.until(|world| !world.requests().is_empty()).await;
    world.wish("small", "1");
    world.until(|world| world.copies() == CROWD_SIZE + 1).await;
    // The shortest back-off is 80 ms.
    assert!(begun.elapsed() < Duration::from_millis(80), "{:?}", begun.elapsed());
    let plans = world.requests_before_plans("large");
    let parts: Vec<usize> = plans.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(parts.len() >= 3 && parts.iter().all(|part| *part <= 513), "{parts:?}");
    assert!(world.requests_before("small").unwrap() < 512, "before the second part");
    running.stop().await;
}
