//! What virtual nodes need beside their controllers: tasks with clocks and clients.
//!
//! One follows what is seen, so that [`Links`] knows since when something is so, selects what is watched, and renews the Leases of the
//! Nodes. All of that is cheap, and none of it is needed within less than a second.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_accumulator::{Accumulator, ClusterId, Selection, SourceSet};
use fleet_api::offload::LinkState;
use fleet_runtime::agent::Connected;
use fleet_runtime::clients::ClientSet;
use fleet_runtime::writer::WriteGate;
use fleet_virtual_node::names;
use fleet_virtual_node::node::{Renewal, lease_document, renewal};
use futures::future::join_all;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use prometheus::IntCounter;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::executors::Executor;
use crate::links::Links;
use crate::selections::{self, Selections};
use crate::snapshot::MemberSnapshot;
use crate::views;
use crate::{Settings, metrics};

/// How often the task looks.
const PERIOD: Duration = Duration::from_secs(1);
/// How long it waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Namespace of the Leases of Nodes.
const NAMESPACE: &str = "kube-node-lease";

/// The ends of the channels by which sources learn what they select.
#[derive(Debug, Default)]
pub(crate) struct Selected {
    /// Pods.
    pub(crate) pods: watch::Sender<BTreeSet<Selection>>,
    /// Config maps.
    pub(crate) config_maps: watch::Sender<BTreeSet<Selection>>,
    /// Secrets.
    pub(crate) secrets: watch::Sender<BTreeSet<Selection>>,
}

impl Selected {
    fn set(&self, selections: Selections) {
        let Selections { pods, config_maps, secrets } = selections;
        for (sender, wanted) in
            [(&self.pods, pods), (&self.config_maps, config_maps), (&self.secrets, secrets)]
        {
            sender.send_if_modified(|present| {
                let differs = *present != wanted;
                *present = wanted;
                differs
            });
        }
    }
}

/// Starts the tasks that the settings ask for.
pub(crate) fn start(
    agent: &mut Connected<MemberSnapshot>,
    settings: &Settings,
    links: &Arc<Links>,
    selected: Arc<Selected>,
    own: &ClientSet,
) -> Result<(), prometheus::Error> {
    let accumulator = agent.accumulator().clone();
    let (settings, links) = (settings.clone(), Arc::clone(links));
    if settings.virtual_nodes.origin {
        let (view, identity) = (accumulator.clone(), settings.identity.clone());
        agent.task("virtual node selections", |_, cancel| async move {
            let follow = select(view, &identity, &selected);
            cancel.run_until_cancelled(follow).await;
        });
    }
    let failures = metrics::lease_renew_failures(agent.registry())?;
    let client = own.lease.clone();
    agent.task("virtual node links", |gate, cancel| {
        let keeper =
            Keeper { settings, links, accumulator, client, gate, failures, kept: BTreeMap::new() };
        keeper.run(cancel)
    });
    Ok(())
}

/// Selects what is watched, whenever something changes that it depends on.
async fn select(
    accumulator: Accumulator<MemberSnapshot>,
    identity: &crate::Identity,
    selected: &Selected,
) {
    let reads = selections::sources();
    let mut cursor = accumulator.cursor_over(SourceSet::EMPTY, reads);
    while let Some(step) = cursor.next().await {
        if selections::may_differ(&step.old, &step.new) {
            selected.set(Selections::of(identity, &step.new));
        }
        cursor.commit(step);
    }
}

/// Follows what is seen, and renews the Leases of Nodes.
struct Keeper {
    settings: Settings,
    links: Arc<Links>,
    accumulator: Accumulator<MemberSnapshot>,
    client: Client,
    gate: WriteGate,
    failures: IntCounter,
    /// When the Lease of each Node was renewed, and for which Node.
    kept: BTreeMap<String, (Instant, String)>,
}

impl Keeper {
    async fn run(mut self, cancel: CancellationToken) {
        let mut ticks = tokio::time::interval(PERIOD);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while cancel.run_until_cancelled(ticks.tick()).await.is_some() {
            let snapshot = self.accumulator.snapshot();
            let identity = &self.settings.identity;
            let hub = views::hub(identity, &snapshot);
            let views = views::complete(identity, &snapshot);
            if self.links.follow(silent(&snapshot), hub, views) {
                self.accumulator.relist(ClusterId::Hub);
            }
            if self.settings.virtual_nodes.origin && self.gate.check().is_ok() {
                let due = self.due(&snapshot);
                let renewals = due.into_iter().map(|(node, uid)| self.renew(node, uid));
                let renewed = join_all(renewals);
                let Some(renewed) = cancel.run_until_cancelled(renewed).await else { return };
                let now = tokio::time::Instant::now().into_std();
                for (node, uid, is_renewed) in renewed {
                    if is_renewed {
                        self.kept.insert(node, (now, uid));
                    } else {
                        self.failures.inc();
                    }
                }
            }
        }
    }

    /// The Nodes whose Leases are renewed now, with their uids.
    fn due(&self, snapshot: &MemberSnapshot) -> Vec<(String, String)> {
        let now = tokio::time::Instant::now().into_std();
        let nodes = snapshot.virtual_node_objects.iter();
        let nodes = nodes.filter(|node| !node.object.meta.is_terminating());
        let due = nodes.filter_map(|node| {
            let name = names::executor_of(&node.name.name)?;
            let executor = Executor::of(&self.settings.identity, name, snapshot);
            let before = self.kept.get(&*node.name.name);
            let since = before.map(|(at, _)| now.saturating_duration_since(*at));
            let another = before.is_some_and(|(_, uid)| *uid != node.uid.to_string());
            let renewal = renewal(executor.health(&self.links), since, another);
            (renewal == Renewal::Now).then(|| (node.name.name.to_string(), node.uid.to_string()))
        });
        due.collect()
    }

    async fn renew(&self, node: String, uid: String) -> (String, String, bool) {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), NAMESPACE);
        let document = lease_document(&node, &uid, fleet_runtime::clock::Clock::system().now());
        let params = PatchParams::apply("member-agent").force();
        let patch = Patch::Apply(&document);
        let request = leases.patch(&node, &params, &patch);
        let result = tokio::time::timeout(TIMEOUT, request).await;
        let error = match result {
            Ok(Ok(_)) => return (node, uid, true),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        tracing::debug!(node, error, "Renewal of a node's Lease failed");
        (node, uid, false)
    }
}

/// Members that the hub agent reports as silent: executors of this origin, and origins of this executor.
pub(crate) fn silent(snapshot: &MemberSnapshot) -> Vec<&str> {
    let executors =
        snapshot.virtual_nodes.iter().filter_map(|node| node.object.status.executor.as_ref());
    let origins = snapshot.offload_offers.iter().flat_map(|offer| &offer.object.status.origins);
    let links = executors.chain(origins).filter(|link| link.state == LinkState::Silent);
    links.map(|link| link.cluster.as_str()).collect()
}
