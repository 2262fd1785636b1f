//! The list and the watch of one kind on a real API server.
//!
//! Only reading and decoding: when to try again, and from where, the source decides. Rules of the
//! API: <https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes>.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::io;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::stream::{self, BoxStream};
use futures::{AsyncBufRead as _, AsyncBufReadExt as _, StreamExt as _};
use http::HeaderValue;
use http::header::ACCEPT_ENCODING;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::{ListParams, WatchParams};
use kube::core::{Status, TypeMeta, WatchEvent};
use kube::{Client, Resource};
use prometheus::Histogram;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::feed::{Events, ReadOptions, WatchError, WatchItem};
use super::spec::SourceSpec;
use crate::ResourceVersion;

/// How long an API server may take to start an answer. It ends requests after 60 s itself; a
/// watch is answered at once.
const ANSWER_WITHIN: Duration = Duration::from_mins(1);
/// After how many seconds the API server ends a watch, unless the source sets another time.
const WATCH_TIMEOUT: u32 = 290;
/// A watch that is silent for so much longer than the API server lets it live is dead.
const IDLE_MARGIN: Duration = Duration::from_secs(5);

/// API servers may compress each event of a watch for itself (Kubernetes 1.37), which HTTP clients take for one
/// answer that ends after the first.
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// An object, and how long it took to decode it.
#[derive(Clone)]
struct Timed<W> {
    object: W,
    decoded_in: Duration,
}

impl<'de, W: Deserialize<'de>> Deserialize<'de> for Timed<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let begun = Instant::now();
        let object = W::deserialize(deserializer)?;
        Ok(Self { object, decoded_in: begun.elapsed() })
    }
}

/// One page of a list.
#[derive(Deserialize)]
#[serde(bound = "W: DeserializeOwned")]
struct Page<W> {
    #[serde(default)]
    metadata: ListMeta,
    /// Never left out: an answer without it is no list, rather than an empty one. A list without
    /// objects may come as `null`.
    #[serde(deserialize_with = "Option::deserialize")]
    items: Option<Vec<Timed<W>>>,
}

/// The events of a watch, one line of JSON each.
type Lines = BoxStream<'static, io::Result<String>>;

/// What to do when everything that was read is handed on.
enum Next {
    /// Request a page of the list, the first one without a token; and the version of the first one.
    Page(Option<String>, Option<ResourceVersion>),
    /// Request a watch.
    Watch(ResourceVersion),
    /// Read on.
    Changes(Lines),
    End,
}

/// Reads one kind.
struct ListWatch<W> {
    client: Client,
    request: kube::core::Request,
    spec: SourceSpec,
    options: ReadOptions,
    next: Next,
    /// What was read and is not handed on yet.
    ready: VecDeque<WatchItem<W>>,
}

/// The changes after `from`; without it a list in pages, then the changes after that.
pub(super) fn open<W>(
    spec: &SourceSpec,
    options: &ReadOptions,
    from: Option<&ResourceVersion>,
) -> Events<W>
where
    W: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
{
    let mut reading = ListWatch {
        client: spec.client.clone(),
        request: kube::core::Request::new(W::url_path(&(), spec.namespace.as_deref())),
        spec: spec.clone(),
        options: options.clone(),
        next: Next::End,
        ready: VecDeque::new(),
    };
    if let Some(version) = from {
        reading.request(Next::Watch(version.clone()));
    } else {
        reading.ready.push_back(WatchItem::ListStarted);
        reading.request(Next::Page(None, None));
    }
    stream::unfold(reading, ListWatch::item).boxed()
}

