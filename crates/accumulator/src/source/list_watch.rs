//! The list and the watch of one kind on a real API server.
//!
//! Only reading and decoding: when to try again, and from where, the source decides. Rules of the
//! API: <https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes>.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::io;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};
use std::vec;

use futures::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, StreamExt as _, TryFutureExt as _,
    TryStreamExt as _, stream,
};
use http::HeaderValue;
use http::header::{ACCEPT_ENCODING, RETRY_AFTER};
use http_body_util::BodyExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::{ListParams, WatchParams};
use kube::client::Body;
use kube::core::response::StatusDetails;
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

/// So much of a page is read until progress is reported.
const PART_BYTES: u64 = 64 << 10;
/// A longer page is dropped, and requested with fewer objects: a few sources may read at once, and
/// decoding takes as much memory again.
const PAGE_BYTES: usize = 4 << 20;
/// By how much pages become shorter.
const SHORTER: u32 = 4;
/// No object and no event is longer: API servers accept 3 MB.
const OBJECT_BYTES: usize = 16 << 20;
/// So much of a refusal is read.
const REFUSAL_BYTES: u64 = 64 << 10;

/// The body of an answer.
type Answer = Pin<Box<dyn AsyncBufRead + Send>>;

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

/// Where a list is.
#[derive(Default)]
struct Position {
    /// What the next page continues; `None` for the first one.
    token: Option<String>,
    /// The version of the first page. All pages are to show one version. Where they do not, changes
    /// that come twice do no harm.
    version: Option<ResourceVersion>,
}

/// What to do when everything that was read is handed on.
enum Next {
    /// Request a page of the list.
    Page(Position),
    /// Read on in the answer, of which so much has arrived.
    Body(Position, Answer, Vec<u8>),
    /// Request a watch.
    Watch(ResourceVersion),
    /// Read on in the events of a watch, one line of JSON each.
    Changes(Answer),
    End,
}

/// Reads one kind.
struct ListWatch<W> {
    request: kube::core::Request,
    spec: SourceSpec,
    decoding: Histogram,
    /// Objects per page. Pages of large objects become shorter for the rest of the list.
    page_size: u32,
    next: Next,
    /// The objects of a page that are not handed on yet; they come first.
    listed: vec::IntoIter<Timed<W>>,
    /// What else was read and is not handed on yet.
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
        request: kube::core::Request::new(W::url_path(&(), spec.namespace.as_deref())),
        spec: spec.clone(),
        decoding: options.decoding.clone(),
        page_size: options.page_size,
        next: Next::End,
        listed: Vec::new().into_iter(),
        ready: VecDeque::new(),
    };
    if let Some(version) = from {
        reading.request(Next::Watch(version.clone()));
    } else {
        reading.ready.push_back(WatchItem::ListStarted);
        reading.request(Next::Page(Position::default()));
    }
    stream::unfold(reading, ListWatch::item).boxed()
}

