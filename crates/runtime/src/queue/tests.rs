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

    fn mark(&mut self, key: &'static str) {
        self.queue.mark(key, self.now, self.now);
    }

    fn mark_for(&mut self, key: &'static str, delay: Duration) {
        self.queue.mark_for(key, self.now, self.now + delay, self.now);
    }

    fn take(&mut self) -> Option<&'static str> {
        self.queue.take(self.now).map(|job| job.key)
    }

    fn done(&mut self, key: &'static str, verdict: Verdict) {
        self.queue.done(&key, verdict, None, self.now);
    }

    /// Fails `key` and returns how long it then stays away.
    fn fail(&mut self, key: &'static str, verdict: Verdict) -> Duration {
        self.mark_if_idle(key);
        assert_eq!(self.take(), Some(key));
        self.done(key, verdict);
        let due = self.queue.next_timer().unwrap();
        let delay = due - self.now;
        self.pass(delay);
        delay
    }

    fn mark_if_idle(&mut self, key: &'static str) {
        if self.queue.ready() == 0 {
            self.mark(key);
        }
    }
}

#[test]
fn changes_that_may_wait_come_together() {
    let mut bench = Bench::new();
    bench.mark_for("a", SECOND);
    bench.pass(millis(100));
    bench.mark_for("a", SECOND);
    bench.pass(millis(899));
    assert_eq!(bench.take(), None);
    bench.pass(millis(1));
    assert_eq!(bench.take(), Some("a"), "the earlier time counts");
    // While it runs another one comes, whose time begins then.
    bench.mark_for("a", SECOND);
    bench.done("a", Verdict::Settled);
    assert_eq!((bench.take(), bench.queue.next_timer()), (None, Some(bench.now + SECOND)));
    bench.pass(SECOND);
    assert_eq!(bench.take(), Some("a"));
    bench.done("a", Verdict::Settled);
    assert_eq!(bench.queue.next_timer(), None);
}

#[test]
fn what_may_not_wait_takes_along_what_may() {
    let mut bench = Bench::new();
    bench.mark_for("a", SECOND);
    bench.mark("a");
    assert_eq!(bench.take(), Some("a"));
    bench.done("a", Verdict::Settled);
    assert_eq!(bench.queue.next_timer(), None);
}

#[test]
fn a_change_that_may_wait_does_not_shorten_a_back_off() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.take();
    bench.done("a", Verdict::Hold(SECOND * 5));
    bench.mark_for("a", SECOND);
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
        bench.mark(key);
    }
    assert_eq!([bench.take(), bench.take(), bench.take()], [Some("b"), Some("a"), Some("c")]);
}

#[test]
fn a_key_marked_many_times_waits_once() {
    let mut bench = Bench::new();
    for _ in 0..10 {
        bench.mark("a");
    }
    assert_eq!(bench.queue.ready(), 1);
    assert_eq!(bench.take(), Some("a"));
    assert_eq!(bench.take(), None);
}

#[test]
fn a_key_with_a_worker_is_not_given_to_another() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.take();
    bench.mark("a");
    assert_eq!(bench.take(), None);
}

#[test]
fn a_key_marked_while_it_runs_runs_once_more() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.take();
    bench.mark("a");
    bench.mark("a");
    bench.done("a", Verdict::Settled);
    assert_eq!(bench.take(), Some("a"));
    bench.done("a", Verdict::Settled);
    assert_eq!(bench.take(), None);
}

#[test]
fn a_settled_key_is_forgotten() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.take();
    bench.done("a", Verdict::Settled);
    assert!(bench.queue.entries.is_empty());
    assert_eq!(bench.queue.running(), 0);
}

#[test]
fn the_oldest_change_stays_with_the_key() {
    let mut bench = Bench::new();
    let first = bench.now;
    bench.mark("a");
    bench.pass(SECOND);
    bench.mark("a");
    assert_eq!(bench.queue.take(bench.now).unwrap().since, Some(first));
}

#[test]
fn a_change_that_arrived_out_of_order_counts_from_its_own_time() {
    let mut bench = Bench::new();
    bench.pass(SECOND);
    bench.mark("a");
    bench.queue.mark("a", bench.start, bench.now);
    assert_eq!(bench.queue.take(bench.now).unwrap().since, Some(bench.start));
}

