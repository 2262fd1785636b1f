use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use bytes::Bytes;
use fleet_api::ObjectName;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use prometheus::{Histogram, HistogramOpts};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Duration, timeout};

use super::{SelectedFeed, Selection};
use crate::SourceSpec;
use crate::source::feed::{Events, Feed as _, ReadOptions, WatchItem};

/// An API server that answers lists at once and watches with what a test sets; by the field selector.
#[derive(Default)]
struct Answers {
    lists: BTreeMap<String, Vec<Value>>,
    forbidden: BTreeSet<String>,
    watches: BTreeMap<String, Vec<Value>>,
    asked: Vec<String>,
    /// Which server it is; none if empty.
    name: &'static str,
    /// Whether its watches go on.
    lasting: bool,
}

type Server = Arc<Mutex<Answers>>;

fn selection(name: &str) -> Selection {
    Selection::named(&ObjectName::new("shop", name))
}

fn object(name: &str, version: &str) -> Value {
    json!({ "metadata": { "namespace": "shop", "name": name, "uid": name, "resourceVersion": version } })
}

fn whole(answer: &Value) -> UnsyncBoxBody<Bytes, Infallible> {
    Full::from(answer.to_string()).boxed_unsync()
}

fn serve(server: &Server) -> Client {
    let (service, mut handle) =
        tower_test::mock::pair::<Request<Body>, Response<UnsyncBoxBody<Bytes, Infallible>>>();
    let server = Arc::clone(server);
    tokio::spawn(async move {
        while let Some((request, reply)) = handle.next_request().await {
            let uri = request.uri().to_string();
            let name = uri.split("metadata.name%3D").nth(1).unwrap_or_default();
            let name = name.split('&').next().unwrap_or_default().to_owned();
            let is_watch = uri.contains("watch=true");
            let mut answers = server.lock();
            answers.asked.push(format!("{}{name}", if is_watch { "watch " } else { "list " }));
            let response = if answers.forbidden.contains(&name) {
                let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {},
                    "status": "Failure", "message": "no", "reason": "Forbidden", "code": 403 });
                Response::builder().status(403).body(whole(&status))
            } else if is_watch {
                let lines = answers.watches.remove(&name).unwrap_or_default();
                let text: String =
                    lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
                let response =
                    Response::builder().header("x-kubernetes-pf-flowschema-uid", answers.name);
                let first = stream::once(ready(Ok::<_, Infallible>(Bytes::from(text))));
                let rest = if answers.lasting {
                    stream::pending().boxed()
                } else {
                    stream::empty().boxed()
                };
                response.body(StreamBody::new(first.chain(rest).map_ok(Frame::data)).boxed_unsync())
            } else {
                let items = answers.lists.get(&name).cloned().unwrap_or_default();
                let list = json!({ "metadata": { "resourceVersion": "10" }, "items": items });
                Response::builder().body(whole(&list))
            };
            drop(answers);
            reply.send_response(response.unwrap());
        }
    });
    Client::new(service, "default")
}

struct Reader {
    events: Events<ConfigMap>,
    selections: watch::Sender<BTreeSet<Selection>>,
    feed: SelectedFeed<ConfigMap>,
    options: ReadOptions,
}

impl Reader {
    fn new(server: &Server, names: &[&str]) -> Self {
        let (selections, receiver) =
            watch::channel(names.iter().map(|name| selection(name)).collect());
        let mut feed = SelectedFeed::new(SourceSpec::new(serve(server)), receiver);
        let decoding = Histogram::with_opts(HistogramOpts::new("decoding", "unused")).unwrap();
        let options = ReadOptions { page_size: 10, decoding };
        Self { events: feed.open(&options, None), selections, feed, options }
    }

    /// The next item that is about objects.
    async fn next(&mut self) -> String {
        let name = |object: &ConfigMap| object.metadata.name.clone().unwrap();
        loop {
            let item = timeout(Duration::from_mins(2), self.events.next()).await.unwrap();
            return match item {
                Some(WatchItem::ListStarted) => "list".to_owned(),
                Some(WatchItem::Listed(object)) => format!("listed {}", name(&object)),
                Some(WatchItem::ListCompleted(version)) => format!("complete {version}"),
                Some(WatchItem::Applied(object)) => format!("applied {}", name(&object)),
                Some(WatchItem::Deleted(object)) => format!("deleted {}", name(&object)),
                Some(WatchItem::Failed(_)) => "failed".to_owned(),
                Some(WatchItem::Bookmark(_)) => "bookmark".to_owned(),
                Some(_) => continue,
                None => "end".to_owned(),
            };
        }
    }

    async fn next_of(&mut self, count: usize) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for _ in 0..count {
            all.insert(self.next().await);
        }
        all
    }
}

fn set<const N: usize>(texts: [&str; N]) -> BTreeSet<String> {
    texts.into_iter().map(str::to_owned).collect()
}

fn server(lists: &[(&str, &[Value])]) -> Server {
    let lists = lists.iter().map(|(name, items)| ((*name).to_owned(), items.to_vec())).collect();
    Arc::new(Mutex::new(Answers { lists, ..Answers::default() }))
}

