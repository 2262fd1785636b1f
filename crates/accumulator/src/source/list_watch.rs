//! The list and the watch of one kind on a real API server.
//!
//! Only reading and decoding: when to try again, and from where, the source decides. Objects are read as text, whatever their
//! kind, and decoded when they are handed on. Rules of the API: <https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes>.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{AsyncBufReadExt as _, AsyncReadExt as _, StreamExt as _, TryFutureExt as _, stream};
use http::HeaderValue;
use http::header::ACCEPT_ENCODING;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::Resource;
use kube::api::{ListParams, WatchParams};
use kube::core::{Status, TypeMeta};
use prometheus::Histogram;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::feed::{Events, ReadOptions, WatchError, WatchItem};
use super::page::{self, Head, Objects};
use super::request::{Answer, in_time, send_headed};
use super::server::{Request, Server};
use super::spec::SourceSpec;
use super::wire_kind::WireKind;
use crate::ResourceVersion;

/// After how many seconds the API server ends a watch, unless the source sets another time.
const WATCH_TIMEOUT: u32 = 290;
/// A watch that is silent for so much longer than the API server lets it live is dead.
const IDLE_MARGIN: Duration = Duration::from_secs(5);

/// API servers may compress each event of a watch for itself (Kubernetes 1.37), which HTTP clients take for one
/// answer that ends after the first.
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// So much of a page is read until progress is reported.
const PART_BYTES: u64 = 64 << 10;
/// A longer page is dropped, and requested with fewer objects: a few sources may read at once.
const PAGE_BYTES: usize = 4 << 20;
/// By how much pages become shorter, and longer again.
const SHORTER: u32 = 4;
/// After a page of so many bytes the next one may be longer.
const LONGER_AFTER: usize = PAGE_BYTES / 4;
/// No object and no event is longer: API servers accept 3 MB.
const OBJECT_BYTES: usize = 16 << 20;

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
struct ListWatch {
    kind: WireKind,
    spec: SourceSpec,
    /// Objects per page. Pages of large objects become shorter, and longer again after them: one that a user made large
    /// is not to cost a request for each of all others.
    page_size: u32,
    /// Objects per page of usual objects.
    usual_size: u32,
    /// Among so many of the next objects there are large ones: pages stay short until these are read.
    crowded: usize,
    next: Next,
    /// The server that has answered so far.
    server: Server,
    /// The objects of a page that are not handed on yet; they come first.
    objects: Objects,
    /// What else was read and is not handed on yet.
    ready: VecDeque<WatchItem<Bytes>>,
}

/// An event of a watch.
#[derive(Deserialize)]
struct Event<'a> {
    r#type: EventType,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum EventType {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

/// The changes after `from`; without it a list in pages, then the changes after that.
pub(super) fn open<W>(
    spec: &SourceSpec,
    options: &ReadOptions,
    from: Option<&ResourceVersion>,
    server: &Server,
) -> Events<W>
where
    W: Resource<DynamicType = ()> + DeserializeOwned + Send + 'static,
{
    let decoding = options.decoding.clone();
    let texts = ListWatch::open(WireKind::of::<W>(), spec, options.page_size, from, server);
    let decoded = stream::unfold(Some(texts), move |texts| {
        let decoding = decoding.clone();
        async move {
            let mut texts = texts?;
            let item = decode::<W>(texts.next().await?, &decoding);
            // What cannot be decoded ends the stream, and the answer: a part of a list proves nothing.
            let rest = (!matches!(item, WatchItem::Failed(_))).then_some(texts);
            Some((item, rest))
        }
    });
    decoded.boxed()
}

