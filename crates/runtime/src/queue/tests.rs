use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A queue and a clock that tests move by hand.
struct Bench {
    queue: Queue<&'static str>,
    start: Instant,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let now = Instant::now();
        Self { queue: Queue::new(7), start: now, now }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.queue.advance(self.now);
    }

    fn add(&mut self, key: &'static str) {
        self.queue.add(key, self.now, self.now);
    }

    fn add_after(&mut self, key: &'static str, delay: Duration) {
        self.queue.add_after(key, self.now, self.now + delay, self.now);
    }

    fn take(&mut self) -> Option<&'static str> {
        self.queue.take(self.now).map(|job| job.key)
    }

    fn done(&mut self, key: &'static str, requeue: Requeue) {
        self.queue.done(&key, requeue, None, self.now);
    }

    /// Fails `key` and returns how long it then stays away.
    fn fail(&mut self, key: &'static str, requeue: Requeue) -> Duration {
        self.add_if_idle(key);
        assert_eq!(self.take(), Some(key));
        self.done(key, requeue);
        let due = self.queue.next_timer().unwrap();
        let delay = due - self.now;
        self.pass(delay);
        delay
    }

    fn add_if_idle(&mut self, key: &'static str) {
        if self.queue.ready() == 0 {
            self.add(key);
        }
    }
}

#[test]
fn changes_that_may_wait_come_together() {
    let mut bench = Bench::new();
    bench.add_after("a", SECOND);
    bench.pass(millis(100));
    bench.add_after("a", SECOND);
    bench.pass(millis(899));
    assert_eq!(bench.take(), None);
    bench.pass(millis(1));
    assert_eq!(bench.take(), Some("a"), "the earlier time counts");
    // While it runs another one comes, whose time begins then.
    bench.add_after("a", SECOND);
    bench.done("a", Requeue::Forget);
    assert_eq!((bench.take(), bench.queue.next_timer()), (None, Some(bench.now + SECOND)));
    bench.pass(SECOND);
    assert_eq!(bench.take(), Some("a"));
    bench.done("a", Requeue::Forget);
    assert_eq!(bench.queue.next_timer(), None);
}

#[test]
fn what_may_not_wait_takes_along_what_may() {
    let mut bench = Bench::new();
    bench.add_after("a", SECOND);
    bench.add("a");
    assert_eq!(bench.take(), Some("a"));
    bench.done("a", Requeue::Forget);
    assert_eq!(bench.queue.next_timer(), None);
}

#[test]
fn a_change_that_may_wait_does_not_shorten_a_back_off() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    bench.done("a", Requeue::After(SECOND * 5));
    bench.add_after("a", SECOND);
    bench.pass(SECOND * 2);
    assert_eq!(bench.take(), None);
}

#[test]
fn an_empty_queue_has_nothing_to_do() {
    let mut bench = Bench::new();
    assert_eq!(bench.take(), None);
    assert_eq!(bench.queue.next_timer(), None);
}

#[test]
fn keys_come_out_in_the_order_they_were_marked() {
    let mut bench = Bench::new();
    for key in ["b", "a", "c"] {
        bench.add(key);
    }
    assert_eq!([bench.take(), bench.take(), bench.take()], [Some("b"), Some("a"), Some("c")]);
}

#[test]
fn a_key_marked_many_times_waits_once() {
    let mut bench = Bench::new();
    for _ in 0..10 {
        bench.add("a");
    }
    assert_eq!(bench.queue.ready(), 1);
    assert_eq!(bench.take(), Some("a"));
    assert_eq!(bench.take(), None);
}

#[test]
fn a_key_with_a_worker_is_not_given_to_another() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    bench.add("a");
    assert_eq!(bench.take(), None);
}

#[test]
fn a_key_marked_while_it_runs_runs_once_more() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    bench.add("a");
    bench.add("a");
    bench.done("a", Requeue::Forget);
    assert_eq!(bench.take(), Some("a"));
    bench.done("a", Requeue::Forget);
    assert_eq!(bench.take(), None);
}

