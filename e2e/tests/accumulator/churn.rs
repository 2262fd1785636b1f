//! Writers that never rest while everything between them and the accumulator breaks.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fleet_accumulator::{SourceInfo, SourceSet, SourceSpec};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::proxy::Proxy;
use fleet_testbed::wait::wait_until;
use futures::future::join_all;
use kube::api::ListParams;

use crate::support::{
    Eyes, Follower, MADE_BY_TEST, SOON, Seen, Slices, WATCH_SECONDS, client, quick, until_fresh,
};

const NAMESPACES: usize = 4;
const SLICES: usize = 75;
const WRITERS: usize = 12;
/// Writes between two disturbances.
const ROUND: usize = 250;

/// What happens to connections, one after the other, each in the midst of writes.
const DISTURBANCES: [Disturbance; 14] = [
    Disturbance::Cut,
    Disturbance::Cut,
    Disturbance::Strand,
    Disturbance::Kill,
    Disturbance::Cut,
    Disturbance::Shut,
    Disturbance::Cut,
    Disturbance::Freeze,
    Disturbance::Restart,
    Disturbance::Cut,
    Disturbance::Forget,
    Disturbance::Strand,
    Disturbance::Shut,
    Disturbance::Cut,
];

#[derive(Clone, Copy, Debug)]
enum Disturbance {
    /// All connections end; new ones work.
    Cut,
    /// All connections fall silent; new ones work.
    Strand,
    /// There is no connection for a while.
    Shut,
    /// Nothing is carried for a while, then everything.
    Freeze,
    /// The API server is killed and comes back.
    Kill,
    /// The API server ends gracefully and comes back.
    Restart,
    /// As before, and it has lost its history.
    Forget,
}

/// Several namespaces of slices, and how many writes there were.
struct World {
    namespaces: Vec<Slices>,
    writes: AtomicUsize,
    over: AtomicBool,
}

impl World {
    /// Waits until so many more writes have happened.
    async fn go_on(&self, writes: usize) {
        let wanted = self.writes.load(Ordering::Relaxed) + writes;
        wait_until("the writers go on", SOON, async || {
            Ok(self.writes.load(Ordering::Relaxed) >= wanted)
        })
        .await
        .unwrap();
    }

    /// Changes, deletes and makes slices at random until it is over. Whatever fails is simply not done.
    async fn write(&self, mut random: Random) {
        while !self.over.load(Ordering::Relaxed) {
            let slices = &self.namespaces[random.below(NAMESPACES)];
            let number = random.below(SLICES);
            let done = match random.below(10) {
                0..6 => slices.change(number, random.below(60_000)).await.map(drop),
                6 => slices.delete(number).await,
                // An object is there again before anybody has seen it go.
                7 => match slices.delete(number).await {
                    Ok(()) => slices.create(number).await.map(drop),
                    Err(error) => Err(error),
                },
                _ => slices.create(number).await.map(drop),
            };
            match done {
                Ok(()) => {
                    self.writes.fetch_add(1, Ordering::Relaxed);
                }
                // Not there, or there already.
                Err(kube::Error::Api(_)) => {}
                Err(_) => self.wait_for_the_server(slices).await,
            }
        }
    }

    async fn wait_for_the_server(&self, slices: &Slices) {
        // One object is enough of an answer.
        let one = ListParams::default().limit(1);
        wait_until("the API server is back", SOON, async || {
            Ok(self.over.load(Ordering::Relaxed) || slices.api.list(&one).await.is_ok())
        })
        .await
        .unwrap();
    }
}

/// A linear congruential generator (Knuth's MMIX): the same seed makes the same choices.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// When it is quiet again, the view is what a list shows, and the differences add up to the view.
pub(crate) async fn churn(cluster: &Cluster) {
    let mut namespaces = Vec::new();
    for number in 0..NAMESPACES {
        let slices = Slices::in_new_namespace(cluster, &format!("churn-{number}")).await;
        slices.create_all(0..SLICES).await;
        namespaces.push(slices);
    }
    let proxy = Proxy::to(&cluster.server_url()).await.unwrap();
    let spec = SourceSpec::new(client(cluster, &proxy, None).await).watch_timeout(WATCH_SECONDS);
    let feeds = |source: &SourceInfo| {
        let spec = spec.clone();
        if source.id == Seen::slices() { spec.labels(MADE_BY_TEST) } else { spec }
    };
    let both = SourceSet::from([Seen::slices(), Seen::namespaces()]);
    let eyes = Eyes::<Seen>::open(&quick(), both, &feeds);
    let follower = Follower::new(eyes.accumulator.cursor(both), |seen| &seen.slices);
    wait_until("everything is listed", SOON, async || {
        Ok(eyes.accumulator.blocking(both).is_empty())
    })
    .await
    .unwrap();

    let world = World { namespaces, writes: AtomicUsize::new(0), over: AtomicBool::new(false) };
    let writers = join_all((1..=WRITERS as u64).map(|seed| world.write(Random(seed))));
    tokio::join!(writers, async {
        for disturbance in DISTURBANCES {
            world.go_on(ROUND).await;
            disturb(cluster, &proxy, &world, disturbance).await;
        }
        world.go_on(ROUND).await;
        world.over.store(true, Ordering::Relaxed);
    });

    until_fresh(cluster, None, || eyes.snapshot().slices.clone()).await;
    follower.until_equal(|| eyes.snapshot().slices.clone()).await;
    eyes.until_live().await;
    let (slices, namespaces) = (eyes.lists("slices"), eyes.lists("namespaces"));
    let [added, updated, replaced, removed] = follower.counts();
    eprintln!(
        "{} writes; {added} added, {updated} updated, {replaced} replaced, {removed} removed; {slices} and \
         {namespaces} lists",
        world.writes.load(Ordering::Relaxed)
    );
    eyes.close().await;
}

async fn disturb(cluster: &Cluster, proxy: &Proxy, world: &World, disturbance: Disturbance) {
    match disturbance {
        Disturbance::Cut => proxy.cut(),
        Disturbance::Strand => proxy.strand(),
        Disturbance::Shut => {
            proxy.shut();
            world.go_on(ROUND).await;
            proxy.open();
        }
        Disturbance::Freeze => {
            proxy.freeze();
            world.go_on(ROUND).await;
            proxy.open();
        }
        Disturbance::Kill => {
            cluster.kill_apiserver().await.unwrap();
            cluster.start_apiserver().await.unwrap();
        }
        Disturbance::Restart => {
            cluster.stop_apiserver().await.unwrap();
            cluster.start_apiserver().await.unwrap();
        }
        Disturbance::Forget => {
            proxy.shut();
            world.go_on(ROUND).await;
            cluster.stop_apiserver().await.unwrap();
            cluster.compact().await.unwrap();
            cluster.start_apiserver().await.unwrap();
            proxy.open();
        }
    }
}
