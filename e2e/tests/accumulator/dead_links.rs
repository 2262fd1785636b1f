//! Connections that die without a word.

use std::time::Instant;

use fleet_accumulator::SourceState;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::proxy::Proxy;
use fleet_testbed::wait::wait_until;

use crate::support::{Eyes, Follower, SOON, Slices, slices, until_counts, until_fresh};

fn is_stale(state: &SourceState) -> bool {
    matches!(state, SourceState::Stale { .. })
}

/// A link that carries nothing, for old and new connections alike, is noticed; what is known stays, and what happened
/// meanwhile is found when the link carries again.
pub(crate) async fn a_frozen_link_is_stale(cluster: &Cluster) {
    let slices_there = Slices::in_new_namespace(cluster, "frozen").await;
    slices_there.create_all(0..5).await;
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    let eyes = Eyes::on_slices(cluster, &proxy, None, "frozen").await;
    let follower = Follower::new(eyes.accumulator.cursor(slices()), |seen| &seen.slices);
    until_counts(&follower, [5, 0, 0, 0]).await;
    // Comes through the watch, which therefore runs.
    slices_there.create(5).await.unwrap();
    until_counts(&follower, [6, 0, 0, 0]).await;

    let begin = Instant::now();
    proxy.freeze();
    slices_there.delete(0).await.unwrap();
    slices_there.create(6).await.unwrap();
    eyes.until_state("stale", is_stale).await;
    let took = begin.elapsed();
    assert_eq!(follower.counts(), [6, 0, 0, 0], "what is known stays");
    assert!(eyes.blocking().is_empty(), "it works on with what is known");

    let begin = Instant::now();
    proxy.open();
    eyes.until_live().await;
    until_counts(&follower, [7, 0, 0, 1]).await;
    eprintln!("stale after {took:?}, well {:?} after the link", begin.elapsed());
    until_fresh(cluster, Some("frozen"), || eyes.snapshot().slices.clone()).await;
    eyes.close().await;
}

/// A watch whose connection is dead is replaced; where new connections work, consumers receive nothing
/// but the news.
pub(crate) async fn a_stranded_watch_is_replaced(cluster: &Cluster) {
    let slices_there = Slices::in_new_namespace(cluster, "stranded").await;
    slices_there.create_all(0..5).await;
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    let eyes = Eyes::on_slices(cluster, &proxy, None, "stranded").await;
    let follower = Follower::new(eyes.accumulator.cursor(slices()), |seen| &seen.slices);
    until_counts(&follower, [5, 0, 0, 0]).await;
    slices_there.create(5).await.unwrap();
    until_counts(&follower, [6, 0, 0, 0]).await;
    let states = follower.states();

    let begin = Instant::now();
    proxy.strand();
    slices_there.delete(0).await.unwrap();
    wait_until("the deletion arrives", SOON, async || Ok(follower.counts() == [6, 0, 0, 1]))
        .await
        .unwrap();
    eprintln!("noticed after {:?}", begin.elapsed());
    assert_eq!(follower.states(), states, "it was never unwell");
    assert_eq!(eyes.lists("slices"), 1, "the watch was resumed");
    eyes.close().await;
}