fn decode<W>(item: WatchItem<Bytes>, decoding: &Histogram) -> WatchItem<W>
where
    W: Resource<DynamicType = ()> + DeserializeOwned,
{
    let object = |text: &[u8]| {
        let begun = Instant::now();
        let object = serde_json::from_slice::<W>(text).map_err(kube::Error::SerdeError)?;
        decoding.observe(begun.elapsed().as_secs_f64());
        Ok(object)
    };
    let changed = |text: &[u8]| {
        let object = object(text).map_err(WatchError::Watch)?;
        version(object.meta().resource_version.as_deref()).map(|_| object)
    };
    match item {
        WatchItem::Listed(text) => match object(&text) {
            Ok(object) => WatchItem::Listed(object),
            Err(error) => WatchItem::Failed(WatchError::List(error)),
        },
        WatchItem::Applied(text) => {
            changed(&text).map_or_else(WatchItem::Failed, WatchItem::Applied)
        }
        WatchItem::Deleted(text) => {
            changed(&text).map_or_else(WatchItem::Failed, WatchItem::Deleted)
        }
        WatchItem::Requested => WatchItem::Requested,
        WatchItem::Progress => WatchItem::Progress,
        WatchItem::ListStarted => WatchItem::ListStarted,
        WatchItem::ListCompleted(version) => WatchItem::ListCompleted(version),
        WatchItem::WatchStarted => WatchItem::WatchStarted,
        WatchItem::Bookmark(version) => WatchItem::Bookmark(version),
        WatchItem::ServerChanged => WatchItem::ServerChanged,
        WatchItem::Failed(error) => WatchItem::Failed(error),
    }
}

impl ListWatch {
    fn open(
        kind: WireKind,
        spec: &SourceSpec,
        page_size: u32,
        from: Option<&ResourceVersion>,
        server: &Server,
    ) -> BoxStream<'static, WatchItem<Bytes>> {
        let mut reading = Self {
            kind,
            spec: spec.clone(),
            page_size,
            usual_size: page_size,
            crowded: 0,
            next: Next::End,
            server: server.clone(),
            objects: Objects::default(),
            ready: VecDeque::new(),
        };
        if let Some(version) = from {
            reading.request(Next::Watch(version.clone()));
        } else {
            reading.ready.push_back(WatchItem::ListStarted);
            reading.request(Next::Page(Position::default()));
        }
        stream::unfold(reading, Self::item).boxed()
    }

    async fn item(mut self) -> Option<(WatchItem<Bytes>, Self)> {
        loop {
            if self.objects.ends_turn() {
                return Some((WatchItem::Progress, self));
            }
            if let Some(text) = self.objects.take() {
                return Some((WatchItem::Listed(text), self));
            }
            // A watch lives on without the memory of a page.
            self.objects = Objects::default();
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
        let request = self.kind.request(&self.spec);
        let list = if self.kind.is_metadata {
            request.list_metadata(&params)
        } else {
            request.list(&params)
        };
        let answer = send_headed(&self.spec.client, list).await.map_err(WatchError::List)?;
        let (headers, answer) = answer;
        if self.server.is_another(Request::List, &headers) {
            self.ready.push_back(WatchItem::ServerChanged);
            if position.token.is_some() {
                return Err(WatchError::OtherServer);
            }
        }
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
            let page = page::cut(&body).map_err(|error| unreadable(&body, error));
            let (metadata, places) = page.map_err(WatchError::List)?;
            self.crowded = self.crowded.saturating_sub(places.len());
            if self.crowded == 0 && body.len() <= LONGER_AFTER {
                self.page_size = self.page_size.saturating_mul(SHORTER).min(self.usual_size);
            }
            self.objects = Objects::new(body, places);
            return self.list(position, metadata);
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
        self.crowded = usize::try_from(self.page_size).unwrap_or(usize::MAX);
        self.page_size = (self.page_size / SHORTER).max(1);
        self.request(Next::Page(position));
        Ok(())
    }

    fn page_bytes(&self) -> usize {
        if self.page_size == 1 { OBJECT_BYTES } else { PAGE_BYTES }
    }

    fn list(&mut self, position: Position, metadata: ListMeta) -> Result<(), WatchError> {
        let ListMeta { continue_, resource_version, .. } = metadata;
        let version = position.version.or_else(|| version(resource_version.as_deref()).ok());
        let token = continue_.filter(|token| !token.is_empty());
        if token.is_some() {
            if token == position.token {
                let text =
                    "a page is followed by itself: something on the way answers for the API server";
                return Err(WatchError::List(kube::Error::Service(text.into())));
            }
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
            timeout: Some(watch_timeout(&self.spec)),
            bookmarks: true,
            send_initial_events: false,
        };
        let version = version.to_string();
        let request = self.kind.request(&self.spec);
        let watch = if self.kind.is_metadata {
            request.watch_metadata(&params, &version)
        } else {
            request.watch(&params, &version)
        };
        let watch = watch.map(|mut request| {
            request.headers_mut().insert(ACCEPT_ENCODING, IDENTITY);
            request
        });
        let answer = send_headed(&self.spec.client, watch).await.map_err(WatchError::WatchStart)?;
        let (headers, answer) = answer;
        if self.server.is_another(Request::Watch, &headers) {
            self.ready.push_back(WatchItem::ServerChanged);
            return Err(WatchError::OtherServer);
        }
        self.next = Next::Changes(answer);
        self.ready.push_back(WatchItem::WatchStarted);
        Ok(())
    }

    /// A watch whose connection died without a word is one that was interrupted: what answers next may be another API server.
    async fn change(&mut self, mut answer: Answer) -> Result<(), WatchError> {
        let idle = Duration::from_secs(watch_timeout(&self.spec).into()) + IDLE_MARGIN;
        let mut line = Vec::new();
        let limit = u64::try_from(OBJECT_BYTES).unwrap_or(u64::MAX);
        let mut lines = (&mut answer).take(limit);
        let read = tokio::time::timeout(idle, lines.read_until(b'\n', &mut line));
        let read = read.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let read = read.map_err(|error| WatchError::Watch(kube::Error::ReadEvents(error)))?;
        if read == 0 {
            return Ok(());
        }
        if !line.trim_ascii().is_empty() {
            let Some(item) = event(&line.into())? else { return Ok(()) };
            self.ready.push_back(item);
        }
        self.next = Next::Changes(answer);
        Ok(())
    }
}

