//! The engine with a toy controller between two toy clusters.

#[cfg(test)] // For clippy.
#[path = "engine/copies.rs"]
mod copies;
#[path = "engine/fairness.rs"]
mod fairness;
#[cfg(test)] // For clippy.
#[path = "engine/world.rs"]
mod world;

use std::time::Duration;

use copies::{CROWD, CROWD_SIZE, DELAY, LATER, LOUD, LOUD_EVENTS, WAKE};
use http::Method;
use tokio::time::{Instant, sleep};
use world::{World, failure};

/// Longer than anything here waits for.
const LONG: Duration = Duration::from_mins(5);

#[tokio::test(start_paused = true)]
async fn a_wish_is_granted_changed_and_withdrawn() {
    let world = World::new();
    let running = world.start();
    world.wish("a", "1");
    world.until(World::is_granted).await;
    world.wish("a", "2");
    world.until(World::is_granted).await;
    world.unwish("a");
    world.until(World::is_granted).await;
    assert_eq!(world.requests(), [Method::POST, Method::PUT, Method::DELETE]);
    assert_eq!(world.samples(), ["a", "a", "a"]);
    let stages = "fleet_networking_stage_duration_seconds_count{stage=\"export\"}";
    assert_eq!(running.metric(stages), Some(3.0));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn no_timer_stands_between_an_event_and_its_write() {
    let world = World::new();
    let running = world.start();
    world.wish("a", "1");
    world.until(World::is_granted).await;
    let start = Instant::now();
    for value in 0..50 {
        world.wish("a", &value.to_string());
        // Without a timer: time stands still unless something waits for it.
        while !world.is_granted() {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_standby_plans_nothing_and_then_everything() {
    let world = World::new();
    let running = world.start();
    world.wish("a", "1");
    world.until(World::is_granted).await;
    running.gate.close();
    sleep(Duration::from_secs(1)).await;
    let plans = world.plans();
    world.wish("b", "1");
    world.unwish("a");
    sleep(LONG).await;
    assert_eq!((world.plans(), world.requests().len()), (plans, 1));
    running.gate.open_until(Duration::MAX);
    world.until(World::is_granted).await;
    assert_eq!(world.requests().len(), 3);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_work_queue_is_measured_at_scrape_and_empty_on_a_standby() {
    let world = World::new();
    let running = world.start();
    // In seconds, as integers.
    let gauges = || {
        ["depth", "unfinished_work_seconds", "longest_running_processor_seconds"].map(|name| {
            let value = running.metric(&format!("workqueue_{name}{{name=\"copies\"}}"));
            format!("{:.0}", value.unwrap())
        })
    };
    assert_eq!(gauges(), ["0", "0", "0"]);
    for term in 1..=2 {
        // Both keys stay with a worker until the view shows their writes; nothing happens meanwhile.
        world.hold_events(true);
        world.wish("a", &term.to_string());
        world.wish("b", &term.to_string());
        world.until(World::is_granted).await;
        sleep(Duration::from_secs(3)).await;
        assert_eq!(gauges(), ["0", "6", "3"]);
        running.gate.close();
        sleep(LONG).await;
        assert_eq!(gauges(), ["0", "0", "0"], "a standby");
        world.hold_events(false);
        running.gate.open_until(Duration::MAX);
    }
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_lost_lease_left_undone_is_done_when_it_is_back() {
    let world = World::new();
    let running = world.start();
    // A key that waits for a retry when the term ends.
    world.answer_next(failure(500, "InternalError", "a"));
    world.wish("a", "1");
    world.until(|world| world.requests().len() == 1).await;
    running.gate.close();
    sleep(LONG).await;
    assert_eq!(world.requests().len(), 1);
    running.gate.open_until(Duration::MAX);
    world.until(World::is_granted).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn at_rest_nothing_is_planned_or_written() {
    let world = World::new();
    let running = world.start();
    for name in ["a", "b", "c"] {
        world.wish(name, "1");
    }
    world.until(World::is_granted).await;
    sleep(Duration::from_secs(1)).await;
    let before = (world.requests().len(), world.plans());
    sleep(LONG).await;
    assert_eq!((world.requests().len(), world.plans()), before);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_planned_before_everything_was_listed() {
    let world = World::new();
    world.meddle("a", Some("1"));
    world.wish("b", "1");
    world.hold_list();
    let running = world.start();
    sleep(Duration::from_secs(20)).await;
    assert_eq!(world.plans(), 0);
    world.finish_list();
    world.until(World::is_granted).await;
    running.stop().await;
}

/// The process leads, and its Pod looks well.
#[tokio::test(start_paused = true)]
async fn a_term_that_waits_for_a_list_is_visible() {
    let world = World::new();
    let running = world.start();
    world.wish("a", "1");
    world.until(World::is_granted).await;
    running.gate.close();
    sleep(LONG).await;
    assert!(running.waits.reasons().is_empty(), "a standby waits for no list");
    world.hold_list();
    world.wish("b", "1");
    running.gate.open_until(Duration::MAX);
    sleep(Duration::from_secs(40)).await;
    let reasons = running.waits.reasons();
    let reason =
        "copy leads, but has waited for 40 s for a fresh list of services of the hub cluster";
    assert!(reasons.len() == 1 && reasons[0].starts_with(reason), "{reasons:?}");
    assert_eq!(world.requests().len(), 1);
    world.finish_list();
    world.until(World::is_granted).await;
    assert!(running.waits.reasons().is_empty());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_somebody_else_changed_is_put_right() {
    let world = World::new();
    let running = world.start();
    world.wish("a", "1");
    world.until(World::is_granted).await;
    for meddled in [Some("wrong"), None] {
        world.meddle("a", meddled);
        world.until(World::is_granted).await;
    }
    assert_eq!(world.requests(), [Method::POST, Method::PUT, Method::POST]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_until_the_view_shows_its_write() {
    let world = World::new();
    let running = world.start();
    world.wish("a", "1");
    world.until(World::is_granted).await;
    world.hold_events(true);
    world.wish("a", "2");
    world.until(World::is_granted).await;
    world.wish("a", "3");
    sleep(Duration::from_secs(4)).await;
    // Planned on the old view, the third value would have met a conflict.
    assert_eq!(world.requests(), [Method::POST, Method::PUT]);
    world.hold_events(false);
    world.until(World::is_granted).await;
    assert_eq!(world.requests(), [Method::POST, Method::PUT, Method::PUT]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_view_that_stays_behind_is_checked_with_a_read() {
    let world = World::new();
    let running = world.start();
    world.wish("a", "1");
    world.until(World::is_granted).await;
    world.hold_events(true);
    world.wish("a", "2");
    world.until(|world| world.requests().contains(&Method::GET)).await;
    let timeouts = "fleet_runtime_own_write_timeouts_total{controller=\"copy\"}";
    assert_eq!(running.metric(timeouts), Some(1.0));
    world.hold_events(false);
    world.wish("a", "3");
    world.until(World::is_granted).await;
    running.stop().await;
}

/// However many it wrote, the key is back soon.
#[tokio::test(start_paused = true)]
async fn of_many_writes_that_stay_unseen_a_few_are_read() {
    let world = World::new();
    let running = world.start();
    world.hold_events(true);
    world.wish("a", CROWD);
    let reads =
        |world: &World| world.requests().iter().filter(|method| **method == Method::GET).count();
    world.until(|world| reads(world) > 0).await;
    sleep(Duration::from_secs(4)).await;
    assert_eq!(reads(&world), 8);
    let before = world.plans();
    world.hold_events(false);
    world.until(|world| world.plans() > before).await;
    world.until(|world| world.copies() == CROWD_SIZE).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_planned_again_as_soon_as_the_view_shows_why() {
    let world = World::new();
    let running = world.start();
    world.wish("a", "1");
    world.until(World::is_granted).await;
    world.hold_events(true);
    world.meddle("a", Some("wrong"));
    world.wish("a", "2");
    world.until(|world| world.requests().len() == 2).await;
    let start = Instant::now();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.requests().len(), 2, "nothing new to plan on");
    world.hold_events(false);
    world.until(World::is_granted).await;
    assert!(start.elapsed() < Duration::from_millis(1100));
    assert_eq!(world.requests(), [Method::POST, Method::PUT, Method::PUT]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_taken_is_planned_again_with_the_object_in_view() {
    let world = World::new();
    let running = world.start();
    world.wish("b", "1");
    world.until(World::is_granted).await;
    world.hold_events(true);
    world.meddle("a", Some("wrong"));
    world.wish("a", "1");
    world.until(|world| world.requests().len() == 2).await;
    world.hold_events(false);
    world.until(World::is_granted).await;
    assert_eq!(world.requests(), [Method::POST, Method::POST, Method::PUT]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn failures_are_retried_with_growing_delays() {
    let world = World::new();
    let running = world.start();
    for _ in 0..6 {
        world.answer_next(failure(500, "InternalError", "a"));
    }
    let start = Instant::now();
    world.wish("a", "1");
    world.until(World::is_granted).await;
    // 0.1 + 0.2 + 0.4 + 0.8 + 1.6 + 3.2 s, shortened by a fifth at most.
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(5040) && took < Duration::from_millis(6400), "{took:?}");
    let failures = "fleet_runtime_failures_total{class=\"transient\",controller=\"copy\"}";
    assert_eq!(running.metric(failures), Some(6.0));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_throttled_key_stays_away_as_long_as_asked() {
    let world = World::new();
    let running = world.start();
    world.answer_next(failure(429, "TooManyRequests", "a"));
    let start = Instant::now();
    world.wish("a", "1");
    world.until(|world| world.requests().len() == 1).await;
    world.wish("a", "2");
    world.until(World::is_granted).await;
    assert!(start.elapsed() >= Duration::from_secs(2));
    running.stop().await;
}

/// Each key alone would come back after 2 s.
#[tokio::test(start_paused = true)]
async fn an_api_server_that_refuses_everything_gets_few_requests_whichever_keys_wait() {
    let world = World::new();
    world.throttle(true);
    for number in 0..1000 {
        world.wish(&format!("n{number}"), "1");
    }
    let running = world.start();
    sleep(Duration::from_mins(1)).await;
    let requests = world.requests().len();
    // At most rounds of 16, 8, 4 and 2, then one request every 2 s.
    assert!((30..=62).contains(&requests), "{requests} requests in a minute");
    world.throttle(false);
    world.until(World::is_granted).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_object_waits_for_a_change() {
    let mut denied = failure(403, "Forbidden", "a");
    denied.1["message"] = "a is forbidden: exceeded quota: few".into();
    let words = [None, Some("a: create a is forbidden: exceeded quota: few")];
    for (answer, words) in [failure(422, "Invalid", "a"), denied].into_iter().zip(words) {
        let world = World::new();
        let running = world.start();
        world.answer_next(answer);
        world.wish("a", "1");
        world.until(|world| world.requests().len() == 1).await;
        sleep(Duration::from_secs(30)).await;
        assert_eq!(world.requests().len(), 1);
        let refusals = world.refusals();
        assert!(
            refusals.len() == 1 && words.is_none_or(|words| refusals == [words]),
            "{refusals:?}"
        );
        assert_eq!(world.outcomes(), ["a: create Refused"]);
        let start = Instant::now();
        world.wish("a", "2");
        world.until(World::is_granted).await;
        assert_eq!(world.outcomes(), ["a: create Refused", "a: create Acknowledged"]);
        assert!(start.elapsed() < Duration::from_millis(20));
        running.stop().await;
    }
}

/// A right that is missing may be granted, the parameters of a policy may come, and an API server that is not well may recover: none is
/// a word on the content.
#[tokio::test(start_paused = true)]
async fn what_may_be_accepted_later_is_no_refusal() {
    let mut no_parameters = failure(422, "Invalid", "a");
    no_parameters.1["message"] = "ValidatingAdmissionPolicy 'few' with binding 'few-strict' denied request: failed to configure \
                                  binding: no params found for policy binding with `Deny` parameterNotFoundAction"
        .into();
    let others = [failure(403, "Forbidden", "a"), failure(503, "ServiceUnavailable", "a")];
    for answer in others.into_iter().chain([no_parameters]) {
        let world = World::new();
        let running = world.start();
        world.answer_next(answer);
        world.wish("a", "1");
        world.until(|world| !world.outcomes().is_empty()).await;
        assert_eq!(world.outcomes()[0], "a: create Open");
        running.stop().await;
    }
}

/// A watch that works again may mean that its API server does, too.
#[tokio::test(start_paused = true)]
async fn a_failed_key_is_retried_when_a_required_source_recovers() {
    for (source, requests) in [("copies", 2), ("extras", 1)] {
        let world = World::new();
        world.flap(source);
        let running = world.start();
        world.answer_next(failure(422, "Invalid", "a"));
        world.wish("a", "1");
        world.until(|world| world.requests().len() == 1).await;
        // Less than the longest back-off, after which the key is retried anyway.
        sleep(Duration::from_secs(40)).await;
        assert_eq!(world.requests().len(), requests, "{source}");
        running.stop().await;
    }
}

/// An API server that has just started forbids everything until it has read its roles.
#[tokio::test(start_paused = true)]
async fn a_forbidden_write_is_tried_again_soon() {
    let world = World::new();
    let running = world.start();
    world.answer_next(failure(403, "Forbidden", "a"));
    let start = Instant::now();
    world.wish("a", "1");
    world.until(World::is_granted).await;
    assert!(start.elapsed() < Duration::from_secs(1));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_key_that_fails_does_not_hold_up_others() {
    let world = World::new();
    let running = world.start();
    world.answer_next(failure(403, "Forbidden", "a"));
    world.wish("a", "1");
    world.until(|world| world.requests().len() == 1).await;
    let start = Instant::now();
    world.wish("b", "1");
    world.until(|world| world.copy("b").is_some()).await;
    assert!(start.elapsed() < Duration::from_millis(20));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_later_step_is_sent_after_its_delay() {
    let world = World::new();
    let running = world.start();
    let start = Instant::now();
    world.wish("a", LATER);
    world.until(World::is_granted).await;
    assert!(start.elapsed() >= DELAY && start.elapsed() < 2 * DELAY);
    assert_eq!(world.requests(), [Method::POST]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_later_step_that_is_no_longer_needed_is_not_sent() {
    let world = World::new();
    let running = world.start();
    world.wish("a", LATER);
    sleep(DELAY / 2).await;
    world.unwish("a");
    sleep(LONG).await;
    assert_eq!(world.requests(), Vec::<Method>::new());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_can_ask_to_be_made_again() {
    let world = World::new();
    let running = world.start();
    world.wish("a", WAKE);
    world.until(World::is_granted).await;
    let before = world.plans();
    sleep(10 * DELAY).await;
    let more = world.plans() - before;
    assert!((9..=12).contains(&more), "{more} plans");
    world.unwish("a");
    world.until(World::is_granted).await;
    sleep(DELAY).await;
    let before = world.plans();
    sleep(LONG).await;
    assert_eq!(world.plans(), before);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn many_keys_at_once_are_all_dealt_with() {
    let world = World::new();
    world.slow(5);
    for index in 0..2000 {
        world.wish(&format!("n{index}"), "1");
    }
    let running = world.start();
    world.until(World::is_granted).await;
    assert_eq!(world.requests().len(), 2000);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn stopping_finishes_the_requests_on_their_way() {
    let world = World::new();
    world.slow(1000);
    let running = world.start();
    for index in 0..100 {
        world.wish(&format!("n{index}"), "1");
    }
    world.until(|world| !world.requests().is_empty()).await;
    running.stop().await;
    let sent = world.requests().len();
    let stored = (0..100).filter(|index| world.copy(&format!("n{index}")).is_some()).count();
    assert_eq!(sent, stored, "a request was dropped");
    assert!(sent < 100, "new requests were sent while stopping");
}

/// The next Events of a plan follow a second later each.
#[tokio::test(start_paused = true)]
async fn a_plan_reports_a_few_new_events_at_once() {
    let world = World::new();
    let running = world.start();
    world.wish("a", LOUD);
    sleep(Duration::from_millis(500)).await;
    for reported in [64, 128, 192, LOUD_EVENTS] {
        let count = running.metric("fleet_runtime_events_total{reason=\"Loud\",type=\"Normal\"}");
        assert_eq!(count.map(|count| format!("{count}")), Some(reported.to_string()));
        sleep(Duration::from_secs(1)).await;
    }
    let plans = world.plans();
    sleep(LONG).await;
    assert_eq!(world.plans(), plans, "nothing is left to report");
    running.stop().await;
}

/// Random changes by users and others, random failures: in the end the hub has what is requested,
/// and at no time are there two requests for one key.
async fn random_schedule(seed: u64, kinds: u64) {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let world = World::new();
    world.slow(next(40));
    let running = world.start();
    for _ in 0..300 {
        let name = format!("n{}", next(6));
        let value = next(4).to_string();
        match next(kinds) {
            0..8 => world.wish(&name, &value),
            8..11 => world.unwish(&name),
            11..13 => world.meddle(&name, Some(&value)),
            13 => world.hold_events(true),
            14 => world.hold_events(false),
            15..22 => {
                for _ in 0..next(60) {
                    tokio::task::yield_now().await;
                }
            }
            22 => world.answer_next(failure(409, "Conflict", &name)),
            23 => world.answer_next(failure(404, "NotFound", &name)),
            24 => world.meddle(&name, None),
            25 => world.answer_next(failure(500, "InternalError", &name)),
            26 => world.answer_next(failure(409, "AlreadyExists", &name)),
            _ => sleep(Duration::from_millis(next(3000))).await,
        }
    }
    world.hold_events(false);
    world.until(World::is_granted).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn random_schedules_with_lying_servers_converge() {
    for seed in 1..=30 {
        random_schedule(seed, 29).await;
    }
}

/// Without what only a timer ends, failures and new copies that go at once: here time is real.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn random_schedules_on_several_threads_converge() {
    for seed in 1..=8 {
        random_schedule(seed, 22).await;
    }
}