#[test]
fn a_settled_key_is_forgotten() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    bench.done("a", Requeue::Forget);
    assert!(bench.queue.entries.is_empty());
    assert_eq!(bench.queue.running(), 0);
}

#[test]
fn the_oldest_change_stays_with_the_key() {
    let mut bench = Bench::new();
    let first = bench.now;
    bench.add("a");
    bench.pass(SECOND);
    bench.add("a");
    assert_eq!(bench.queue.take(bench.now).unwrap().since, Some(first));
}

#[test]
fn a_change_that_arrived_out_of_order_counts_from_its_own_time() {
    let mut bench = Bench::new();
    bench.pass(SECOND);
    bench.add("a");
    bench.queue.add("a", bench.start, bench.now);
    assert_eq!(bench.queue.take(bench.now).unwrap().since, Some(bench.start));
}

#[test]
fn a_failed_run_does_not_restart_the_age_of_its_change() {
    let mut bench = Bench::new();
    let first = bench.now;
    bench.fail("a", Requeue::Backoff);
    assert_eq!(bench.queue.take(bench.now).unwrap().since, Some(first));
}

#[test]
fn a_change_during_a_successful_run_has_its_own_age() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    bench.pass(SECOND);
    bench.add("a");
    let second = bench.now;
    bench.pass(SECOND);
    bench.done("a", Requeue::Forget);
    assert_eq!(bench.queue.take(bench.now).unwrap().since, Some(second));
}

#[test]
fn failures_double_the_delay_up_to_a_minute() {
    let mut bench = Bench::new();
    let delays: Vec<_> = (0..12).map(|_| bench.fail("a", Requeue::Backoff)).collect();
    for (failures, delay) in (0_u32..).zip(&delays) {
        let nominal = (millis(100) * 2_u32.pow(failures)).min(Duration::from_mins(1));
        assert!(*delay <= nominal && *delay >= nominal * 8 / 10, "{failures}: {delay:?}");
    }
}

#[test]
fn success_resets_the_delay() {
    let mut bench = Bench::new();
    for _ in 0..6 {
        bench.fail("a", Requeue::Backoff);
    }
    bench.take();
    bench.done("a", Requeue::Forget);
    assert!(bench.fail("a", Requeue::Backoff) <= millis(100));
}

#[test]
fn retries_of_different_keys_are_spread() {
    let mut bench = Bench::new();
    for key in ["a", "b", "c", "d"] {
        bench.add(key);
        bench.take();
        bench.done(key, Requeue::Backoff);
    }
    let due: BTreeSet<_> = bench.queue.timers.iter().map(|(due, _)| *due).collect();
    assert!(due.len() > 1);
}

#[test]
fn an_old_view_is_retried_at_once_but_not_for_ever() {
    let mut bench = Bench::new();
    bench.add("a");
    for _ in 0..EAGER_RETRIES {
        assert_eq!(bench.take(), Some("a"));
        bench.done("a", Requeue::Immediate);
    }
    assert_eq!(bench.take(), Some("a"));
    bench.done("a", Requeue::Immediate);
    assert_eq!(bench.take(), None);
    assert!(bench.queue.next_timer().is_some());
}

#[test]
fn a_change_cuts_a_long_delay_short() {
    let mut bench = Bench::new();
    for _ in 0..8 {
        bench.fail("a", Requeue::Backoff);
    }
    bench.take();
    bench.done("a", Requeue::Backoff);
    bench.pass(SECOND);
    assert_eq!(bench.take(), None);
    bench.add("a");
    assert_eq!(bench.take(), Some("a"));
    assert_eq!(bench.queue.waiting(), 0);
}

#[test]
fn a_change_right_after_a_failure_does_not_spin() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    bench.done("a", Requeue::Backoff);
    bench.add("a");
    assert_eq!(bench.take(), None);
    bench.pass(millis(100));
    assert_eq!(bench.take(), Some("a"));
}