#[test]
fn a_failed_run_does_not_restart_the_age_of_its_change() {
    let mut bench = Bench::new();
    let first = bench.now;
    bench.fail("a", Verdict::Failed);
    assert_eq!(bench.queue.take(bench.now).unwrap().since, Some(first));
}

#[test]
fn a_change_during_a_successful_run_has_its_own_age() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.take();
    bench.pass(SECOND);
    bench.mark("a");
    let second = bench.now;
    bench.pass(SECOND);
    bench.done("a", Verdict::Settled);
    assert_eq!(bench.queue.take(bench.now).unwrap().since, Some(second));
}

#[test]
fn failures_double_the_delay_up_to_a_minute() {
    let mut bench = Bench::new();
    let delays: Vec<_> = (0..12).map(|_| bench.fail("a", Verdict::Failed)).collect();
    for (failures, delay) in (0_u32..).zip(&delays) {
        let nominal = (millis(100) * 2_u32.pow(failures)).min(Duration::from_mins(1));
        assert!(*delay <= nominal && *delay >= nominal * 8 / 10, "{failures}: {delay:?}");
    }
}

#[test]
fn success_resets_the_delay() {
    let mut bench = Bench::new();
    for _ in 0..6 {
        bench.fail("a", Verdict::Failed);
    }
    bench.take();
    bench.done("a", Verdict::Settled);
    assert!(bench.fail("a", Verdict::Failed) <= millis(100));
}

#[test]
fn retries_of_different_keys_are_spread() {
    let mut bench = Bench::new();
    for key in ["a", "b", "c", "d"] {
        bench.mark(key);
        bench.take();
        bench.done(key, Verdict::Failed);
    }
    let due: BTreeSet<_> = bench.queue.timers.iter().map(|(due, _)| *due).collect();
    assert!(due.len() > 1);
}

#[test]
fn an_old_view_is_retried_at_once_but_not_for_ever() {
    let mut bench = Bench::new();
    bench.mark("a");
    for _ in 0..EAGER_RETRIES {
        assert_eq!(bench.take(), Some("a"));
        bench.done("a", Verdict::Again);
    }
    assert_eq!(bench.take(), Some("a"));
    bench.done("a", Verdict::Again);
    assert_eq!(bench.take(), None);
    assert!(bench.queue.next_timer().is_some());
}

#[test]
fn a_change_cuts_a_long_delay_short() {
    let mut bench = Bench::new();
    for _ in 0..8 {
        bench.fail("a", Verdict::Failed);
    }
    bench.take();
    bench.done("a", Verdict::Failed);
    bench.pass(SECOND);
    assert_eq!(bench.take(), None);
    bench.mark("a");
    assert_eq!(bench.take(), Some("a"));
    assert_eq!(bench.queue.waiting(), 0);
}

#[test]
fn a_change_right_after_a_failure_does_not_spin() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.take();
    bench.done("a", Verdict::Failed);
    bench.mark("a");
    assert_eq!(bench.take(), None);
    bench.pass(millis(100));
    assert_eq!(bench.take(), Some("a"));
}

#[test]
fn a_change_during_a_run_that_fails_waits_for_the_short_delay_only() {
    let mut bench = Bench::new();
    for _ in 0..9 {
        bench.fail("a", Verdict::Failed);
    }
    bench.take();
    bench.mark("a");
    bench.done("a", Verdict::Failed);
    assert_eq!(bench.take(), None);
    bench.pass(SECOND);
    assert_eq!(bench.take(), Some("a"));
}

#[test]
fn failed_keys_can_be_hurried() {
    let mut bench = Bench::new();
    for _ in 0..9 {
        bench.fail("a", Verdict::Failed);
    }
    bench.take();
    bench.done("a", Verdict::Failed);
    bench.mark("held");
    bench.take();
    bench.done("held", Verdict::Hold(10 * SECOND));
    bench.mark("waits");
    bench.take();
    let wake = bench.now + 5 * SECOND;
    bench.queue.done(&"waits", Verdict::Settled, Some(wake), bench.now);

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
    bench.mark("a");
    bench.take();
    bench.done("a", Verdict::Slow);
    bench.pass(Duration::from_secs(40));
    assert_eq!(bench.take(), None);
    bench.mark("a");
    assert_eq!(bench.take(), Some("a"));
}

