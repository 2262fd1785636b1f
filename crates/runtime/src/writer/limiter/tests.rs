use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinSet;

use super::*;

#[tokio::test]
async fn as_many_as_allowed_go_at_once() {
    let limiter = RequestLimiter::new(2);
    let first = limiter.slot(false).now_or_never().unwrap();
    let _second = limiter.slot(true).now_or_never().unwrap();
    assert!(limiter.slot(true).now_or_never().is_none());
    drop(first);
    assert!(limiter.slot(false).now_or_never().is_some());
}

#[tokio::test]
async fn urgent_requests_overtake_waiting_ones() {
    let limiter = RequestLimiter::new(1);
    let held = limiter.slot(false).await;
    let mut normal = Box::pin(limiter.slot(false));
    let mut urgent = Box::pin(limiter.slot(true));
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
    let held = limiter.slot(false).await;
    let mut first = Box::pin(limiter.slot(false));
    let mut second = Box::pin(limiter.slot(false));
    assert!(first.as_mut().now_or_never().is_none());
    assert!(second.as_mut().now_or_never().is_none());
    drop(held);
    assert!(second.as_mut().now_or_never().is_none());
    assert!(first.now_or_never().is_some());
}

#[tokio::test]
async fn a_request_that_gave_up_waiting_is_passed_over() {
    let limiter = RequestLimiter::new(1);
    let held = limiter.slot(false).await;
    let mut gone = Box::pin(limiter.slot(true));
    let mut next = Box::pin(limiter.slot(false));
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
    let held = limiter.slot(false).await;
    let mut leaves = Box::pin(limiter.slot(false));
    assert!(leaves.as_mut().now_or_never().is_none());
    drop(held);
    drop(leaves);
    assert!(limiter.slot(false).now_or_never().is_some());
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
                let _slot = limiter.slot(index % 7 == 0).await;
                assert!(inside.fetch_add(1, Ordering::SeqCst) < SLOTS);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
            };
            if index % 3 == 0 {
                // Gives up while waiting; inside it would leave the count wrong.
                let patience = Duration::from_micros(index);
                let slot = tokio::time::timeout(patience, limiter.slot(false)).await;
                drop(slot);
            } else {
                work.await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let all: Vec<_> = (0..SLOTS).map(|_| limiter.slot(false).now_or_never()).collect();
    assert!(all.iter().all(Option::is_some));
    assert!(limiter.slot(false).now_or_never().is_none());
}