#[test]
fn a_change_during_a_run_that_fails_waits_for_the_short_delay_only() {
    let mut bench = Bench::new();
    for _ in 0..9 {
        bench.fail("a", Requeue::Backoff);
    }
    bench.take();
    bench.add("a");
    bench.done("a", Requeue::Backoff);
    assert_eq!(bench.take(), None);
    bench.pass(SECOND);
    assert_eq!(bench.take(), Some("a"));
}

#[test]
fn failed_keys_can_be_hurried() {
    let mut bench = Bench::new();
    for _ in 0..9 {
        bench.fail("a", Requeue::Backoff);
    }
    bench.take();
    bench.done("a", Requeue::Backoff);
    bench.add("held");
    bench.take();
    bench.done("held", Requeue::After(10 * SECOND));
    bench.add("waits");
    bench.take();
    let wake = bench.now + 5 * SECOND;
    bench.queue.done(&"waits", Requeue::Forget, Some(wake), bench.now);

    bench.queue.hurry(bench.now);
    assert_eq!(bench.take(), None);
    bench.pass(SECOND);
    assert_eq!((bench.take(), bench.take()), (Some("a"), None));
    bench.pass(4 * SECOND);
    assert_eq!((bench.take(), bench.take()), (Some("waits"), None));
    bench.pass(5 * SECOND);
    assert_eq!(bench.take(), Some("held"));
    assert_eq!(bench.queue.waiting(), 0);
}

#[test]
fn a_hopeless_key_waits_for_a_change() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    bench.done("a", Requeue::MaxBackoff);
    bench.pass(Duration::from_secs(40));
    assert_eq!(bench.take(), None);
    bench.add("a");
    assert_eq!(bench.take(), Some("a"));
}

#[test]
fn a_hopeless_key_is_not_forgotten() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    bench.done("a", Requeue::MaxBackoff);
    bench.pass(Duration::from_mins(1));
    assert_eq!(bench.take(), Some("a"));
}

#[test]
fn a_change_does_not_shorten_what_the_server_asked_for() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    bench.add("a");
    bench.done("a", Requeue::After(3 * SECOND));
    bench.add("a");
    bench.pass(millis(2999));
    assert_eq!(bench.take(), None);
    bench.pass(millis(1));
    assert_eq!(bench.take(), Some("a"));
}

#[test]
fn held_keys_never_come_back_early() {
    let mut bench = Bench::new();
    assert!(bench.fail("a", Requeue::After(2 * SECOND)) >= 2 * SECOND);
}

#[test]
fn a_wake_up_runs_the_key_without_a_change() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    let at = bench.now + SECOND;
    bench.queue.done(&"a", Requeue::Forget, Some(at), bench.now);
    assert_eq!(bench.queue.next_timer(), Some(at));
    bench.pass(SECOND);
    let job = bench.queue.take(bench.now).unwrap();
    assert_eq!((job.key, job.since), ("a", None));
}

#[test]
fn a_change_before_the_wake_up_runs_at_once_and_forgets_it() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    bench.queue.done(&"a", Requeue::Forget, Some(bench.now + SECOND), bench.now);
    bench.add("a");
    assert_eq!(bench.take(), Some("a"));
    bench.done("a", Requeue::Forget);
    assert_eq!(bench.queue.next_timer(), None);
}

#[test]
fn a_wake_up_does_not_undercut_the_back_off() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    bench.queue.done(&"a", Requeue::Backoff, Some(bench.now), bench.now);
    assert_eq!(bench.take(), None);
    assert!(bench.queue.next_timer().unwrap() >= bench.now + millis(80));
}

#[test]
fn a_wake_up_in_the_past_runs_at_once() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.take();
    bench.queue.done(&"a", Requeue::Forget, Some(bench.start), bench.now);
    assert_eq!(bench.take(), Some("a"));
}

#[test]
fn a_key_that_was_not_given_out_cannot_be_given_back() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.done("a", Requeue::Forget);
    bench.done("b", Requeue::Backoff);
    assert_eq!(bench.take(), Some("a"));
    assert_eq!(bench.queue.running(), 1);
}