#[test]
fn a_hopeless_key_is_not_forgotten() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.take();
    bench.done("a", Verdict::Slow);
    bench.pass(Duration::from_mins(1));
    assert_eq!(bench.take(), Some("a"));
}

#[test]
fn a_change_does_not_shorten_what_the_server_asked_for() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.take();
    bench.mark("a");
    bench.done("a", Verdict::Hold(3 * SECOND));
    bench.mark("a");
    bench.pass(millis(2999));
    assert_eq!(bench.take(), None);
    bench.pass(millis(1));
    assert_eq!(bench.take(), Some("a"));
}

#[test]
fn held_keys_never_come_back_early() {
    let mut bench = Bench::new();
    assert!(bench.fail("a", Verdict::Hold(2 * SECOND)) >= 2 * SECOND);
}

#[test]
fn a_wake_up_runs_the_key_without_a_change() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.take();
    let at = bench.now + SECOND;
    bench.queue.done(&"a", Verdict::Settled, Some(at), bench.now);
    assert_eq!(bench.queue.next_timer(), Some(at));
    bench.pass(SECOND);
    let job = bench.queue.take(bench.now).unwrap();
    assert_eq!((job.key, job.since), ("a", None));
}

#[test]
fn a_change_before_the_wake_up_runs_at_once_and_forgets_it() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.take();
    bench.queue.done(&"a", Verdict::Settled, Some(bench.now + SECOND), bench.now);
    bench.mark("a");
    assert_eq!(bench.take(), Some("a"));
    bench.done("a", Verdict::Settled);
    assert_eq!(bench.queue.next_timer(), None);
}

#[test]
fn a_wake_up_does_not_undercut_the_back_off() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.take();
    bench.queue.done(&"a", Verdict::Failed, Some(bench.now), bench.now);
    assert_eq!(bench.take(), None);
    assert!(bench.queue.next_timer().unwrap() >= bench.now + millis(80));
}

#[test]
fn a_wake_up_in_the_past_runs_at_once() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.take();
    bench.queue.done(&"a", Verdict::Settled, Some(bench.start), bench.now);
    assert_eq!(bench.take(), Some("a"));
}

#[test]
fn a_key_that_was_not_given_out_cannot_be_given_back() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.done("a", Verdict::Settled);
    bench.done("b", Verdict::Failed);
    assert_eq!(bench.take(), Some("a"));
    assert_eq!(bench.queue.running(), 1);
}

#[test]
fn the_time_in_the_queue_is_reported() {
    let mut bench = Bench::new();
    bench.mark("a");
    bench.pass(SECOND);
    bench.mark("b");
    bench.pass(SECOND);
    assert_eq!(bench.queue.take(bench.now).unwrap().waited, 2 * SECOND);
    assert_eq!(bench.queue.take(bench.now).unwrap().waited, SECOND);
}

#[derive(Clone, Debug)]
enum Op {
    Mark(u8),
    Take,
    Done(u8, Verdict, Option<u64>),
    Pass(u64),
    Hurry,
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0_u8..5;
    let verdict = prop_oneof![
        4 => Just(Verdict::Settled),
        1 => Just(Verdict::Again),
        1 => Just(Verdict::Failed),
        1 => Just(Verdict::Slow),
        1 => (0_u64..3000).prop_map(|ms| Verdict::Hold(millis(ms))),
    ];
    prop_oneof![
        3 => key.clone().prop_map(Op::Mark),
        3 => Just(Op::Take),
        3 => (key, verdict, prop::option::of(0_u64..2000)).prop_map(|(k, v, w)| Op::Done(k, v, w)),
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
                Op::Mark(key) => {
                    queue.mark(key, now, now);
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
                Op::Done(key, verdict, wake) => {
                    queue.done(&key, verdict, wake.map(|ms| now + millis(ms)), now);
                    if running.remove(&key) && verdict == Verdict::Settled {
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
            queue.done(&key, Verdict::Settled, None, now);
        }
        now += Duration::from_hours(1);
        queue.advance(now);
        while let Some(job) = queue.take(now) {
            unseen.remove(&job.key);
            queue.done(&job.key, Verdict::Settled, None, now);
        }
        prop_assert!(unseen.is_empty(), "never run: {:?}", unseen);
        prop_assert!(queue.entries.is_empty());
    }
}
