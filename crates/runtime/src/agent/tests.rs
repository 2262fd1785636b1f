//! Which sources a connected agent watches, and what keeps it from being ready.

use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use fleet_accumulator::{
    Config, Discovered, Events, Feed, Feeds, ReadOptions, ResourceVersion, SourceInfo, SourceSet,
    Tracked, WatchItem, views,
};
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_plan::{Affected, Controller, Plan};
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use parking_lot::Mutex;

use super::{Agent, Connected};
use crate::args::RuntimeArgs;
use crate::clock::monotonic;
use crate::engine::Options;

/// A Service of which nothing is read.
#[derive(Debug, PartialEq)]
struct Toy;

impl Tracked for Toy {
    const KIND: ResourceKind = kinds::SERVICE;
    type Wire = Service;
    type Index = ();

    fn project(_: Service) -> Result<Self, String> {
        Ok(Self)
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

views! {
    /// What the controllers can read.
    struct Toys {
        /// Required by the controller `own`.
        local own: Toy,
        /// Required by the controller `both`.
        hub shared: Toy,
        /// Read, and not required.
        hub optional extra: Toy,
        /// Read by no controller.
        hub unread: Toy,
    }
}

/// A controller that has nothing to do.
struct Idle {
    name: &'static str,
    required: SourceSet,
    reads: SourceSet,
    /// Names of the controllers that have begun to plan.
    begun: Arc<Mutex<Vec<&'static str>>>,
}

impl Controller for Idle {
    type Snapshot = Toys;
    type Key = String;
    type Measurement = Infallible;

    fn name(&self) -> &'static str {
        self.name
    }

    fn required(&self) -> SourceSet {
        self.required
    }

    fn reads(&self) -> SourceSet {
        self.reads
    }

    fn affected_keys(&self, _: &Toys, _: &Toys, _: &mut Affected<String>) {
        self.begun.lock().push(self.name);
    }

    fn plan(&self, _: &String, _: &Toys, _: Timestamp) -> Plan {
        Plan::default()
    }
}

/// API servers without objects. Some of the lists are never answered.
#[derive(Default)]
struct Servers {
    silent: &'static [&'static str],
    /// The fields of the sources that were started.
    watched: RefCell<Vec<&'static str>>,
}

impl Feeds for Servers {
    fn feed<T: Tracked>(&self, source: &SourceInfo) -> Box<dyn Feed<T::Wire>> {
        self.watched.borrow_mut().push(source.field);
        Box::new(EmptyList { answered: !self.silent.contains(&source.field) })
    }
}

struct EmptyList {
    answered: bool,
}

impl<W: Send + 'static> Feed<W> for EmptyList {
    fn open(&mut self, _: &ReadOptions, _: Option<&ResourceVersion>) -> Events<W> {
        let list = [WatchItem::ListStarted, WatchItem::ListCompleted("1".into())];
        let answered = if self.answered { list.len() } else { 0 };
        stream::iter(list).take(answered).chain(stream::pending()).boxed()
    }

    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        Box::pin(std::future::ready(Ok(Discovered::Served)))
    }
}

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    runtime: RuntimeArgs,
}

fn agent() -> Agent<Toys> {
    Agent::within("test", "0", Args::try_parse_from(["test"]).unwrap().runtime).unwrap()
}

/// An agent with two controllers, which write their names into the list when they begin to plan.
fn agent_with_controllers() -> (Agent<Toys>, Arc<Mutex<Vec<&'static str>>>) {
    let (mut agent, begun) = (agent(), Arc::default());
    for (name, required, extra) in [
        ("own", SourceSet::from([Toys::own()]), SourceSet::EMPTY),
        ("both", SourceSet::from([Toys::own(), Toys::shared()]), SourceSet::from([Toys::extra()])),
    ] {
        let (reads, begun) = (required.union(extra), Arc::clone(&begun));
        agent.controller(Idle { name, required, reads, begun }, Options::default());
    }
    (agent, begun)
}

fn connect(agent: Agent<Toys>, servers: &Servers) -> Connected<Toys> {
    agent.connect(&[], &Config::default(), servers).unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_the_controllers_read_is_watched_and_nothing_else() {
    let (agent, _) = agent_with_controllers();
    assert_eq!(agent.reads(), SourceSet::from([Toys::own(), Toys::shared(), Toys::extra()]));
    let servers = Servers::default();
    connect(agent, &servers);
    assert_eq!(*servers.watched.borrow(), ["own", "shared", "extra"]);
}

#[tokio::test(start_paused = true)]
async fn without_controllers_nothing_is_watched() {
    let servers = Servers::default();
    connect(agent(), &servers);
    assert!(servers.watched.borrow().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_ready_when_what_its_controllers_require_was_listed() {
    let starting = "the clusters are not connected yet";
    let missing = "services of the hub cluster: not listed yet";
    for (silent, blocking, begun) in [
        // An optional source that no controller requires.
        (&["extra"][..], &[][..], &["both", "own"][..]),
        (&["shared"], &[missing], &["own"]),
    ] {
        let (agent, planning) = agent_with_controllers();
        let readiness = agent.readiness.clone();
        assert_eq!(readiness.blocking(), [starting]);
        let connected = connect(agent, &Servers { silent, ..Servers::default() });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(readiness.blocking(), blocking);
        planning.lock().sort_unstable();
        assert_eq!(*planning.lock(), begun);
        drop(connected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_leads_and_waits_for_lists_is_not_ready() {
    let (agent, _) = agent_with_controllers();
    let readiness = agent.readiness.clone();
    let connected = connect(agent, &Servers::default());
    let lists = || vec!["services of the hub cluster".to_owned()];
    let wait = connected.waits.begin("third", monotonic(), lists);
    tokio::time::sleep(Duration::from_secs(40)).await;
    let reason =
        "third leads, but has waited for 40 s for a fresh list of services of the hub cluster";
    assert_eq!(readiness.blocking(), [reason]);
    drop(wait);
    assert!(readiness.blocking().is_empty());
}
