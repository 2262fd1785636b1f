//! Waiting until the snapshot shows one's own writes.

use std::time::{Duration, Instant};

use fleet_accumulator::{ClusterId, Expectation, Snapshot as _, Until};
use fleet_api::kinds;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::proxy::Proxy;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::support::{Eyes, SOON, Seen, Slices};

/// Short: this one is meant to pass.
const DEADLINE: Duration = Duration::from_millis(500);

pub(crate) async fn own_writes_are_waited_for(cluster: &Cluster) {
    let slices = Slices::in_new_namespace(cluster, "own-writes").await;
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    let eyes = Eyes::on_slices(cluster, &proxy, None, "own-writes").await;
    eyes.until_live().await;

    let first = slices.create(0).await.unwrap();
    is_shown(&eyes, vec![at_least(&slices, &first)]).await;
    assert_eq!(eyes.snapshot().slices.len(), 1);
    // As many writes as a burst has, all waited for at once.
    let mut writes = Vec::new();
    for value in 1..=20 {
        writes.push(at_least(&slices, &slices.change(0, value).await.unwrap()));
    }
    is_shown(&eyes, writes).await;
    let addresses = eyes.snapshot().slices.get(&slices.name(0)).unwrap().ready.clone();
    assert_eq!(addresses.addresses().collect::<Vec<_>>(), ["10.200.0.20"]);

    slices.delete(0).await.unwrap();
    is_shown(&eyes, vec![expect(&slices, gone(&first))]).await;
    assert!(eyes.snapshot().slices.is_empty());
    // Deleted and made again: gone is gone, and the old incarnation is not waited for any more.
    let second = slices.create(0).await.unwrap();
    is_shown(&eyes, vec![at_least(&slices, &second), expect(&slices, gone(&first))]).await;
    is_shown(&eyes, vec![at_least(&slices, &first)]).await;

    // A conflict: another client wrote meanwhile.
    let planned = vec![newer_than(&slices, &second)];
    let unmet = eyes.accumulator.wait(Seen::all(), planned.clone(), DEADLINE).await;
    assert_eq!(unmet, planned, "nothing newer is there yet");
    slices.change(0, 21).await.unwrap();
    is_shown(&eyes, planned).await;

    // A watch that is held shows nothing, and who waits learns which write it was.
    proxy.freeze();
    let held = vec![at_least(&slices, &slices.change(0, 22).await.unwrap())];
    let known = vec![at_least(&slices, &second)];
    let begin = Instant::now();
    let unmet = eyes.accumulator.wait(Seen::all(), [known, held.clone()].concat(), DEADLINE).await;
    assert_eq!(unmet, held);
    assert!(begin.elapsed() >= DEADLINE);
    assert_eq!(eyes.metric("fleet_accumulator_expectation_timeouts_total", &[]), 2);
    let waiting = eyes.accumulator.wait(Seen::all(), held, SOON);
    let opening = async { proxy.open() };
    let (unmet, ()) = tokio::join!(waiting, opening);
    assert!(unmet.is_empty(), "{unmet:?}");

    // What is not watched is not waited for.
    let elsewhere = Expectation { cluster: ClusterId::Hub, ..expect(&slices, gone(&second)) };
    is_shown(&eyes, vec![elsewhere]).await;
    eyes.close().await;
}

async fn is_shown(eyes: &Eyes<Seen>, expectations: Vec<Expectation>) {
    let unmet = eyes.accumulator.wait(Seen::all(), expectations, SOON).await;
    assert!(unmet.is_empty(), "{unmet:?}");
}

fn expect(slices: &Slices, until: Until) -> Expectation {
    let (cluster, kind) = (ClusterId::Local, kinds::ENDPOINT_SLICE);
    Expectation { cluster, kind, name: slices.name(0), until }
}

fn at_least(slices: &Slices, written: &EndpointSlice) -> Expectation {
    let (uid, version) = identity(written);
    expect(slices, Until::AtLeast { uid: uid.as_str().into(), version: version.as_str().into() })
}

fn newer_than(slices: &Slices, planned: &EndpointSlice) -> Expectation {
    let (uid, version) = identity(planned);
    expect(slices, Until::NewerThan { uid: uid.as_str().into(), version: version.as_str().into() })
}

fn gone(deleted: &EndpointSlice) -> Until {
    Until::Gone { uid: identity(deleted).0.as_str().into() }
}

fn identity(slice: &EndpointSlice) -> (String, String) {
    let meta = slice.metadata.clone();
    (meta.uid.unwrap(), meta.resource_version.unwrap())
}
