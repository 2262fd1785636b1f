//! The feed of a real API server.

use std::borrow::Cow;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use http::Request;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::client::Body;
use kube::core::{DynamicResourceScope, PartialObjectMeta};
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use tokio::sync::mpsc;

use super::feed::{Discovered, Events, Feed, ReadOptions, WatchItem};

/// What of a kind is watched, and with which client.
#[derive(Clone)]
pub struct SourceSpec {
    /// A client without retries and read timeout.
    pub client: Client,
    /// Only this namespace; all if `None`.
    pub namespace: Option<String>,
    /// Label selector.
    pub labels: Option<String>,
    /// Field selector.
    pub fields: Option<String>,
    /// After how many seconds the API server ends a watch, which costs one reconnect: a dead
    /// connection is noticed this much plus 5 s later. 290 if `None`.
    pub watch_timeout: Option<u32>,
}

impl SourceSpec {
    /// All objects of the kind.
    pub fn new(client: Client) -> Self {
        Self { client, namespace: None, labels: None, fields: None, watch_timeout: None }
    }

    /// Only the objects of one namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only objects with these labels.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }

    /// Only objects with these fields.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.fields = Some(selector.into());
        self
    }

    /// Lets the API server end each watch after so many seconds.
    #[must_use]
    pub fn watch_timeout(mut self, seconds: u32) -> Self {
        self.watch_timeout = Some(seconds);
        self
    }
}

/// The feed of a real API server.
pub(crate) struct KubeFeed<W> {
    spec: SourceSpec,
    wire: PhantomData<fn() -> W>,
}

impl<W> KubeFeed<W> {
    pub(crate) fn new(spec: SourceSpec) -> Self {
        Self { spec, wire: PhantomData }
    }
}

impl<W> Feed<W> for KubeFeed<W>
where
    W: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
{
    fn open(&mut self, options: &ReadOptions) -> Events<W> {
        let spec = &self.spec;
        let (client, notices) = eavesdrop(&spec.client);
        let api: Api<Scoped<W>> = match &spec.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &()),
            None => Api::all_with(client, &()),
        };
        // List, then watch, and the list from the newest state: a streaming list may start from a
        // cache of any age, and what it lacks would be taken for deleted.
        let config = watcher::Config {
            label_selector: spec.labels.clone(),
            field_selector: spec.fields.clone(),
            timeout: spec.watch_timeout,
            list_semantic: watcher::ListSemantic::MostRecent,
            initial_list_strategy: watcher::InitialListStrategy::ListWatch,
            page_size: Some(options.page_size),
            bookmarks: true,
        };
        let events = watcher::watcher(api, config);
        let decoding = options.decoding.clone();
        let unscope = move |scoped: Scoped<W>| {
            decoding.observe(scoped.decoded_in.as_secs_f64());
            scoped.wire
        };
        let events =
            events.map(move |event| WatchItem::Event(event.map(|event| each(event, &unscope))));
        let notices = stream::unfold(notices, async |mut notices| {
            let notice = notices.recv().await?;
            let heard = match notice {
                Notice::Requested => WatchItem::Requested,
                Notice::WatchStarted => WatchItem::WatchStarted,
            };
            Some((heard, notices))
        });
        stream::select(notices, events).boxed()
    }

    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        let client = self.spec.client.clone();
        Box::pin(async move {
            let version = W::api_version(&());
            let resources = if W::group(&()).is_empty() {
                client.list_core_api_resources(&version).await
            } else {
                client.list_api_group_resources(&version).await
            };
            let resources = match resources {
                Ok(list) => list.resources,
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    return Ok(Discovered::Absent);
                }
                Err(error) => return Err(error),
            };
            let plural = W::plural(&());
            let found = resources.iter().find(|resource| resource.name == plural);
            Ok(match found {
                None => Discovered::Absent,
                Some(resource) if resource.verbs.iter().any(|verb| verb == "create") => {
                    Discovered::Served
                }
                Some(_) => Discovered::Terminating,
            })
        })
    }

    fn identity(&mut self) -> BoxFuture<'_, Option<String>> {
        // Who may read one namespace only may not read this one.
        if self.spec.namespace.is_some() {
            return Box::pin(std::future::ready(None));
        }
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(self.spec.client.clone());
        Box::pin(async move { api.get("kube-system").await.ok()?.metadata.uid })
    }
}

/// How long an API server may take to start an answer. It ends requests after 60 s itself; a
/// watch is answered at once.
const ANSWER_WITHIN: Duration = Duration::from_mins(1);

enum Notice {
    Requested,
    WatchStarted,
}

/// The same client, with a notice of each request and of each watch that was accepted. An answer
/// that never starts, as behind a half-open connection, becomes a failure.
fn eavesdrop(client: &Client) -> (Client, mpsc::UnboundedReceiver<Notice>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let namespace = client.default_namespace().to_owned();
    let client = client.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, sender) = (client.clone(), sender.clone());
        async move {
            let query = request.uri().query().unwrap_or_default();
            let is_watch = query.split('&').any(|pair| pair == "watch=true");
            // Without a receiver, the answer is not read either.
            let _ = sender.send(Notice::Requested);
            let answer = tokio::time::timeout(ANSWER_WITHIN, client.send(request)).await;
            let response = answer.map_err(|_| {
                let seconds = ANSWER_WITHIN.as_secs();
                kube::Error::Service(format!("no answer within {seconds} s").into())
            })??;
            if is_watch && response.status().is_success() {
                let _ = sender.send(Notice::WatchStarted);
            }
            Ok::<_, kube::Error>(response)
        }
    });
    (Client::new(service, namespace), receiver)
}

/// The event with another form of its object.
fn each<A, B>(event: watcher::Event<A>, convert: impl Fn(A) -> B) -> watcher::Event<B> {
    match event {
        watcher::Event::Init => watcher::Event::Init,
        watcher::Event::InitApply(object) => watcher::Event::InitApply(convert(object)),
        watcher::Event::InitDone => watcher::Event::InitDone,
        watcher::Event::Apply(object) => watcher::Event::Apply(convert(object)),
        watcher::Event::Delete(object) => watcher::Event::Delete(convert(object)),
    }
}

/// A resource whose scope is known at run time only: whether one namespace or all are watched is a
/// matter of the [`SourceSpec`], not of the type.
#[derive(Clone, Debug)]
struct Scoped<W> {
    wire: W,
    decoded_in: Duration,
}

impl<'de, W: Deserialize<'de>> Deserialize<'de> for Scoped<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let begun = Instant::now();
        let wire = W::deserialize(deserializer)?;
        Ok(Self { wire, decoded_in: begun.elapsed() })
    }
}

impl<W: Resource<DynamicType = ()>> Resource for Scoped<W> {
    type DynamicType = ();
    type Scope = DynamicResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        W::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        W::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        W::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        W::plural(&())
    }

    fn metadata_api() -> bool {
        W::metadata_api()
    }

    fn meta(&self) -> &ObjectMeta {
        self.wire.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.wire.meta_mut()
    }
}
