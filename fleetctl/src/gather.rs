//! Reads the clusters with the agents' own watches and the user's credentials.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use fleet_accumulator::{
    Accumulator, AnyView, ClusterId, Config, Snapshot, SourceInfo, SourceSet, SourceSpec,
    SourceState,
};
use fleet_api::events::BLOCKED;
use fleet_api::{ObjectName, labels, names};
use fleet_runtime::clients::ClientSet;
use fleet_runtime::clock::Clock;
use futures::future::{join, join_all};
use hub_agent::snapshot::HubSnapshot;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use member_agent::snapshot::MemberSnapshot;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::access::{Access, Contexts};
use crate::controllers::{HubControllers, MemberControllers};
use crate::credential::{self, CredentialStatus};
use crate::offload::{self, OffloadStatus};
use crate::picture::{Own, Picture};
use crate::quotas::{self, QuotaUse};
use crate::{agent_version, names_served};

/// Time after which a problem is reported: while a fleet works, it is between two writes most of the time.
const CALM: Duration = Duration::from_secs(1);
/// Maximum age of an Event: agents repeat an Event that is still true after ten minutes.
const REPEATED: SignedDuration = SignedDuration::from_mins(11);
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
    /// Members' own clusters.
    pub members: BTreeMap<String, Member>,
    clock: Clock,
    patience: Duration,
    _end: DropGuard,
}

/// A member's own cluster.
pub struct Member {
    context: Option<String>,
    /// Its watches and clients, or why there are none.
    pub seen: Result<(Accumulator<MemberSnapshot>, ClientSet), String>,
    names_served: Option<bool>,
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
        let hub = watches.of_hub(&hub_clients).await;
        let snapshot = hub.snapshot();
        let homes = snapshot.namespaces.iter().map(|namespace| &namespace.name.name);
        let known = homes.filter_map(|name| names::member_of_namespace(name)).map(str::to_owned);
        let known: BTreeSet<_> = known.chain(contexts.named().cloned()).collect();
        let members = join_all(known.into_iter().map(async |name| {
            let member = watches.of_member(&contexts, &name).await;
            (name, member)
        }));
        let members = members.await.into_iter().collect();
        let (clock, patience, end) = (Clock::system(), access.patience(), token.drop_guard());
        Ok(Self { contexts, hub, hub_clients, members, clock, patience, _end: end })
    }

    /// What all clusters show now.
    pub fn picture(&self) -> Picture {
        let own = |member: &Member| Own {
            context: member.context.clone(),
            seen: match &member.seen {
                Ok((accumulator, _)) => Ok(MemberSnapshot::clone(&accumulator.snapshot())),
                Err(reason) => Err(reason.clone()),
            },
            names_served: member.names_served,
        };
        let own = self.members.iter().map(|(name, member)| (name.clone(), own(member))).collect();
        let hub = HubSnapshot::clone(&self.hub.snapshot());
        let picture = Picture::new(self.clock.now(), hub, own);
        Picture { hub_context: Some(self.contexts.hub.clone()), ..picture }
    }

    /// What agents have recently reported to block them in the namespace of a Service.
    pub async fn blocked(&self, service: &ObjectName) -> BTreeMap<String, String> {
        let seen = self.members.iter().filter_map(|(name, member)| {
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
        let seen = self.members.iter().filter_map(|(name, member)| {
            let (_, clients) = member.seen.as_ref().ok()?;
            Some((name, clients))
        });
        credential::read(&self.hub_clients, seen, self.patience).await
    }

    /// The releases of the agents of the members whose clusters can be read.
    pub async fn agent_versions(&self) -> BTreeMap<String, String> {
        let seen = self.members.iter().filter_map(|(name, member)| {
            let (_, clients) = member.seen.as_ref().ok()?;
            Some((name, clients))
        });
        agent_version::read(seen, self.patience).await
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
        let hub = watches.of_hub(&clients).await;
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

    async fn of_member(&self, contexts: &Contexts, name: &str) -> Member {
        let Some(context) = contexts.of_member(name) else {
            let reason = format!("no context of that name: use --member {name}=CONTEXT");
            return Member { context: None, seen: Err(reason), names_served: None };
        };
        let seen = match contexts.connect(context).await {
            Ok(clients) => {
                let wanted = MemberControllers::new(&member_agent::Settings::new(name)).reads();
                let own = self.start(&clients, ClusterId::Local, wanted);
                let names = tokio::time::timeout(self.patience, names_served::ask(&clients.watch));
                let (own, names) = join(own, names).await;
                Ok((own, clients, names.unwrap_or_default()))
            }
            Err(error) => Err(format!("{error:#}")),
        };
        let names_served = seen.as_ref().ok().and_then(|(_, _, names)| *names);
        let seen = seen.map(|(own, clients, _)| (own, clients));
        Member { context: Some(context.to_owned()), seen, names_served }
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
                    let refused = matches!(
                        new.state(*id),
                        SourceState::Missing { .. } | SourceState::Forbidden { .. }
                    );
                    refused || new.view(*id).is_some_and(AnyView::bootstrapped)
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
