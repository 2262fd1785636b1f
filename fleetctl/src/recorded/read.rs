//! Reads the objects of all clusters, with the user's credentials.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use fleet_accumulator::{Tracked as _, one_line};
use fleet_api::{ObjectName, ResourceKind, kinds, names};
use fleet_model::hub_schema::{GROUP_VERSION, HubSchema};
use fleet_runtime::clients::ClientSet;
use fleet_runtime::clock::Clock;
use futures::future::join_all;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kube::Client;
use kube::api::{DynamicObject, ListParams};
use serde_json::Value;
use tokio::time::timeout;

use super::cluster::{ClusterObjects, KindObjects};
use super::fleet::{FleetObjects, MemberObjects};
use super::sources::{self, Selected};
use super::state::KindState;
use super::text;
use crate::access::{Access, Contexts};
use crate::names_served;
use crate::objects::{PAGE, api, each_page};

/// Kinds of a cluster that are read at once.
const AT_ONCE: usize = 4;
/// Clusters that are read at once.
const CLUSTERS: usize = 8;
/// How many times as long as one answer all lists of a cluster may take.
const LISTS: u32 = 6;

/// Reads a fleet once.
///
/// # Errors
/// If the hub cannot be reached.
pub(crate) async fn read(access: &Access) -> Result<FleetObjects> {
    Reader::connect(access).await?.read().await
}

/// Reads a fleet as often as it is asked to, through the same connections.
pub(crate) struct Reader {
    contexts: Contexts,
    patience: Duration,
    hub: ClientSet,
    members: BTreeMap<String, Connected>,
    clock: Clock,
}

/// A member's cluster.
struct Connected {
    context: Option<String>,
    client: Result<Client, String>,
}

impl Reader {
    /// Connects to the hub. Members are connected to when they are read first.
    ///
    /// # Errors
    /// If there is no hub to be reached.
    pub(crate) async fn connect(access: &Access) -> Result<Self> {
        let contexts = access.contexts()?;
        let hub = contexts.connect(&contexts.hub).await?;
        let (members, clock) = (BTreeMap::new(), Clock::system());
        Ok(Self { contexts, patience: access.patience(), hub, members, clock })
    }

    /// Reads all clusters. What cannot be read is a part of the answer.
    ///
    /// # Errors
    /// If the hub does not answer in time, or its namespaces cannot be read, which name the members.
    pub(crate) async fn read(&mut self) -> Result<FleetObjects> {
        let at = self.clock.now();
        let late = "the hub did not answer in time";
        let hub = of_cluster(&self.hub.watch, sources::of_hub());
        let mut hub = timeout(self.patience * LISTS, hub).await.context(late)?;
        let schema = schema(&self.hub.watch);
        if let Some(schema) = timeout(self.patience, schema).await.context(late)? {
            hub.insert(
                HubSchema::KIND,
                ObjectName::cluster(GROUP_VERSION),
                text::of_value(HubSchema::KIND, schema),
            );
        }
        let namespaces = hub.kinds.get(&kinds::NAMESPACE);
        if let Some(reason) = namespaces.and_then(|of_kind| of_kind.state.unread()) {
            bail!("the namespaces of the hub could not be read: {reason}");
        }
        let namespaces = namespaces.into_iter().flat_map(|of_kind| of_kind.objects.keys());
        let known = namespaces.filter_map(|name| names::member_of_namespace(&name.name));
        let known = known.map(str::to_owned).chain(self.contexts.named().cloned());
        let known: BTreeSet<_> = known.collect();
        self.join(&known).await;
        let members = known.iter().filter_map(|name| Some((name, self.members.get(name)?)));
        let members: Vec<_> = members.map(|(name, member)| self.of_member(name, member)).collect();
        let members = stream::iter(members).buffer_unordered(CLUSTERS).collect().await;
        let hub_context = Some(self.contexts.hub.clone());
        Ok(FleetObjects { at, hub_context, hub, members })
    }

