//! An API server that no longer knows the history which a watch wants to go on from: a real 410 Gone.

use fleet_accumulator::{Object, Tracked, View};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::proxy::Proxy;
use fleet_testbed::wait::wait_until;
use std::sync::Arc;

use crate::support::{Eyes, Follower, SOON, Seen, Slices, slices, until_counts, until_fresh};

/// Lets the API server forget everything before now, and restarts it. No client behind the proxy notices it.
async fn forget(cluster: &Cluster, proxy: &Proxy, meanwhile: impl AsyncFnOnce()) {
    proxy.freeze();
    meanwhile().await;
    // Something must have happened, or the version that the watch stopped at is still the newest.
    let elsewhere = Slices::in_new_namespace(cluster, "elsewhere").await;
    elsewhere.create_all(0..1).await;
    elsewhere.delete_all(0..1).await;
    cluster.compact().await.unwrap();
    cluster.stop_apiserver().await.unwrap();
    cluster.start_apiserver().await.unwrap();
    proxy.cut();
    proxy.open();
}

async fn until_listed(eyes: &Eyes<Seen>, lists: u64) {
    wait_until("it was listed again", SOON, async || Ok(eyes.lists("slices") >= lists))
        .await
        .unwrap();
    eyes.until_live().await;
}

fn shares_everything<T: Tracked>(one: &View<T>, other: &View<T>) -> bool {
    let pointer = |record: &Object<T>| Arc::as_ptr(&record.object);
    one.iter().map(pointer).eq(other.iter().map(pointer))
}

/// One list, and no difference where nothing changed.
pub(crate) async fn forgotten_and_unchanged(cluster: &Cluster) {
    let slices_there = Slices::in_new_namespace(cluster, "unchanged").await;
    slices_there.create_all(0..40).await;
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    let eyes = Eyes::patient(cluster, &proxy, "unchanged").await;
    let follower = Follower::new(eyes.accumulator.cursor(slices()), |seen| &seen.slices);
    until_counts(&follower, [40, 0, 0, 0]).await;
    eyes.until_live().await;
    let before = eyes.snapshot();
    assert_eq!((eyes.lists("slices"), eyes.errors("slices", "expired")), (1, 0));

    forget(cluster, &proxy, async || {}).await;
    until_listed(&eyes, 2).await;
    assert_eq!(eyes.errors("slices", "expired"), 1, "it was a real 410");
    assert!(shares_everything(&before.slices, &eyes.snapshot().slices), "nothing was replaced");

    // The next change comes through the new watch, and nothing came before it.
    slices_there.change(7, 99).await.unwrap();
    until_counts(&follower, [40, 1, 0, 0]).await;
    assert_eq!((eyes.lists("slices"), eyes.errors("slices", "expired")), (2, 1));
    follower.until_equal(|| eyes.snapshot().slices.clone()).await;
    eyes.close().await;
}

/// An object that stays is the one that changed last: where that is gone, a source lists rather than resumes its watch.
async fn changes_last<T: Tracked>(slices_there: &Slices, follower: &Follower<T>) {
    slices_there.change(35, 99).await.unwrap();
    until_counts(follower, [40, 1, 0, 0]).await;
}

/// What happened meanwhile is found: news, changes, deletions, and twins under old names.
pub(crate) async fn forgotten_and_changed(cluster: &Cluster) {
    let slices_there = Slices::in_new_namespace(cluster, "changed").await;
    slices_there.create_all(0..40).await;
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    let eyes = Eyes::patient(cluster, &proxy, "changed").await;
    let follower = Follower::new(eyes.accumulator.cursor(slices()), |seen| &seen.slices);
    until_counts(&follower, [40, 0, 0, 0]).await;
    eyes.until_live().await;
    changes_last(&slices_there, &follower).await;

    forget(cluster, &proxy, async || {
        slices_there.delete_all(0..5).await;
        slices_there.recreate_all(5..15).await;
        slices_there.change(15, 99).await.unwrap();
        slices_there.create_all(40..43).await;
    })
    .await;
    until_listed(&eyes, 2).await;
    until_counts(&follower, [43, 2, 10, 5]).await;
    assert_eq!((eyes.lists("slices"), eyes.errors("slices", "expired")), (2, 1));
    until_fresh(cluster, Some("changed"), || eyes.snapshot().slices.clone()).await;
    follower.until_equal(|| eyes.snapshot().slices.clone()).await;
    eyes.close().await;
}

/// A list that lacks most of what was known is believed when a second one agrees.
pub(crate) async fn forgotten_and_much_gone(cluster: &Cluster) {
    let slices_there = Slices::in_new_namespace(cluster, "much-gone").await;
    slices_there.create_all(0..40).await;
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    let eyes = Eyes::patient(cluster, &proxy, "much-gone").await;
    let follower = Follower::new(eyes.accumulator.cursor(slices()), |seen| &seen.slices);
    until_counts(&follower, [40, 0, 0, 0]).await;
    eyes.until_live().await;
    changes_last(&slices_there, &follower).await;

    forget(cluster, &proxy, async || {
        slices_there.delete_all(0..30).await;
        slices_there.create_all(40..41).await;
    })
    .await;
    // The first list's news are shown at once, and its losses are not.
    until_counts(&follower, [41, 1, 0, 0]).await;
    let held = eyes.metric("fleet_accumulator_withheld_deletions", &[("source", "slices")]);
    assert!(eyes.lists("slices") > 2 || held == 30, "{held} are held");
    until_counts(&follower, [41, 1, 0, 30]).await;
    eyes.until_live().await;
    assert_eq!((eyes.lists("slices"), eyes.errors("slices", "expired")), (3, 1));
    until_fresh(cluster, Some("much-gone"), || eyes.snapshot().slices.clone()).await;
    eyes.close().await;
}

/// The history is still there, the connection is not: the watch goes on from where it was cut off, and no old
/// incarnation survives a new one of the same name.
pub(crate) async fn recreated_while_shut(cluster: &Cluster) {
    let slices_there = Slices::in_new_namespace(cluster, "shut").await;
    slices_there.create_all(0..40).await;
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    let eyes = Eyes::on_slices(cluster, &proxy, None, "shut").await;
    let follower = Follower::new(eyes.accumulator.cursor(slices()), |seen| &seen.slices);
    until_counts(&follower, [40, 0, 0, 0]).await;
    eyes.until_live().await;
    changes_last(&slices_there, &follower).await;

    proxy.shut();
    slices_there.recreate_all(0..10).await;
    slices_there.delete_all(10..15).await;
    slices_there.create_all(40..43).await;
    proxy.open();
    until_fresh(cluster, Some("shut"), || eyes.snapshot().slices.clone()).await;
    follower.until_equal(|| eyes.snapshot().slices.clone()).await;
    // A replacement is one difference, or two if a step ended between deletion and creation.
    let [added, updated, replaced, removed] = follower.counts();
    assert_eq!((added + replaced, updated, removed + replaced), (53, 1, 15));
    let errors = ["expired", "went_back", "another_server", "failed"]
        .map(|error| (error, eyes.errors("slices", error)));
    assert_eq!(eyes.lists("slices"), 1, "the watch was resumed: {errors:?}");
    eyes.close().await;
}