/// After how many seconds the API server ends a watch.
pub(super) fn watch_timeout(spec: &SourceSpec) -> u32 {
    spec.watch_timeout.unwrap_or(WATCH_TIMEOUT)
}

/// The empty version means any: a watch from there does not continue.
fn version(text: Option<&str>) -> Result<ResourceVersion, WatchError> {
    let text = text.filter(|text| !text.is_empty());
    text.map(ResourceVersion::from).ok_or(WatchError::NoResourceVersion)
}

/// One event; `None` for a line that was cut off, as where the API server ends.
fn event(line: &Bytes) -> Result<Option<WatchItem<Bytes>>, WatchError> {
    let failed = |error| WatchError::Watch(kube::Error::SerdeError(error));
    let Event { r#type, object } = match serde_json::from_slice(line) {
        Ok(event) => event,
        Err(error) if error.is_eof() && !line.ends_with(b"\n") && line.len() < OBJECT_BYTES => {
            return Ok(None);
        }
        Err(error) => return Err(WatchError::Watch(unreadable(line, error))),
    };
    let text = || line.slice_ref(object.get().as_bytes());
    Ok(Some(match r#type {
        EventType::Added | EventType::Modified => WatchItem::Applied(text()),
        EventType::Deleted => WatchItem::Deleted(text()),
        EventType::Bookmark => {
            let Head { metadata } = serde_json::from_str(object.get()).map_err(failed)?;
            WatchItem::Bookmark(version(metadata.resource_version.as_deref())?)
        }
        EventType::Error => {
            let status: Status = serde_json::from_str(object.get()).map_err(failed)?;
            return Err(WatchError::Watch(kube::Error::Api(status.boxed())));
        }
    }))
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::ready;

    use futures::TryStreamExt as _;
    use http::Response;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Client;
    use kube::client::Body;
    use parking_lot::Mutex;
    use prometheus::HistogramOpts;
    use serde_json::json;

    use super::*;

    /// The items of a list that is one page with these objects, up to the first watch.
    async fn items(objects: &[serde_json::Value]) -> Vec<WatchItem<ConfigMap>> {
        let page = json!({"metadata": {"resourceVersion": "9"}, "items": objects}).to_string();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let watches = request.uri().to_string().contains("watch=true");
            let body = if watches { Vec::new() } else { page.clone().into_bytes() };
            ready(Ok::<_, Infallible>(Response::new(Body::from(body))))
        });
        let events = read_with(Client::new(service, "default"), None);
        let lists = |item: &WatchItem<_>| !matches!(item, WatchItem::WatchStarted);
        events.take_while(|item| ready(lists(item))).collect().await
    }

    fn read_with(client: Client, from: Option<&str>) -> Events<ConfigMap> {
        let decoding = Histogram::with_opts(HistogramOpts::new("decoding", "Decoding.")).unwrap();
        let options = ReadOptions { page_size: 500, decoding };
        let from = from.map(ResourceVersion::from);
        open(&SourceSpec::new(client), &options, from.as_ref(), &Server::default())
    }

    /// What comes of a watch from version 9 whose answer has this name of a server, and of a list then.
    async fn watched(server: &Server, name: &'static str) -> Vec<&'static str> {
        let service = tower::service_fn(move |_: http::Request<Body>| {
            let answer = Response::builder().header("x-kubernetes-pf-flowschema-uid", name);
            ready(answer.body(Body::empty()))
        });
        let spec = SourceSpec::new(Client::new(service, "default"));
        let decoding = Histogram::with_opts(HistogramOpts::new("decoding", "Decoding.")).unwrap();
        let options = ReadOptions { page_size: 500, decoding };
        let items = open::<ConfigMap>(&spec, &options, Some(&"9".into()), server);
        let named = |item: WatchItem<ConfigMap>| match item {
            WatchItem::Requested => "requested",
            WatchItem::WatchStarted => "started",
            WatchItem::ServerChanged => "changed",
            WatchItem::Failed(WatchError::OtherServer) => "failed",
            _ => "more",
        };
        items.map(named).collect().await
    }

    #[tokio::test]
    async fn a_watch_does_not_continue_with_another_server() {
        let server = Server::default();
        for _ in 0..2 {
            assert_eq!(watched(&server, "a").await, ["requested", "started"]);
        }
        assert_eq!(watched(&server, "b").await, ["requested", "changed", "failed"]);
        assert_eq!(watched(&server, "b").await, ["requested", "started"]);
    }

    /// A cache that does not know the token answers with the page that it has.
    #[tokio::test]
    async fn a_page_that_is_followed_by_itself_ends_the_list() {
        let page = json!({"metadata": {"resourceVersion": "9", "continue": "more"}, "items": [{"metadata": {"name": "a"}}]});
        let page = page.to_string();
        let service = tower::service_fn(move |_: http::Request<Body>| {
            ready(Ok::<_, Infallible>(Response::new(Body::from(page.clone().into_bytes()))))
        });
        let items: Vec<_> = read_with(Client::new(service, "default"), None).collect().await;
        assert!(matches!(items.last(), Some(WatchItem::Failed(WatchError::List(_)))), "{items:?}");
        let count = items.iter().filter(|item| matches!(item, WatchItem::Listed(_))).count();
        assert_eq!(count, 2, "{items:?}");
    }

    /// The connection goes on, and nothing more comes.
    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_decoded_ends_a_watch_at_once() {
        let line = "{\"type\":\"ADDED\",\"object\":{\"metadata\":7}}\n";
        let begun = tokio::time::Instant::now();
        let more = stream::pending::<Result<Bytes, Infallible>>();
        let body = stream::once(ready(Ok(Bytes::from(line)))).chain(more);
        let body = Mutex::new(Some(StreamBody::new(body.map_ok(Frame::data))));
        let service = tower::service_fn(move |_: http::Request<Body>| {
            ready(Ok::<_, Infallible>(Response::new(body.lock().take().unwrap())))
        });
        let items: Vec<_> = read_with(Client::new(service, "default"), Some("9")).collect().await;
        assert!(matches!(items.last(), Some(WatchItem::Failed(WatchError::Watch(_)))), "{items:?}");
        assert!(begun.elapsed() < Duration::from_secs(1));
    }

    #[tokio::test]
    async fn a_page_is_decoded_in_turns_of_some_bytes() {
        const BYTES: usize = 64 << 10;
        let object = |at: usize| json!({"metadata": {"name": format!("o{at}")}, "data": {"text": "x".repeat(BYTES)}});
        let items = items(&(0..48).map(object).collect::<Vec<_>>()).await;
        let turns: Vec<usize> = items
            .split(|item| matches!(item, WatchItem::Progress))
            .map(|turn| turn.iter().filter(|item| matches!(item, WatchItem::Listed(_))).count())
            .filter(|listed| *listed > 0)
            .collect();
        assert_eq!(turns, [4; 12], "objects in each turn");
    }

    #[tokio::test]
    async fn a_list_with_an_object_that_is_none_is_not_completed() {
        let items = items(&[json!({"metadata": {"name": "a"}}), json!(7), json!({})]).await;
        assert!(matches!(items.last(), Some(WatchItem::Failed(WatchError::List(_)))), "{items:?}");
        assert!(!items.iter().any(|item| matches!(item, WatchItem::ListCompleted(_))), "{items:?}");
    }
}
