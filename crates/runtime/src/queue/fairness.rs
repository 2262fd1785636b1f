//! The keys of one account do not delay those of another for long.

use std::iter;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// What a plan takes.
const PLAN: Duration = Duration::from_micros(100);

fn account(number: usize) -> Account {
    Account::from(format!("fleet-member-{number}"))
}

/// A queue in which each account has so many keys ready.
fn crowded(crowds: &[usize], now: Instant) -> Queue<(usize, usize)> {
    let mut queue = Queue::new(1);
    for (number, crowd) in crowds.iter().enumerate() {
        for key in 0..*crowd {
            queue.add_for(&account(number), (number, key), now, now, now);
        }
    }
    queue
}

/// The keys in the order in which they run, each for `took`.
fn order<K: Clone + Ord + Hash>(queue: &mut Queue<K>, now: Instant, took: Duration) -> Vec<K> {
    let run = || {
        let job = queue.take(now)?;
        queue.charge(&job.account, took);
        queue.done(&job.key, Requeue::Forget, None, now);
        Some(job.key)
    };
    iter::from_fn(run).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// However many keys others have ready, a key runs after one turn of each of them.
    #[test]
    fn a_key_waits_for_one_turn_of_each_other_account(
        crowds in vec(1..400_usize, 1..8),
        before in 0..300_usize,
    ) {
        let now = Instant::now();
        let mut queue = crowded(&crowds, now);
        for _ in 0..before {
            if let Some(job) = queue.take(now) {
                queue.charge(&job.account, PLAN);
                queue.done(&job.key, Requeue::Forget, None, now);
            }
        }
        let quiet = (crowds.len(), 0);
        queue.add_for(&account(crowds.len()), quiet, now, now, now);
        let turns = order(&mut queue, now, PLAN).iter().position(|key| *key == quiet).unwrap();
        let turn = usize::try_from(u128::from(QUANTUM) / PLAN.as_micros()).unwrap() + 1;
        prop_assert!(turns <= crowds.len() * turn, "{turns} keys came first");
    }

    /// A key for which a quiet account waits, too, does not wait for its place in the line of a busy one.
    #[test]
    fn a_key_that_two_wait_for_runs_at_the_earlier_turn(crowd in 50..400_usize, at in 0..400_usize) {
        let now = Instant::now();
        let mut queue = crowded(&[crowd], now);
        let shared = (0, at % crowd);
        queue.add_for(&account(1), shared, now, now, now);
        let order = order(&mut queue, now, PLAN);
        let turns = order.iter().position(|key| *key == shared).unwrap();
        prop_assert!(turns <= 20, "{turns} keys came first");
        prop_assert_eq!(order.len(), crowd, "it runs once");
    }

    /// Accounts share the time, not the number of keys.
    #[test]
    fn time_is_shared_alike(micros in vec(1..3_000_u64, 2..5)) {
        let now = Instant::now();
        // As many as are taken: no account runs dry.
        let crowds = vec![1_500; micros.len()];
        let mut queue = crowded(&crowds, now);
        let mut used = vec![0_u64; micros.len()];
        for _ in 0..1_500 {
            let job = queue.take(now).unwrap();
            let took = micros[job.key.0];
            used[job.key.0] += took + 1;
            queue.charge(&job.account, Duration::from_micros(took));
            queue.done(&job.key, Requeue::Forget, None, now);
        }
        let (least, most) = (used.iter().min().unwrap(), used.iter().max().unwrap());
        prop_assert!(most - least <= 2 * (u64::from(QUANTUM) + 3_000), "{used:?}");
    }
}

/// A key that is planned again and again takes part in the turns of its account, and no other.
#[test]
fn a_plan_in_parts_lets_others_go_between() {
    let now = Instant::now();
    let mut queue = Queue::new(1);
    let (large, small) = (account(0), account(1));
    queue.add_for(&large, "large", now, now, now);
    for name in ["a", "b", "c"] {
        queue.add_for(&small, name, now, now, now);
    }
    let mut order = Vec::new();
    for _ in 0..6 {
        let job = queue.take(now).unwrap();
        let is_large = job.key == "large";
        assert_eq!(job.since, Some(now), "the change is dealt with only at the end");
        queue.charge(&job.account, if is_large { Duration::from_millis(2) } else { PLAN });
        let requeue = if is_large { Requeue::Continue } else { Requeue::Forget };
        queue.done(&job.key, requeue, None, now);
        order.push(job.key);
    }
    assert_eq!(order[..4], ["large", "a", "b", "c"]);
    assert_eq!(order[4..], ["large", "large"]);
}

/// A thousand importers acknowledge one change of a Service: its key costs a few lookups each.
#[test]
fn a_key_waits_on_a_few_accounts_only() {
    let now = Instant::now();
    let mut queue = Queue::new(1);
    for number in 0..1000 {
        queue.add_for(&account(number), 1, now, now, now);
    }
    assert_eq!((queue.ready(), queue.lines.len()), (1, MAX_ACCOUNTS));
    assert_eq!(order(&mut queue, now, PLAN), [1]);
}
