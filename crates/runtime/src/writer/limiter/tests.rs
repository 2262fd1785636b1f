use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinSet;

use super::*;

async fn slot(limiter: &Arc<RequestLimiter>, urgent: bool) -> Slot {
    limiter.slot(&Account::from("one"), urgent).await
}

#[tokio::test]
async fn as_many_as_allowed_go_at_once() {
    let limiter = RequestLimiter::new(2);
    let first = slot(&limiter, false).now_or_never().unwrap();
    let _second = slot(&limiter, true).now_or_never().unwrap();
    assert!(slot(&limiter, true).now_or_never().is_none());
    drop(first);
    assert!(slot(&limiter, false).now_or_never().is_some());
}

#[tokio::test]
async fn urgent_requests_overtake_waiting_ones() {
    let limiter = RequestLimiter::new(1);
    let held = slot(&limiter, false).await;
    let mut normal = Box::pin(slot(&limiter, false));
    let mut urgent = Box::pin(slot(&limiter, true));
    assert!(normal.as_mut().now_or_never().is_none());
    assert!(urgent.as_mut().now_or_never().is_none());

    drop(held);
    assert!(normal.as_mut().now_or_never().is_none());
    let slot = urgent.as_mut().now_or_never().unwrap();
    drop(slot);
    assert!(normal.now_or_never().is_some());
}

#[tokio::test]
async fn requests_of_one_lane_keep_their_order() {
    let limiter = RequestLimiter::new(1);
    let held = slot(&limiter, false).await;
    let mut first = Box::pin(slot(&limiter, false));
    let mut second = Box::pin(slot(&limiter, false));
    assert!(first.as_mut().now_or_never().is_none());
    assert!(second.as_mut().now_or_never().is_none());
    drop(held);
    assert!(second.as_mut().now_or_never().is_none());
    assert!(first.now_or_never().is_some());
}

#[tokio::test]
async fn a_request_that_gave_up_waiting_is_passed_over() {
    let limiter = RequestLimiter::new(1);
    let held = slot(&limiter, false).await;
    let mut gone = Box::pin(slot(&limiter, true));
    let mut next = Box::pin(slot(&limiter, false));
    assert!(gone.as_mut().now_or_never().is_none());
    assert!(next.as_mut().now_or_never().is_none());
    drop(gone);
    drop(held);
    assert!(next.now_or_never().is_some());
    assert_eq!(limiter.waiting(), 0);
}

#[tokio::test]
async fn a_slot_granted_to_one_who_leaves_is_not_lost() {
    let limiter = RequestLimiter::new(1);
    let held = slot(&limiter, false).await;
    let mut leaves = Box::pin(slot(&limiter, false));
    assert!(leaves.as_mut().now_or_never().is_none());
    drop(held);
    drop(leaves);
    assert!(slot(&limiter, false).now_or_never().is_some());
}

