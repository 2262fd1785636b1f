//! The member that floods the hub, and those that import from it. They are played: with credentials of their own, in their
//! namespaces on the hub, without clusters. What an agent would do in its own cluster concerns no other member.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_model::objects::EndpointSliceImportWire;
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt};
use kube::{Api, Client, ResourceExt};
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval};

use super::objects;
use crate::access;
use crate::relay::Output;
use crate::watching::{Listener, Watches};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::quota;
use fleet_testbed::wait::wait_until;

/// The member that floods.
const NOISY: &str = "bench-flood";
/// Namespace of its Services.
const NAMESPACE: &str = "bench-flood";
/// How many members import from it.
const IMPORTERS: usize = 20;
/// Services that they import, and slices of each: 50 slices.
const SERVICES: u32 = 10;
const SLICES: u32 = 5;
/// How often each slice changes: 50 changes a second in all, which are 1000 copies, twice as many as the hub can write.
const HOT: Duration = Duration::from_secs(1);
/// Exports that are stored meanwhile, as far as the hub lets it: of Services without an importer, and more than the hub agent accepts.
const STORED: usize = 10_000;
/// Requests of the member that are under way at the same time: half as many as an agent sends to an API server that has too much
/// to do. A program that sends more is the API server's to hold back, which has the flow schemas for it.
const IN_FLIGHT: usize = 2;
/// How long it may take until all importers have the slices.
const DEADLINE: Duration = Duration::from_mins(2);

/// What has happened so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    changes: AtomicUsize,
    stored: AtomicUsize,
    /// Requests that the hub did not serve, for lack of time.
    refused: AtomicUsize,
    /// Slices that importers have.
    copies: AtomicUsize,
    /// What importers have seen, changes included.
    arrivals: AtomicUsize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} changes of {} slices, {} of {STORED} exports stored, {} requests refused; {} changes seen by {IMPORTERS} importers",
            count(&self.changes),
            SERVICES * SLICES,
            count(&self.stored),
            count(&self.refused),
            count(&self.arrivals),
        )
    }
}

fn count(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::Relaxed)
}

fn increment(counter: &AtomicUsize) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The members, ready to begin. Dropping it ends the importers' watches.
pub(super) struct Noise {
    hub: Client,
    slices: Vec<Slice>,
    tally: Arc<Tally>,
    _watches: Watches,
}

impl Noise {
    /// Lets the members join; returns when all importers have the slices.
    pub(super) async fn prepare(fleet: &Fleet) -> Result<Self> {
        fleet.user_namespace(NAMESPACE).await?;
        let hub = access::on_hub(fleet, NOISY).await?.write;
        // Otherwise the quota would end the flood.
        let room = (kinds::INTERNAL_SERVICE_EXPORT, 2 * STORED);
        quota::raised(&fleet.hub().client(), NOISY, room).await?;
        let mut slices = Vec::new();
        for service in (0..SERVICES).map(service) {
            store(&hub, &service).await?;
            for number in 0..SLICES {
                slices.push(Slice::make(&hub, &service, number).await?);
            }
        }
        let tally = Arc::<Tally>::default();
        let mut watches = Watches::default();
        for number in 0..IMPORTERS {
            import(fleet, &format!("{NOISY}-{number}"), &tally, &mut watches).await?;
        }
        let all = IMPORTERS * slices.len();
        wait_until("all importers have the slices", DEADLINE, async || {
            watches.check()?;
            Ok(count(&tally.copies) >= all)
        })
        .await?;
        Ok(Self { hub, slices, tally, _watches: watches })
    }

    /// What happens.
    pub(super) fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.tally)
    }

    /// Changes all slices again and again, and stores exports until there are so many. Ends with an error only.
    pub(super) async fn run(&mut self) -> Result<()> {
        let turns = Semaphore::new(IN_FLIGHT);
        let changes = self.slices.iter_mut().map(|slice| slice.change(&turns, &self.tally));
        let stored = store_all(&self.hub, &turns, &self.tally);
        futures::try_join!(try_join_all(changes), stored)?;
        Ok(())
    }
}

fn service(number: u32) -> String {
    format!("service-{number}")
}

