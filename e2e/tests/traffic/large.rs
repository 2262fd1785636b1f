//! A hub with many Services whose store is lost: how long agents take to bring everything back, beside the writes alone.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_api::{ResourceKind, kinds};
use fleet_runtime::clock::Clock;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::multicluster::{self, MODE, SETTLE};
use fleet_testbed::objects::api;
use fleet_testbed::observer::Observer;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed, exchange, mix};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::ListParams;

use crate::held::wait_held;
use crate::hub_side::HubSide;
use crate::known_tokens::{KnownTokens, use_tokens};
use crate::{EAST, NORTH, SHOP, WEST};

/// How many Services there are, if not [`SERVICES`].
const COUNT: &str = "FLEET_HUB_SERVICES";
const SERVICES: usize = 1000;
/// Requests of users that are under way at the same time.
const IN_FLIGHT: usize = 16;
/// The limit that is printed: how much longer than the writes alone.
const OVER_WRITES: f64 = 1.5;
const DEADLINE: Duration = Duration::from_mins(10);
/// What comes back to the hub, in the order in which one needs the other.
const COURSE: [ResourceKind; 7] = [
    kinds::CLUSTER_REPORT,
    kinds::INTERNAL_SERVICE_EXPORT,
    kinds::EXPORTED_SERVICE,
    kinds::ENDPOINT_SLICE_EXPORT,
    kinds::RESOLVED_SERVICE,
    kinds::INTERNAL_SERVICE_IMPORT,
    kinds::ENDPOINT_SLICE_IMPORT,
];
/// Services whose writes are replayed to see how fast the servers are.
const REPLAYED: usize = 150;

/// How Services cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrontEnd {
    /// By the API of the fleet.
    Fleet,
    /// By multicluster.x-k8s.io.
    Standard,
}

/// What members show the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Credentials {
    /// Identities that do not depend on what the hub stores, as projected tokens that it accepts by structured authentication.
    Projected,
    /// Tokens of service accounts of the hub, which end with its store.
    ServiceAccounts,
}

/// A fleet whose members export and import many Services.
struct Large<'a> {
    side: HubSide<'a>,
    front: FrontEnd,
    count: usize,
    agents: Agents,
}

/// One line for each kind of credentials.
pub(crate) async fn story(front: FrontEnd) -> Result<()> {
    let count = std::env::var(COUNT).ok().map_or(Ok(SERVICES), |count| count.parse())?;
    let tokens = KnownTokens::make(&format!("large-{front:?}"), 3)?;
    let options = Options {
        apiserver_arguments: vec![tokens.argument()],
        ..Options::members(3).without_audit()
    };
    let testbed = Testbed::start(options).await?;
    let result = lose_twice(&testbed, front, count, &tokens).await;
    testbed.explain(result).await
}

async fn lose_twice(
    testbed: &Testbed,
    front: FrontEnd,
    count: usize,
    tokens: &KnownTokens,
) -> Result<()> {
    let side = HubSide { fleet: testbed, restarts: false, standard: front == FrontEnd::Standard };
    side.prepare().await?;
    side.prepare_members().await?;
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut environment =
        vec![set("TRAFFIC", "true"), set("MEMBER_LEASE", "true"), set(SETTLE, "5s")];
    if front == FrontEnd::Standard {
        environment.push(set(MODE, "on"));
    }
    let options = AgentOptions { environment, ..AgentOptions::default() };
    let mut agents = Agents::prepare(testbed, &options)?;
    tokens.give(&mut agents)?;
    for agent in testbed.agents() {
        agents.launch(agent)?;
    }
    agents.wait_ready().await?;
    let mut large = Large { side, front, count, agents };
    large.share().await?;

    let first = large.lose(Credentials::Projected).await?;
    let own = [EAST, NORTH, WEST].map(|member| testbed.hub_token_path(member).to_owned());
    use_tokens(&mut large.agents, &own)?;
    for member in [EAST, NORTH, WEST] {
        large.agents.restart(Agent::Member(member)).await?;
    }
    large.wait_followed().await?;
    let second = large.lose(Credentials::ServiceAccounts).await?;
    for agent in testbed.agents() {
        large.agents.kill(agent)?;
    }
    let rate = mix::rate(testbed, [EAST, WEST], REPLAYED).await?;
    for (credentials, rebuilt) in
        [(Credentials::Projected, first), (Credentials::ServiceAccounts, second)]
    {
        println!("{front:?}, {credentials:?}: {}", rebuilt.beside(rate, count));
    }
    Ok(())
}

/// How long it took since credentials were valid again.
#[derive(Clone, Copy, Debug)]
struct Rebuilt {
    /// Until the hub had everything.
    hub: Duration,
    /// Writes of all clusters until then.
    writes: i64,
    /// Until all members had reported that.
    published: Duration,
    /// Until the importer followed the new hub.
    followed: Duration,
}

impl Rebuilt {
    fn beside(&self, rate: f64, count: usize) -> String {
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        let alone = self.writes as f64 / rate;
        let took = self.hub.as_secs_f64();
        format!(
            "{count} Services: {took:.1} s, {} writes, alone {alone:.1} s at {rate:.0} /s: x {:.2} (limit {OVER_WRITES}); published \
             after {:.1} s, followed after {:.1} s, nothing written in the importer",
            self.writes,
            took / alone,
            self.published.as_secs_f64(),
            self.followed.as_secs_f64()
        )
    }
}

