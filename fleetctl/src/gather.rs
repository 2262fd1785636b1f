//! Reads the clusters with the agents' own watches and the user's credentials.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use fleet_accumulator::{
    Accumulator, AnyView, ClusterId, Config, Snapshot, SourceInfo, SourceSet, SourceSpec,
    SourceState,
};
use fleet_api::events::BLOCKED;
use fleet_api::{ObjectName, labels, names};
use fleet_runtime::clients::ClientSet;
use fleet_runtime::clock::{BootClock, Clock};
use futures::future::{join, join_all};
use futures::stream::{self, StreamExt as _};
use hub_agent::snapshot::HubSnapshot;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use member_agent::snapshot::MemberSnapshot;
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::access::{Access, Contexts};
use crate::controllers::{HubControllers, MemberControllers};
use crate::credential::{self, CredentialStatus};
use crate::hearing::Hearing;
use crate::offload::{self, OffloadStatus};
use crate::picture::{Own, Picture};
use crate::quotas::{self, QuotaUse};
use crate::reach::snapshot::ReachSnapshot;
use crate::{agent_version, names_served};

/// Time after which a problem is reported: while a fleet works, it is between two writes most of the time.
const CALM: Duration = Duration::from_secs(1);
/// Maximum age of an Event: agents repeat an Event that is still true after ten minutes.
const REPEATED: SignedDuration = SignedDuration::from_mins(11);
/// Members that are connected to at once, once a fleet is watched.
const AT_ONCE: usize = 16;
/// Pause between two evaluations.
const LOOK: Duration = Duration::from_millis(100);

/// Watches of a whole fleet. Dropping it ends the watches.
pub struct Watched {
    /// Contexts of all clusters.
    pub contexts: Contexts,
    /// The hub.
    pub hub: Accumulator<HubSnapshot>,
    /// Clients of the hub.
    pub hub_clients: ClientSet,
    reach: Accumulator<ReachSnapshot>,
    members: RwLock<Members>,
    /// How often another cluster was added, or given up.
    joins: AtomicU64,
    watches: Watches,
    clock: Clock,
    boot: BootClock,
    hearing: Mutex<Hearing>,
    _end: DropGuard,
}

type Members = BTreeMap<String, Arc<Member>>;

/// A member's own cluster. Dropping it ends its watches.
pub struct Member {
    context: Option<String>,
    /// Its watches and clients, or why there are none.
    pub seen: Result<(Accumulator<MemberSnapshot>, ClientSet), String>,
    names_served: Option<bool>,
    _end: Option<DropGuard>,
}

/// Whether a member is out of reach as before, for the same reason: what is shown stays.
fn is_as_lost(before: &Member, now: &Member) -> bool {
    let is_same_reason =
        matches!((&before.seen, &now.seen), (Err(before), Err(now)) if before == now);
    is_same_reason && before.context == now.context
}

impl Watched {
    /// Connects to all clusters, and lists what the agents would.
    ///
    /// # Errors
    /// If there is no hub to be reached. A member that cannot be reached is a part of the picture.
    pub async fn start(access: &Access) -> Result<Self> {
        let contexts = access.contexts()?;
        let token = CancellationToken::new();
        let watches = Watches { token: token.clone(), patience: access.patience() };
        let hub_clients = contexts.connect(&contexts.hub).await?;
        let (hub, reach) = join(watches.of_hub(&hub_clients), watches.of_reach(&hub_clients)).await;
        let known = known(&hub.snapshot(), &contexts);
        let members = join_all(known.into_iter().map(async |name| {
            let member = watches.of_member(&contexts, &name).await;
            (name, Arc::new(member))
        }));
        let members = RwLock::new(members.await.into_iter().collect());
        let (clock, end) = (Clock::system(), token.drop_guard());
        let joins = AtomicU64::default();
        Ok(Self {
            contexts,
            hub,
            hub_clients,
            reach,
            members,
            joins,
            watches,
            clock,
            boot: BootClock::system(),
            hearing: Mutex::default(),
            _end: end,
        })
    }

    /// Members' own clusters, as far as they are known now.
    pub fn members(&self) -> BTreeMap<String, Arc<Member>> {
        self.members.read().clone()
    }