impl<W> ListWatch<W>
where
    W: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
{
    async fn item(mut self) -> Option<(WatchItem<W>, Self)> {
        loop {
            if let Some(timed) = self.listed.next() {
                let object = observed(&self.decoding, timed);
                return Some((WatchItem::Listed(object), self));
            }
            // A watch lives on without the memory of a page.
            self.listed = Vec::new().into_iter();
            if let Some(item) = self.ready.pop_front() {
                return Some((item, self));
            }
            let read = match std::mem::replace(&mut self.next, Next::End) {
                Next::Page(position) => self.page(position).await,
                Next::Body(position, answer, body) => self.body(position, answer, body).await,
                Next::Watch(version) => self.watch(&version).await,
                Next::Changes(answer) => self.change(answer).await,
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
    async fn page(&mut self, position: Position) -> Result<(), WatchError> {
        let params = ListParams {
            label_selector: self.spec.labels.clone(),
            field_selector: self.spec.fields.clone(),
            limit: Some(self.page_size),
            continue_token: position.token.clone(),
            ..ListParams::default()
        };
        let list = if W::metadata_api() {
            self.request.list_metadata(&params)
        } else {
            self.request.list(&params)
        };
        let answer = send(&self.spec.client, list).await.map_err(WatchError::List)?;
        self.next = Next::Body(position, answer, Vec::new());
        Ok(())
    }

    /// Reads a part of a page, and the page when it is complete. One that is too large is dropped,
    /// and requested again with fewer objects.
    async fn body(
        &mut self,
        position: Position,
        mut answer: Answer,
        mut body: Vec<u8>,
    ) -> Result<(), WatchError> {
        let mut part = (&mut answer).take(PART_BYTES);
        let read = part.read_to_end(&mut body).map_err(kube::Error::ReadEvents);
        if in_time(read).await.map_err(WatchError::List)? == 0 {
            let page = serde_json::from_slice(&body).map_err(|error| unreadable(&body, error));
            return self.list(position, page.map_err(WatchError::List)?);
        }
        if body.len() <= self.page_bytes() {
            self.ready.push_back(WatchItem::Progress);
            self.next = Next::Body(position, answer, body);
            return Ok(());
        }
        if self.page_size == 1 {
            let text = format!("an object has more than {OBJECT_BYTES} bytes");
            return Err(WatchError::List(kube::Error::Service(text.into())));
        }
        self.page_size = (self.page_size / SHORTER).max(1);
        self.request(Next::Page(position));
        Ok(())
    }

    fn page_bytes(&self) -> usize {
        if self.page_size == 1 { OBJECT_BYTES } else { PAGE_BYTES }
    }

    fn list(&mut self, position: Position, page: Page<W>) -> Result<(), WatchError> {
        let ListMeta { continue_, resource_version, .. } = page.metadata;
        self.listed = page.items.unwrap_or_default().into_iter();
        let version = position.version.or_else(|| version(resource_version.as_deref()).ok());
        let token = continue_.filter(|token| !token.is_empty());
        if token.is_some() {
            self.request(Next::Page(Position { token, version }));
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
        let watch = watch.map(|mut request| {
            request.headers_mut().insert(ACCEPT_ENCODING, IDENTITY);
            request
        });
        let answer = send(&self.spec.client, watch).await.map_err(WatchError::WatchStart)?;
        self.next = Next::Changes(answer);
        self.ready.push_back(WatchItem::WatchStarted);
        Ok(())
    }

    /// A watch whose connection died without a word ends like one that the API server ends.
    async fn change(&mut self, mut answer: Answer) -> Result<(), WatchError> {
        let idle = Duration::from_secs(self.watch_timeout().into()) + IDLE_MARGIN;
        let mut line = Vec::new();
        let limit = u64::try_from(OBJECT_BYTES).unwrap_or(u64::MAX);
        let mut lines = (&mut answer).take(limit);
        let read = tokio::time::timeout(idle, lines.read_until(b'\n', &mut line));
        let Ok(read) = read.await else { return Ok(()) };
        let read = read.map_err(|error| WatchError::Watch(kube::Error::ReadEvents(error)))?;
        if read == 0 {
            return Ok(());
        }
        if !line.trim_ascii().is_empty() {
            let Some(change) = decode(&line).map_err(WatchError::Watch)? else { return Ok(()) };
            let item = self.read(change)?;
            self.ready.push_back(item);
        }
        self.next = Next::Changes(answer);
        Ok(())
    }

    fn read(&self, change: WatchEvent<Timed<W>>) -> Result<WatchItem<W>, WatchError> {
        let object = |timed: Timed<W>| {
            let object = observed(&self.decoding, timed);
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
fn decode<T: DeserializeOwned>(line: &[u8]) -> kube::Result<Option<T>> {
    match serde_json::from_slice(line) {
        Ok(event) => Ok(Some(event)),
        Err(error) if error.is_eof() && !line.ends_with(b"\n") && line.len() < OBJECT_BYTES => {
            Ok(None)
        }
        Err(error) => Err(unreadable(line, error)),
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

/// Sends a request, and returns the body of the answer. Unlike `Client::request`, it logs no body,
/// and keeps what the API server asks for with `Retry-After`.
async fn send(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> kube::Result<Answer> {
    let request = request.map_err(kube::Error::BuildRequest)?.map(Body::from);
    let response = in_time(client.send(request)).await?;
    let (head, body) = response.into_parts();
    let body = body.into_data_stream().map_err(io::Error::other).into_async_read();
    if head.status.is_success() {
        return Ok(Box::pin(body));
    }
    let mut text = Vec::new();
    let mut body = pin!(body.take(REFUSAL_BYTES));
    in_time(body.read_to_end(&mut text).map_err(kube::Error::ReadEvents)).await?;
    Err(kube::Error::Api(refusal(&head, &text).boxed()))
}

fn no_details() -> StatusDetails {
    StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
        retry_after_seconds: 0,
    }
}

/// The `Status` of a refusal; a proxy on the way may send something else.
fn refusal(head: &http::response::Parts, body: &[u8]) -> Status {
    let code = head.status.as_u16();
    let plain = || Status {
        code,
        message: String::from_utf8_lossy(body).trim().to_owned(),
        reason: head.status.canonical_reason().unwrap_or_default().to_owned(),
        ..Status::default()
    };
    let status = serde_json::from_slice::<Status>(body).ok().filter(|status| status.code == code);
    let mut status = status.unwrap_or_else(plain);
    let seconds = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    if let Some(retry_after_seconds) = seconds {
        status.details = Some(StatusDetails { retry_after_seconds, ..no_details() });
    }
    status
}

/// An answer that never starts, as behind a half-open connection, becomes a failure.
async fn in_time<T>(answer: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    let seconds = ANSWER_WITHIN.as_secs();
    let late = |_| kube::Error::Service(format!("no answer within {seconds} s").into());
    tokio::time::timeout(ANSWER_WITHIN, answer).await.map_err(late)?
}