impl Large<'_> {
    /// East and north export half of the Services each, west imports all.
    async fn share(&self) -> Result<()> {
        let fleet = self.side.fleet;
        futures::stream::iter(0..self.count)
            .map(async |number| {
                let exporter = fleet.member([EAST, NORTH][number % 2]);
                let name = format!("service-{number}");
                let spec = ServiceSpec::http(SHOP, &name);
                ManualService::deploy(exporter, &spec, &[next_address()]).await?;
                match self.front {
                    FrontEnd::Standard => multicluster::export(exporter, SHOP, &name).await,
                    FrontEnd::Fleet => {
                        exchange::export(exporter, SHOP, &name).await?;
                        exchange::import(fleet.member(WEST), SHOP, &name, &name).await
                    }
                }
            })
            .buffer_unordered(IN_FLIGHT)
            .try_collect::<Vec<()>>()
            .await?;
        self.wait_imported().await?;
        self.wait_followed().await
    }

    /// Waits until west has a slice and a derived Service of each Service.
    async fn wait_imported(&self) -> Result<()> {
        let west = self.side.fleet.member(WEST);
        let namespace = match self.front {
            FrontEnd::Fleet => SYSTEM_NAMESPACE,
            FrontEnd::Standard => SHOP,
        };
        for kind in [kinds::ENDPOINT_SLICE, kinds::SERVICE] {
            wait_until(&format!("west has imported all: {}", kind.plural), DEADLINE, async || {
                Ok(count_of(west, kind, Some(namespace)).await? == self.count)
            })
            .await?;
        }
        Ok(())
    }

    /// Waits until all members have published to the present hub, and west follows it.
    async fn wait_followed(&self) -> Result<()> {
        for member in [EAST, NORTH, WEST] {
            self.side.wait_published(member, DEADLINE).await?;
        }
        wait_held(&self.agents, Agent::Member(WEST), "OtherHub", 0, DEADLINE).await
    }

    /// The store is lost, and administrators make what agents cannot.
    async fn lose(&mut self, credentials: Credentials) -> Result<Rebuilt> {
        let fleet = self.side.fleet;
        let west = fleet.member(WEST);
        let mut observer =
            Observer::start_for([(west, kinds::ENDPOINT_SLICE), (west, kinds::SERVICE)]).await?;
        let plane = fleet.hub().control_plane().context("the hub is the testbed's")?;
        plane.lose_store().await?;
        self.side.prepare().await?;
        self.agents.restart(Agent::Hub).await?;
        let (begin, before) = (Instant::now(), self.revisions().await?);
        let lost = Clock::system().now();
        self.wait_rebuilt().await?;
        let (hub, writes) = (begin.elapsed(), self.revisions().await? - before);
        self.print_course(lost).await?;
        for member in [EAST, NORTH, WEST] {
            self.side.wait_published(member, DEADLINE).await?;
        }
        let published = begin.elapsed();
        self.wait_followed().await?;
        let followed = begin.elapsed();
        let seen = observer.take();
        ensure!(
            seen.is_empty(),
            "{credentials:?}: the importer wrote {} times: {:?}",
            seen.len(),
            seen.first()
        );
        Ok(Rebuilt { hub, writes, published, followed })
    }

    /// Waits until the hub has all that agents bring back.
    async fn wait_rebuilt(&self) -> Result<()> {
        let hub = self.side.fleet.hub();
        let west = member_namespace(self.side.fleet.member(WEST).name());
        let (kind, namespace) = match self.front {
            FrontEnd::Fleet => (kinds::ENDPOINT_SLICE_IMPORT, west.as_str()),
            FrontEnd::Standard => (kinds::RESOLVED_SERVICE, SYSTEM_NAMESPACE),
        };
        wait_until("the hub has everything", DEADLINE, async || {
            let exported = count_of(hub, kinds::ENDPOINT_SLICE_EXPORT, None).await?;
            let distributed = count_of(hub, kind, Some(namespace)).await?;
            Ok((exported, distributed) == (self.count, self.count))
        })
        .await
    }

    /// Prints when the first and the last object of each kind came back: where time goes that is not spent on writes.
    async fn print_course(&self, since: jiff::Timestamp) -> Result<()> {
        let hub = self.side.fleet.hub();
        for kind in COURSE {
            let Ok(all) = api(hub.client(), kind, None).list_metadata(&ListParams::default()).await
            else {
                continue;
            };
            let made = all.items.iter().filter_map(|one| one.metadata.creation_timestamp.as_ref());
            let made: Vec<i64> = made.map(|time| time.0.as_second() - since.as_second()).collect();
            if let (Some(first), Some(last)) = (made.iter().min(), made.iter().max()) {
                println!("{}: {} from {first} s to {last} s", kind.plural, made.len());
            }
        }
        Ok(())
    }

    /// Of all stores together.
    async fn revisions(&self) -> Result<i64> {
        let mut sum = 0;
        for cluster in self.side.fleet.clusters() {
            let plane = cluster.control_plane().context("a cluster of the testbed")?;
            sum += plane.etcd().revision().await?;
        }
        Ok(sum)
    }
}

/// How many objects of a kind there are, without reading them.
async fn count_of(
    cluster: &fleet_testbed::cluster::Cluster,
    kind: ResourceKind,
    namespace: Option<&str>,
) -> Result<usize> {
    let list = api(cluster.client(), kind, namespace).list(&ListParams::default().limit(1)).await?;
    let left = list.metadata.remaining_item_count.unwrap_or_default();
    Ok(list.items.len() + usize::try_from(left)?)
}