async fn store(hub: &Client, service: &str) -> Result<()> {
    let place = (member_namespace(NOISY), format!("{NAMESPACE}-{service}"));
    let mut output = Output::named(hub.clone(), kinds::INTERNAL_SERVICE_EXPORT, place);
    output.write(objects::export(NOISY, (NAMESPACE, service))).await
}

async fn store_all(hub: &Client, turns: &Semaphore, tally: &Tally) -> Result<()> {
    let store = async |number: usize| {
        let service = format!("stored-{number}");
        loop {
            let _turn = turns.acquire().await?;
            match store(hub, &service).await {
                Err(error) if is_overload(&error) => increment(&tally.refused),
                // It was stored without an answer.
                Err(error) if code(&error) == Some(409) => return Ok(()),
                stored => return stored,
            }
        }
    };
    futures::stream::iter(0..STORED)
        .map(store)
        .buffer_unordered(IN_FLIGHT)
        .try_for_each(async |()| {
            increment(&tally.stored);
            Ok(())
        })
        .await
}

/// Whether a server had no time for a request: it answers so, or not at all.
fn is_overload(error: &anyhow::Error) -> bool {
    let is_of_request = error.downcast_ref::<kube::Error>().is_some();
    is_of_request && code(error).is_none_or(|code| code == 429 || code >= 500)
}

fn code(error: &anyhow::Error) -> Option<u16> {
    match error.downcast_ref::<kube::Error>()? {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// A slice that the member exports.
struct Slice {
    output: Output,
    service: String,
    name: String,
    number: u32,
    generation: u32,
}

impl Slice {
    async fn make(hub: &Client, service: &str, number: u32) -> Result<Self> {
        let name = format!("{service}-{number}");
        let place = (member_namespace(NOISY), format!("{NOISY}-{NAMESPACE}-{name}"));
        let output = Output::named(hub.clone(), kinds::ENDPOINT_SLICE_EXPORT, place);
        let mut slice = Self { output, service: service.to_owned(), name, number, generation: 0 };
        slice.write().await?;
        Ok(slice)
    }

    async fn write(&mut self) -> Result<()> {
        self.generation += 1;
        let (service, name) =
            ((NAMESPACE, self.service.as_str()), (self.name.as_str(), self.number));
        self.output.write(objects::slice(NOISY, service, name, self.generation)).await
    }

    /// Changes it again and again. A change that is late is not made up for.
    async fn change(&mut self, turns: &Semaphore, tally: &Tally) -> Result<()> {
        let mut tick = interval(HOT);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tick.tick().await;
            let _turn = turns.acquire().await?;
            let written = match self.write().await {
                // The one before was written without an answer.
                Err(error) if code(&error) == Some(409) => self.output.read().await,
                written => written,
            };
            match written {
                Ok(()) => increment(&tally.changes),
                Err(error) if is_overload(&error) => increment(&tally.refused),
                Err(error) => return Err(error),
            }
        }
    }
}

/// A member imports all Services and watches what it gets.
async fn import(
    fleet: &Fleet,
    member: &str,
    tally: &Arc<Tally>,
    watches: &mut Watches,
) -> Result<()> {
    let hub = access::on_hub(fleet, member).await?;
    let namespace = member_namespace(member);
    let copies = Copies { seen: BTreeSet::new(), tally: Arc::clone(tally) };
    watches.start(Api::namespaced(hub.watch, &namespace), copies).await.context("an importer")?;
    for service in (0..SERVICES).map(service) {
        let place = (namespace.clone(), format!("{NAMESPACE}-{service}"));
        let mut output = Output::named(hub.write.clone(), kinds::INTERNAL_SERVICE_IMPORT, place);
        output.write(objects::request(member, (NAMESPACE, &service))).await?;
    }
    Ok(())
}

/// The copies that an importer has.
struct Copies {
    seen: BTreeSet<String>,
    tally: Arc<Tally>,
}

impl Listener<EndpointSliceImportWire> for Copies {
    async fn applied(&mut self, copy: EndpointSliceImportWire) -> Result<()> {
        increment(&self.tally.arrivals);
        if self.seen.insert(copy.name_any()) {
            increment(&self.tally.copies);
        }
        Ok(())
    }
}