#[tokio::test(start_paused = true)]
async fn the_list_is_complete_when_every_selection_was_read() {
    let server = server(&[("a", &[object("a", "3")])]);
    let mut reader = Reader::new(&server, &["a", "b"]);
    assert_eq!(reader.next().await, "list");
    let expected = set(["listed a", "listed shop/metadata.name=a", "listed shop/metadata.name=b"]);
    assert_eq!(reader.next_of(3).await, expected);
    assert_eq!(reader.next().await, "complete 10");
}

#[tokio::test(start_paused = true)]
async fn nothing_selected_is_a_list_of_nothing() {
    let server = server(&[]);
    let mut reader = Reader::new(&server, &[]);
    assert_eq!(reader.next().await, "list");
    assert_eq!(reader.next().await, "complete 1");
    reader.selections.send_replace(BTreeSet::from([selection("late")]));
    assert_eq!(reader.next().await, "applied shop/metadata.name=late");
}

/// A selection that comes later is marked after its objects; one that goes takes them along.
#[tokio::test(start_paused = true)]
async fn selections_come_and_go() {
    let server = server(&[("a", &[object("a", "3")]), ("b", &[object("b", "4")])]);
    let mut reader = Reader::new(&server, &["a"]);
    reader.next_of(4).await;
    reader.selections.send_replace(BTreeSet::from([selection("a"), selection("b")]));
    assert_eq!(reader.next().await, "applied b");
    assert_eq!(reader.next().await, "applied shop/metadata.name=b");
    reader.selections.send_replace(BTreeSet::from([selection("b")]));
    assert_eq!(reader.next().await, "deleted shop/metadata.name=a");
    assert_eq!(reader.next().await, "deleted a");
}

#[tokio::test(start_paused = true)]
async fn a_selection_that_is_forbidden_stops_no_other() {
    let server = server(&[("a", &[object("a", "3")]), ("s", &[object("s", "5")])]);
    server.lock().forbidden.insert("s".to_owned());
    let mut reader = Reader::new(&server, &["a", "s"]);
    assert_eq!(reader.next().await, "list");
    let expected = set(["listed a", "listed shop/metadata.name=a", "complete 10"]);
    assert_eq!(reader.next_of(3).await, expected);
    server.lock().forbidden.clear();
    assert_eq!(reader.next().await, "applied s");
    assert_eq!(reader.next().await, "applied shop/metadata.name=s");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_goes_on_from_where_it_was() {
    let server = server(&[("a", &[])]);
    let event = json!({ "type": "ADDED", "object": object("a", "12") });
    server.lock().watches.insert("a".to_owned(), vec![event]);
    let mut reader = Reader::new(&server, &["a"]);
    assert_eq!(reader.next_of(3).await.len(), 3);
    assert_eq!(reader.next().await, "applied a");
    let gone = json!({ "type": "DELETED", "object": object("a", "14") });
    server.lock().watches.insert("a".to_owned(), vec![gone]);
    assert_eq!(reader.next().await, "deleted a");
    assert_eq!(server.lock().asked.iter().filter(|asked| *asked == "list a").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_does_not_go_on_with_another_server() {
    let server = server(&[("a", &[])]);
    server.lock().name = "first";
    let mut reader = Reader::new(&server, &["a"]);
    assert_eq!(reader.next_of(3).await.len(), 3);
    // The first one is that of the list.
    for _ in 0..2 {
        while !matches!(reader.events.next().await, Some(WatchItem::WatchStarted)) {}
    }
    server.lock().name = "second";
    // Without it, watches would follow each other for ever.
    let failed = timeout(Duration::from_secs(10), reader.next()).await;
    assert_eq!(failed.as_deref(), Ok("failed"));
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// As where an agent ends: what there is stays, and costs nothing.
#[tokio::test(start_paused = true)]
async fn selections_that_cannot_change_any_more_cost_nothing() {
    let server = server(&[("a", &[])]);
    server.lock().lasting = true;
    let mut reader = Reader::new(&server, &["a"]);
    assert_eq!(reader.next_of(3).await.len(), 3);
    reader.selections = watch::channel(BTreeSet::new()).0;
    while tokio::time::timeout(Duration::from_secs(1), reader.events.next()).await.is_ok() {}
    let count = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&count));
    assert!(reader.events.poll_next_unpin(&mut Context::from_waker(&waker)).is_pending());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(count.0.load(Ordering::Relaxed), 0);
}

/// Which version each of them has reached is not known after a failure.
#[tokio::test(start_paused = true)]
async fn after_a_failure_all_is_listed() {
    let server = server(&[("a", &[object("a", "3")])]);
    let expired = json!({ "type": "ERROR", "object": { "kind": "Status", "apiVersion": "v1",
        "metadata": {}, "status": "Failure", "message": "old", "reason": "Expired", "code": 410 } });
    server.lock().watches.insert("a".to_owned(), vec![expired]);
    let mut reader = Reader::new(&server, &["a"]);
    reader.next_of(4).await;
    assert_eq!(reader.next().await, "failed");
    assert_eq!(reader.next().await, "end");
    reader.events = reader.feed.open(&reader.options, Some(&"12".into()));
    assert_eq!(reader.next().await, "list");
    assert_eq!(reader.next().await, "listed a");
}

#[test]
fn markers_have_names_that_no_object_has() {
    assert_eq!(&*Selection::of_node("fleet-west").marker().name, "spec.nodeName=fleet-west");
    assert_eq!(selection("a").marker(), ObjectName::cluster("shop/metadata.name=a"));
}