    /// Connects to members that are new, or that could not be reached.
    async fn join(&mut self, known: &BTreeSet<String>) {
        let is_there = |name: &&String| self.members.get(*name).is_some_and(|it| it.client.is_ok());
        let missing: Vec<_> = known.iter().filter(|name| !is_there(name)).collect();
        let connected: Vec<_> = missing.into_iter().map(|name| self.connected(name)).collect();
        let connected = join_all(connected).await;
        self.members.extend(connected);
    }

    async fn connected(&self, name: &str) -> (String, Connected) {
        let Some(context) = self.contexts.of_member(name) else {
            let reason = format!("no context of that name: use --member {name}=CONTEXT");
            return (name.to_owned(), Connected { context: None, client: Err(reason) });
        };
        let client = self.contexts.connect(context).await;
        let client = client.map(|set| set.watch).map_err(|error| format!("{error:#}"));
        (name.to_owned(), Connected { context: Some(context.to_owned()), client })
    }

    async fn of_member(&self, name: &str, member: &Connected) -> (String, MemberObjects) {
        let context = member.context.clone();
        let unseen = |reason: String| MemberObjects {
            context: member.context.clone(),
            unseen: Some(reason),
            ..MemberObjects::default()
        };
        let client = match &member.client {
            Ok(client) => client,
            Err(reason) => return (name.to_owned(), unseen(reason.clone())),
        };
        let names = timeout(self.patience, names_served::ask(client));
        let names_served = names.await.unwrap_or_default();
        let read = of_cluster(client, sources::of_member(name));
        let read = match timeout(self.patience * LISTS, read).await {
            Ok(objects) => MemberObjects { context, unseen: None, names_served, objects },
            Err(_) => unseen("it did not answer in time".to_owned()),
        };
        (name.to_owned(), read)
    }
}

async fn of_cluster(client: &Client, selected: Selected) -> ClusterObjects {
    let read: Vec<_> =
        selected.into_iter().map(|(kind, fields)| listed(client, kind, fields)).collect();
    ClusterObjects { kinds: stream::iter(read).buffer_unordered(AT_ONCE).collect().await }
}

async fn listed(
    client: &Client,
    kind: ResourceKind,
    fields: Option<&str>,
) -> (ResourceKind, KindObjects) {
    (kind, of_kind(client, kind, fields).await)
}

async fn of_kind(client: &Client, kind: ResourceKind, fields: Option<&str>) -> KindObjects {
    let mut params = ListParams::default().limit(PAGE);
    params.field_selector = fields.map(str::to_owned);
    let mut pages = each_page(api(client.clone(), kind, None), params);
    let mut found = KindObjects::default();
    loop {
        match pages.try_next().await {
            Ok(Some(page)) => {
                found.objects.extend(page.iter().filter_map(|object| text(kind, object)));
            }
            Ok(None) => return found,
            Err(error) => return KindObjects { state: unread(&error), ..KindObjects::default() },
        }
    }
}

fn text(kind: ResourceKind, object: &DynamicObject) -> Option<(ObjectName, Arc<str>)> {
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let value = serde_json::to_value(object).ok()?;
    Some((ObjectName::new(namespace, name), text::of_value(kind, value)))
}

fn unread(error: &kube::Error) -> KindState {
    match error {
        kube::Error::Api(status) if status.code == 404 => KindState::Missing,
        kube::Error::Api(status) if status.code == 403 => {
            KindState::Forbidden(status.message.clone())
        }
        error => KindState::Failed(one_line(error)),
    }
}

/// Which of our additions the hub serves, in the form in which a server in memory has it.
async fn schema(hub: &Client) -> Option<Value> {
    let path = format!("/openapi/v3/apis/{GROUP_VERSION}");
    let request = http::Request::get(path).body(Vec::new()).ok()?;
    let document: Value = hub.request(request).await.ok()?;
    let mut object = HubSchema::of(&document)?.object();
    object["metadata"] = serde_json::json!({
        "name": GROUP_VERSION, "uid": GROUP_VERSION, "resourceVersion": "1",
    });
    Some(object)
}