impl<W> ListWatch<W>
where
    W: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
{
    async fn item(mut self) -> Option<(WatchItem<W>, Self)> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some((item, self));
            }
            let read = match std::mem::replace(&mut self.next, Next::End) {
                Next::Page(token, version) => self.page(token, version).await,
                Next::Watch(version) => self.watch(&version).await,
                Next::Changes(changes) => self.change(changes).await,
                Next::End => return None,
            };
            if let Err(error) = read {
                self.ready.push_back(WatchItem::Failed(error));
            }
        }
    }

    fn request(&mut self, next: Next) {
        self.ready.push_back(WatchItem::Requested);
        self.next = next;
    }

    /// From the newest state: what a cached list lacks would be taken for deleted.
    async fn page(
        &mut self,
        token: Option<String>,
        first: Option<ResourceVersion>,
    ) -> Result<(), WatchError> {
        let params = ListParams {
            label_selector: self.spec.labels.clone(),
            field_selector: self.spec.fields.clone(),
            limit: Some(self.options.page_size),
            continue_token: token,
            ..ListParams::default()
        };
        let list = if W::metadata_api() {
            self.request.list_metadata(&params)
        } else {
            self.request.list(&params)
        };
        let request = list.map_err(kube::Error::BuildRequest);
        let read = async { read_page::<W>(&self.client, request?).await };
        let page = read.await.map_err(WatchError::List)?;
        let ListMeta { continue_, resource_version, .. } = page.metadata;
        for timed in page.items.into_iter().flatten() {
            let object = observed(&self.options.decoding, timed);
            self.ready.push_back(WatchItem::Listed(object));
        }
        // All pages are to show one version. Where they do not, changes that come twice do no harm.
        let version = first.or_else(|| version(resource_version.as_deref()).ok());
        let more = continue_.filter(|token| !token.is_empty());
        if more.is_some() {
            self.request(Next::Page(more, version));
            return Ok(());
        }
        let version = version.ok_or(WatchError::NoResourceVersion)?;
        self.ready.push_back(WatchItem::ListCompleted(version.clone()));
        self.request(Next::Watch(version));
        Ok(())
    }

    async fn watch(&mut self, version: &ResourceVersion) -> Result<(), WatchError> {
        let params = WatchParams {
            label_selector: self.spec.labels.clone(),
            field_selector: self.spec.fields.clone(),
            timeout: Some(self.watch_timeout()),
            bookmarks: true,
            send_initial_events: false,
        };
        let version = version.to_string();
        let watch = if W::metadata_api() {
            self.request.watch_metadata(&params, &version)
        } else {
            self.request.watch(&params, &version)
        };
        let start = async {
            let mut request = watch.map_err(kube::Error::BuildRequest)?;
            request.headers_mut().insert(ACCEPT_ENCODING, IDENTITY);
            in_time(self.client.request_stream(request)).await
        };
        let answer = start.await.map_err(WatchError::WatchStart)?;
        self.next = Next::Changes(answer.lines().boxed());
        self.ready.push_back(WatchItem::WatchStarted);
        Ok(())
    }

    /// A watch whose connection died without a word ends like one that the API server ends.
    async fn change(&mut self, mut lines: Lines) -> Result<(), WatchError> {
        let idle = Duration::from_secs(self.watch_timeout().into()) + IDLE_MARGIN;
        let Ok(Some(line)) = tokio::time::timeout(idle, lines.next()).await else {
            return Ok(());
        };
        let change = line.map_err(kube::Error::ReadEvents).and_then(|line| decode(&line));
        if let Some(change) = change.map_err(WatchError::Watch)? {
            let item = self.read(change)?;
            self.next = Next::Changes(lines);
            self.ready.push_back(item);
        }
        Ok(())
    }

    fn read(&self, change: WatchEvent<Timed<W>>) -> Result<WatchItem<W>, WatchError> {
        let object = |timed: Timed<W>| {
            let object = observed(&self.options.decoding, timed);
            version(object.meta().resource_version.as_deref()).map(|_| object)
        };
        Ok(match change {
            WatchEvent::Added(timed) | WatchEvent::Modified(timed) => {
                WatchItem::Applied(object(timed)?)
            }
            WatchEvent::Deleted(timed) => WatchItem::Deleted(object(timed)?),
            WatchEvent::Bookmark(mark) => {
                WatchItem::Bookmark(version(Some(&mark.metadata.resource_version))?)
            }
            WatchEvent::Error(status) => {
                return Err(WatchError::Watch(kube::Error::Api(status.boxed())));
            }
        })
    }

    fn watch_timeout(&self) -> u32 {
        self.spec.watch_timeout.unwrap_or(WATCH_TIMEOUT)
    }
}

fn observed<W>(decoding: &Histogram, timed: Timed<W>) -> W {
    decoding.observe(timed.decoded_in.as_secs_f64());
    timed.object
}

/// The empty version means any: a watch from there does not continue.
fn version(text: Option<&str>) -> Result<ResourceVersion, WatchError> {
    let text = text.filter(|text| !text.is_empty());
    text.map(ResourceVersion::from).ok_or(WatchError::NoResourceVersion)
}

/// One event; `None` for a line that was cut off, as where the API server ends.
fn decode<T: DeserializeOwned>(line: &str) -> kube::Result<Option<T>> {
    match serde_json::from_str(line) {
        Ok(event) => Ok(Some(event)),
        Err(error) if error.is_eof() => Ok(None),
        Err(error) => Err(unreadable(line.as_bytes(), error)),
    }
}

/// Reads and decodes one page. Unlike `Client::request`, it logs no body.
async fn read_page<W: DeserializeOwned>(
    client: &Client,
    request: http::Request<Vec<u8>>,
) -> kube::Result<Page<W>> {
    let mut answer = pin!(in_time(client.request_stream(request)).await?);
    let mut body = Vec::new();
    loop {
        let chunk = answer.fill_buf().await.map_err(kube::Error::ReadEvents)?;
        if chunk.is_empty() {
            return serde_json::from_slice(&body).map_err(|error| unreadable(&body, error));
        }
        body.extend_from_slice(chunk);
        let length = chunk.len();
        answer.as_mut().consume(length);
    }
}

/// What is neither a list nor an event may be a refusal, sent with the HTTP status of success.
fn unreadable(body: &[u8], error: serde_json::Error) -> kube::Error {
    let types = serde_json::from_slice::<TypeMeta>(body);
    if types.is_ok_and(|types| types.kind == "Status")
        && let Ok(status) = serde_json::from_slice::<Status>(body)
    {
        return kube::Error::Api(status.boxed());
    }
    kube::Error::SerdeError(error)
}

/// An answer that never starts, as behind a half-open connection, becomes a failure.
async fn in_time<T>(answer: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    let seconds = ANSWER_WITHIN.as_secs();
    let late = |_| kube::Error::Service(format!("no answer within {seconds} s").into());
    tokio::time::timeout(ANSWER_WITHIN, answer).await.map_err(late)?
}
