//! An API server that is away when the accumulator starts.

use fleet_testbed::cluster::Cluster;
use fleet_testbed::proxy::Proxy;
use fleet_testbed::wait::wait_until;

use crate::support::{Eyes, SOON, Slices, slices};

pub(crate) async fn away_at_start(cluster: &Cluster) {
    let slices_there = Slices::in_new_namespace(cluster, "start").await;
    slices_there.create_all(0..3).await;
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    cluster.stop_apiserver().await.unwrap();
    let eyes = Eyes::on_slices(cluster, &proxy, None, "start").await;
    let mut cursor = eyes.accumulator.cursor(slices());
    wait_until("what is waited for is said, and why", SOON, async || {
        let blocking = eyes.blocking();
        let said = "endpointslices of the local cluster: not listed yet (";
        Ok(blocking.len() == 1 && blocking[0].starts_with(said))
    })
    .await
    .unwrap();
    assert!(cursor.try_next().is_none(), "the gate is closed");

    cluster.start_apiserver().await.unwrap();
    let step = tokio::time::timeout(SOON, cursor.next()).await.expect("the gate opens").unwrap();
    assert_eq!(step.diff(|seen| &seen.slices).count(), 3);
    cursor.commit(step);
    eyes.until_live().await;
    assert!(eyes.blocking().is_empty());
    eyes.close().await;
}