#[test]
fn the_time_in_the_queue_is_reported() {
    let mut bench = Bench::new();
    bench.add("a");
    bench.pass(SECOND);
    bench.add("b");
    bench.pass(SECOND);
    assert_eq!(bench.queue.take(bench.now).unwrap().waited, 2 * SECOND);
    assert_eq!(bench.queue.take(bench.now).unwrap().waited, SECOND);
}

#[derive(Clone, Debug)]
enum Op {
    Mark(u8, &'static str),
    Take,
    Done(u8, Requeue, Option<u64>),
    Pass(u64),
    Hurry,
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0_u8..5;
    let requeue = prop_oneof![
        4 => Just(Requeue::Forget),
        1 => Just(Requeue::Continue),
        1 => Just(Requeue::Immediate),
        1 => Just(Requeue::Backoff),
        1 => Just(Requeue::MaxBackoff),
        1 => (0_u64..3000).prop_map(|ms| Requeue::After(millis(ms))),
    ];
    prop_oneof![
        3 => (key.clone(), prop::sample::select(vec!["", "east", "west"]))
            .prop_map(|(key, account)| Op::Mark(key, account)),
        3 => Just(Op::Take),
        3 => (key, requeue, prop::option::of(0_u64..2000)).prop_map(|(k, v, w)| Op::Done(k, v, w)),
        1 => (0_u64..5000).prop_map(Op::Pass),
        1 => Just(Op::Hurry),
    ]
}

proptest! {
    /// Whatever happens: one worker per key, every change is followed by a run that starts after
    /// it, and given time and success the queue runs dry.
    #[test]
    fn no_schedule_loses_a_change_or_runs_a_key_twice_at_once(
        ops in prop::collection::vec(op(), 0..200),
    ) {
        let mut queue = Queue::new(1);
        let mut now = Instant::now();
        // The model: keys with a worker, and changes that no run has seen yet.
        let mut running = BTreeSet::new();
        let mut unseen: BTreeMap<u8, Instant> = BTreeMap::new();
        let mut carried: BTreeMap<u8, Instant> = BTreeMap::new();

        for op in ops {
            match op {
                Op::Mark(key, account) => {
                    queue.add_for(&Account::from(account), key, now, now, now);
                    unseen.entry(key).or_insert(now);
                }
                Op::Take => {
                    if let Some(job) = queue.take(now) {
                        prop_assert!(running.insert(job.key), "two workers for {}", job.key);
                        let model = oldest(unseen.remove(&job.key), carried.remove(&job.key));
                        prop_assert_eq!(job.since, model);
                        carried.extend(model.map(|at| (job.key, at)));
                    }
                }
                Op::Done(key, requeue, wake) => {
                    queue.done(&key, requeue, wake.map(|ms| now + millis(ms)), now);
                    if running.remove(&key) && requeue == Requeue::Forget {
                        carried.remove(&key);
                    }
                }
                Op::Hurry => queue.hurry(now),
                Op::Pass(ms) => {
                    now += millis(ms);
                    queue.advance(now);
                }
            }
            prop_assert_eq!(queue.running(), running.len());
            for key in unseen.keys().chain(carried.keys()) {
                prop_assert!(queue.entries.contains_key(key), "{} is forgotten", key);
            }
            prop_assert_eq!(queue.entries.len(), queue.ready() + queue.waiting() + queue.running());
        }

        for key in std::mem::take(&mut running) {
            queue.done(&key, Requeue::Forget, None, now);
        }
        now += Duration::from_hours(1);
        queue.advance(now);
        while let Some(job) = queue.take(now) {
            unseen.remove(&job.key);
            queue.done(&job.key, Requeue::Forget, None, now);
        }
        prop_assert!(unseen.is_empty(), "never run: {:?}", unseen);
        prop_assert!(queue.entries.is_empty());
    }
}