    /// Connects to members that could not be reached, and to those that the hub knows by now; gives those up that are unknown to it.
    /// The kubeconfig may have another context by now.
    pub(crate) async fn rejoin(&self, access: &Access) {
        let Ok(contexts) = access.contexts() else { return };
        let known = known(&self.hub.snapshot(), &contexts);
        self.members.write().retain(|name, _| {
            known.contains(name) || {
                self.joins.fetch_add(1, Ordering::Relaxed);
                false
            }
        });
        let is_there =
            |name: &String| self.members.read().get(name).is_some_and(|it| it.seen.is_ok());
        let missing: Vec<_> = known.into_iter().filter(|name| !is_there(name)).collect();
        let contexts = &contexts;
        let joined = missing.into_iter().map(|name| async move {
            let member = self.watches.of_member(contexts, &name).await;
            (name, Arc::new(member))
        });
        let mut joined = stream::iter(joined).buffer_unordered(AT_ONCE);
        while let Some((name, member)) = joined.next().await {
            let before = self.members.write().insert(name, Arc::clone(&member));
            if before.is_none_or(|before| !is_as_lost(&before, &member)) {
                self.joins.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Grows with everything that is seen.
    pub(crate) fn version(&self) -> (u64, u64) {
        let members = self.members.read();
        let seen = members.values().filter_map(|member| member.seen.as_ref().ok());
        let seen: u64 = seen.map(|(accumulator, _)| accumulator.snapshot().seq()).sum();
        let hub = self.hub.snapshot().seq() + self.reach.snapshot().seq();
        (self.joins.load(Ordering::Relaxed), seen + hub)
    }

    /// What all clusters show now.
    pub fn picture(&self) -> Picture {
        let own = |member: &Arc<Member>| Own {
            context: member.context.clone(),
            seen: match &member.seen {
                Ok((accumulator, _)) => Ok(MemberSnapshot::clone(&accumulator.snapshot())),
                Err(reason) => Err(reason.clone()),
            },
            names_served: member.names_served,
        };
        let own = self.members().iter().map(|(name, member)| (name.clone(), own(member))).collect();
        let hub = HubSnapshot::clone(&self.hub.snapshot());
        // Every hub serves this kind.
        let is_followed = !matches!(
            hub.namespaces.state(),
            SourceState::Stale { .. } | SourceState::Pending | SourceState::Listing
        );
        let picture = Picture::new(self.clock.now(), hub, own);
        let reach = self.reach.snapshot().reach_reports.clone();
        let heard = self.hearing.lock().look(self.boot.now(), picture.now, is_followed);
        Picture { heard, hub_context: Some(self.contexts.hub.clone()), reach, ..picture }
    }

    /// What agents have recently reported to block them in the namespace of a Service.
    pub async fn blocked(&self, service: &ObjectName) -> BTreeMap<String, String> {
        let members = self.members();
        let seen = members.iter().filter_map(|(name, member)| {
            let (_, clients) = member.seen.as_ref().ok()?;
            let events = Api::namespaced(clients.watch.clone(), &service.namespace);
            Some((name.as_str(), events))
        });
        let hub = ("hub", Api::all(self.hub_clients.watch.clone()));
        let asked = seen.chain([hub]);
        let now = self.clock.now();
        let notes = join_all(
            asked.map(async |(name, events)| Some((name.to_owned(), newest(events, now).await?))),
        );
        notes.await.into_iter().flatten().collect()
    }

    /// How much of its quota each member uses that has one; `None` if quotas cannot be read.
    pub async fn quotas(&self) -> Option<BTreeMap<String, QuotaUse>> {
        quotas::read(&self.hub_clients.watch).await
    }

    /// What members offer to each other; nothing if that cannot be read.
    pub async fn offload(&self) -> OffloadStatus {
        offload::read(&self.hub_clients.watch).await.unwrap_or_default()
    }

    /// The credentials of the members whose clusters can be read.
    pub async fn credentials(&self) -> BTreeMap<String, CredentialStatus> {
        let members = self.members();
        let seen = members.iter().filter_map(|(name, member)| {
            let (_, clients) = member.seen.as_ref().ok()?;
            Some((name, clients))
        });
        credential::read(&self.hub_clients, seen, self.watches.patience).await
    }

    /// The releases of the agents of the members whose clusters can be read.
    pub async fn agent_versions(&self) -> BTreeMap<String, String> {
        let members = self.members();
        let seen = members.iter().filter_map(|(name, member)| {
            let (_, clients) = member.seen.as_ref().ok()?;
            Some((name, clients))
        });
        agent_version::read(seen, self.watches.patience).await
    }

    /// Evaluates until the answer shows no problem, for at most a moment, so that passing states are not reported.
    pub async fn ask<T>(&self, ask: impl Fn(&Picture) -> T, calm: impl Fn(&T) -> bool) -> T {
        let looks = CALM.as_millis() / LOOK.as_millis();
        for _ in 0..looks {
            let answer = ask(&self.picture());
            if calm(&answer) {
                return answer;
            }
            tokio::time::sleep(LOOK).await;
        }
        ask(&self.picture())
    }
}

/// The members that the hub knows, and those that were named.
fn known(hub: &HubSnapshot, contexts: &Contexts) -> BTreeSet<String> {
    let homes = hub.namespaces.iter().map(|namespace| &namespace.name.name);
    let known = homes.filter_map(|name| names::member_of_namespace(name)).map(str::to_owned);
    known.chain(contexts.named().cloned()).collect()
}

/// Watches of the hub alone. Dropping it ends the watches.
pub(crate) struct WatchedHub {
    /// Clients of the hub.
    pub(crate) clients: ClientSet,
    hub: Accumulator<HubSnapshot>,
    _end: DropGuard,
}

impl WatchedHub {
    /// Connects to the hub, and lists what the agents would.
    ///
    /// # Errors
    /// If there is no hub to be reached.
    pub(crate) async fn start(access: &Access) -> Result<Self> {
        let contexts = access.contexts()?;
        let token = CancellationToken::new();
        let watches = Watches { token: token.clone(), patience: access.patience() };
        let clients = contexts.connect(&contexts.hub).await?;
        // As the hub agent does where it has virtual nodes: what runs in a member is drained with it.
        let reads = HubControllers::default().reads().with(HubSnapshot::virtual_nodes());
        let hub = watches.start(&clients, ClusterId::Hub, reads).await;
        Ok(Self { clients, hub, _end: token.drop_guard() })
    }

    /// What the hub shows now.
    pub(crate) fn snapshot(&self) -> Arc<HubSnapshot> {
        self.hub.snapshot()
    }
}

/// The note of the newest Event of an agent that is blocked; `None` if Events may not be read.
async fn newest(events: Api<Event>, now: Timestamp) -> Option<String> {
    let blocked = ListParams::default().fields(&format!("reason={BLOCKED}"));
    let events = events.list(&blocked).await.ok()?.items.into_iter();
    let at = |event: &Event| event.event_time.as_ref().map(|time| time.0);
    let recent =
        events.filter(|event| at(event).is_some_and(|at| now.duration_since(at) < REPEATED));
    recent.max_by_key(at)?.note
}

/// Restricts the watch of a kind of which only few objects matter.
fn narrow(source: &SourceInfo, spec: SourceSpec) -> SourceSpec {
    if source.field == "managed_slices" {
        let managers = [labels::MANAGED_BY_MULTICLUSTER, labels::MANAGED_BY_IMPORT].join(", ");
        spec.labels(format!("{} in ({managers})", labels::MANAGED_BY))
    } else {
        spec
    }
}

struct Watches {
    token: CancellationToken,
    patience: Duration,
}

impl Watches {
    async fn of_hub(&self, clients: &ClientSet) -> Accumulator<HubSnapshot> {
        self.start(clients, ClusterId::Hub, HubControllers::default().reads()).await
    }

    async fn of_reach(&self, clients: &ClientSet) -> Accumulator<ReachSnapshot> {
        let reads = SourceSet::from([ReachSnapshot::reach_reports()]);
        self.start(clients, ClusterId::Hub, reads).await
    }

    async fn of_member(&self, contexts: &Contexts, name: &str) -> Member {
        let Some(context) = contexts.of_member(name) else {
            let reason = format!("no context of that name: use --member {name}=CONTEXT");
            return Member { context: None, seen: Err(reason), names_served: None, _end: None };
        };
        let own = Watches { token: self.token.child_token(), patience: self.patience };
        let end = own.token.clone().drop_guard();
        let seen = match contexts.connect(context).await {
            Ok(clients) => {
                let wanted = MemberControllers::new(&member_agent::Settings::new(name)).reads();
                let own = own.start(&clients, ClusterId::Local, wanted);
                let names = tokio::time::timeout(self.patience, names_served::ask(&clients.watch));
                let (own, names) = join(own, names).await;
                Ok((own, clients, names.unwrap_or_default()))
            }
            Err(error) => Err(format!("{error:#}")),
        };
        let names_served = seen.as_ref().ok().and_then(|(_, _, names)| *names);
        let seen = seen.map(|(own, clients, _)| (own, clients));
        Member { context: Some(context.to_owned()), seen, names_served, _end: Some(end) }
    }

    /// Watches what of `wanted` is in the cluster, and waits until all of it was listed or refused.
    async fn start<S: Snapshot>(
        &self,
        clients: &ClientSet,
        cluster: ClusterId,
        wanted: SourceSet,
    ) -> Accumulator<S> {
        let sources = S::sources().iter();
        let sources =
            sources.filter(|source| wanted.contains(source.id) && source.cluster == cluster);
        let started: Vec<_> = sources.map(|source| source.id).collect();
        let feeds = |source: &SourceInfo| narrow(source, SourceSpec::new(clients.watch.clone()));
        // A picture is of this moment, and nothing is written that depends on it.
        let config = Config { absent_after: Duration::ZERO, ..Config::default() };
        let accumulator = Accumulator::<S>::start(
            &config,
            started.iter().copied().collect(),
            &feeds,
            &self.token,
            &TaskTracker::new(),
        );
        let mut cursor = accumulator.cursor(SourceSet::EMPTY);
        let listed = async {
            while let Some(step) = cursor.next().await {
                let new: Arc<S> = Arc::clone(&step.new);
                cursor.commit(step);
                if started.iter().all(|id| {
                    new.state(*id).cannot_be_had()
                        || new.view(*id).is_some_and(AnyView::bootstrapped)
                }) {
                    return;
                }
            }
        };
        // What is missing then is a part of the picture.
        let _ = tokio::time::timeout(self.patience, listed).await;
        accumulator
    }
}