/// The accounts of waiting requests, in the order in which they get the only slot.
async fn order(waiting: &[(&'static str, bool)]) -> Vec<&'static str> {
    let limiter = RequestLimiter::new(1);
    let held = slot(&limiter, false).await;
    let mut requests: Vec<_> = waiting
        .iter()
        .map(|(name, urgent)| {
            let (limiter, account) = (Arc::clone(&limiter), Account::from(*name));
            let request = async move { limiter.slot(&account, *urgent).await };
            (*name, Box::pin(request))
        })
        .collect();
    for (_, request) in &mut requests {
        assert!(request.as_mut().now_or_never().is_none());
    }
    drop(held);
    let mut order = Vec::new();
    while !requests.is_empty() {
        let mut granted = None;
        for (at, (_, request)) in requests.iter_mut().enumerate() {
            granted = granted.or_else(|| Some((at, request.as_mut().now_or_never()?)));
        }
        let (at, slot) = granted.unwrap();
        order.push(requests.remove(at).0);
        drop(slot);
    }
    order
}

#[tokio::test]
async fn accounts_take_turns() {
    let waiting = [("a", false), ("a", false), ("a", false), ("a", false), ("b", false)];
    assert_eq!(order(&waiting).await, ["a", "b", "a", "a", "a"]);
}

#[tokio::test]
async fn urgent_requests_leave_a_share_to_the_others() {
    let urgent = std::iter::repeat_n(("u", true), 10);
    let waiting: Vec<_> = urgent.chain([("n", false), ("n", false)]).collect();
    let order = order(&waiting).await.concat();
    assert_eq!(order, "uuuunuuuunuu");
}

/// Many tasks on several threads, a part of which give up at a random moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_schedule_loses_a_slot_or_exceeds_the_limit() {
    const SLOTS: usize = 3;
    let limiter = RequestLimiter::new(SLOTS);
    let inside = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for index in 0_u64..400 {
        let (limiter, inside) = (Arc::clone(&limiter), Arc::clone(&inside));
        tasks.spawn(async move {
            let work = async {
                let _slot = slot(&limiter, index % 7 == 0).await;
                assert!(inside.fetch_add(1, Ordering::SeqCst) < SLOTS);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
            };
            if index % 3 == 0 {
                // Gives up while waiting; inside it would leave the count wrong.
                let patience = Duration::from_micros(index);
                let slot = tokio::time::timeout(patience, slot(&limiter, false)).await;
                drop(slot);
            } else {
                work.await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let all: Vec<_> = (0..SLOTS).map(|_| slot(&limiter, false).now_or_never()).collect();
    assert!(all.iter().all(Option::is_some));
    assert!(slot(&limiter, false).now_or_never().is_none());
}

/// As many slots as there are now.
fn all(limiter: &Arc<RequestLimiter>) -> Vec<Slot> {
    std::iter::from_fn(|| slot(limiter, false).now_or_never()).collect()
}

#[tokio::test(start_paused = true)]
async fn each_round_with_a_refusal_halves_the_requests_at_once_and_each_without_adds_one() {
    const NO_PAUSE: Duration = Duration::ZERO;
    let limiter = RequestLimiter::new(16);
    let round = all(&limiter);
    assert_eq!(round.len(), 16);
    let slowed: Vec<_> = round.iter().map(|slot| slot.refused(NO_PAUSE)).collect();
    assert_eq!(slowed.iter().filter(|slowed| **slowed).count(), 1, "the first one is reported");
    drop(round);
    let mut counts = Vec::new();
    for _ in 0..4 {
        let round = all(&limiter);
        counts.push(round.len());
        round[0].refused(NO_PAUSE);
    }
    assert_eq!(counts, [8, 4, 2, 1]);
    let mut counts = Vec::new();
    let mut reported = 0;
    for _ in 0..20 {
        let round = all(&limiter);
        counts.push(round.len());
        reported += round.iter().filter(|slot| slot.answered()).count();
    }
    assert_eq!((counts[0], counts[1], counts[14], counts[19], reported), (1, 2, 15, 16, 1));
}

#[tokio::test(start_paused = true)]
async fn two_refusals_in_a_row_stop_all_requests_for_as_long_as_asked() {
    let limiter = RequestLimiter::new(2);
    let (first, second) = (slot(&limiter, false).await, slot(&limiter, false).await);
    first.refused(Duration::from_secs(2));
    second.refused(Duration::from_secs(2));
    drop((first, second));
    let mut normal = Box::pin(slot(&limiter, false));
    let mut urgent = Box::pin(slot(&limiter, true));
    assert!(normal.as_mut().now_or_never().is_none());
    assert!(urgent.as_mut().now_or_never().is_none());
    tokio::time::sleep(Duration::from_millis(1900)).await;
    assert!(urgent.as_mut().now_or_never().is_none());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(normal.as_mut().now_or_never().is_none(), "only one at once");
    assert!(urgent.as_mut().now_or_never().is_some(), "urgent ones go first");
    assert!(normal.now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn no_refusal_stops_all_requests_for_a_day() {
    let limiter = RequestLimiter::new(1);
    for _ in 0..2 {
        slot(&limiter, false).await.refused(Duration::from_secs(100_000));
    }
    let begun = tokio::time::Instant::now();
    drop(slot(&limiter, true).await);
    assert_eq!(begun.elapsed().as_secs(), 10);
}

/// As where a webhook has something against one object.
#[tokio::test(start_paused = true)]
async fn a_refusal_between_other_answers_stops_no_other_request() {
    let limiter = RequestLimiter::new(2);
    for _ in 0..10 {
        slot(&limiter, false).await.refused(Duration::from_mins(1));
        let other = slot(&limiter, false).now_or_never().expect("no pause");
        other.answered();
    }
}

const REQUEST: RequestType = ("update", fleet_api::kinds::SERVICE_IMPORT);

/// A request is answered after so long.
async fn answer(limiter: &Arc<RequestLimiter>, took: Duration) {
    slot(limiter, false).await.served(REQUEST, monotonic().checked_sub(took).unwrap());
}

/// A limiter of 16 slots, 12 of which are left since answers are late.
async fn late() -> Arc<RequestLimiter> {
    let limiter = RequestLimiter::new(16);
    for _ in 0..32 {
        answer(&limiter, Duration::from_millis(4)).await;
    }
    assert_eq!(all(&limiter).len(), 16);
    for _ in 0..8 {
        answer(&limiter, Duration::from_millis(100)).await;
    }
    limiter
}

#[tokio::test]
async fn late_answers_reduce_how_many_go_at_once() {
    assert_eq!(all(&late().await).len(), 12);
}

#[tokio::test]
async fn while_answers_are_late_nobody_holds_more_than_a_share() {
    let limiter = late().await;
    let other = Account::from("other");
    drop(limiter.slot(&other, false).await);
    let held = all(&limiter);
    assert_eq!(held.len(), 6);
    let mut waiting = Box::pin(slot(&limiter, true));
    assert!(waiting.as_mut().now_or_never().is_none());
    let others: Vec<_> =
        (0..6).map(|_| limiter.slot(&other, false).now_or_never().expect("a share")).collect();
    assert!(limiter.slot(&other, true).now_or_never().is_none());
    drop(others);
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(held);
    assert!(waiting.now_or_never().is_some());
    assert_eq!(limiter.waiting(), 0);
}
