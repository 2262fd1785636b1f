//! The real feed, against an API server that is a function.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fleet_accumulator::{Accumulator, Config, Snapshot as _, SourceInfo, SourceSpec, Tracked};
use fleet_api::{ObjectName, ResourceKind};
use http::{HeaderValue, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::{Thing, World, local, name};

/// How a request for the newest version alone ends.
const NEWEST: &str = "limit=1";
/// How an API server orders a request.
const FLOW_SCHEMA: &str = "x-kubernetes-pf-flowschema-uid";

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// An API server with one page of two objects, then another with one, and a watch fed by hand.
struct Server {
    client: Client,
    requests: mpsc::UnboundedReceiver<String>,
    watch: mpsc::UnboundedSender<Value>,
    kind_exists: Arc<AtomicBool>,
}

fn object(name: &str, version: u64, text: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"text": text},
        "metadata": {"namespace": "team", "name": name, "uid": name,
                     "resourceVersion": version.to_string(),
                     "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:data": {}}}]}
    })
}

fn answer(code: u16, body: &Value) -> Answer {
    let body = Full::from(serde_json::to_vec(body).unwrap()).boxed_unsync();
    Response::builder().status(code).body(body).unwrap()
}

fn server() -> Server {
    let (sent, requests) = mpsc::unbounded_channel();
    let (watch, events) = mpsc::unbounded_channel::<Value>();
    let events = Arc::new(tokio::sync::Mutex::new(events));
    let kind_exists = Arc::new(AtomicBool::new(true));
    let exists = Arc::clone(&kind_exists);
    let service = tower::service_fn(move |request: Request<Body>| {
        let uri = request.uri().to_string();
        let _ = sent.send(uri.clone());
        let events = Arc::clone(&events);
        let exists = exists.load(Ordering::Relaxed);
        async move {
            let response = if uri.starts_with("/api/v1/namespaces/kube-system") {
                answer(200, &json!({"metadata": {"name": "kube-system", "uid": "cluster"}}))
            } else if uri == "/api/v1" {
                let resources = if exists {
                    json!([{"name": "configmaps", "singularName": "", "namespaced": true,
                            "kind": "ConfigMap", "verbs": ["create", "list"]}])
                } else {
                    json!([])
                };
                answer(200, &json!({"groupVersion": "v1", "resources": resources}))
            } else if !exists {
                answer(404, &json!({"kind": "Status", "status": "Failure", "code": 404}))
            } else if uri.contains("watch=true") {
                let lines = futures::stream::unfold(events, async |events| {
                    let event = events.lock().await.recv().await?;
                    let line = Bytes::from(format!("{event}\n"));
                    Some((Ok::<_, Infallible>(Frame::data(line)), events))
                });
                Response::new(StreamBody::new(lines).boxed_unsync())
            } else if uri.contains("continue=more") {
                answer(
                    200,
                    &json!({"kind": "ConfigMapList", "apiVersion": "v1",
                    "metadata": {"resourceVersion": "10"}, "items": [object("c", 3, "x")]}),
                )
            } else {
                answer(
                    200,
                    &json!({"kind": "ConfigMapList", "apiVersion": "v1",
                    "metadata": {"resourceVersion": "10", "continue": "more"},
                    "items": [object("a", 1, "x"), object("b", 2, "x")]}),
                )
            };
            Ok::<_, Infallible>(response)
        }
    });
    Server { client: Client::new(service, "default"), requests, watch, kind_exists }
}

#[tokio::test]
async fn lists_in_pages_from_the_newest_state_then_watches() {
    let mut server = server();
    let (token, tasks) = (CancellationToken::new(), TaskTracker::new());
    let spec = SourceSpec::new(server.client.clone())
        .namespace("team")
        .labels("app=shop")
        .watch_timeout(45);
    let config = Config { page_size: 2, ..Config::default() };
    let feeds = |_: &SourceInfo| spec.clone();
    let accumulator = Accumulator::<World>::start(&config, local(), &feeds, &token, &tasks);
    let mut cursor = accumulator.cursor(local());
    let step = cursor.next().await.unwrap();
    assert_eq!(step.new.things.len(), 3);
    cursor.commit(step);

    let first = server.requests.recv().await.unwrap();
    assert!(first.starts_with("/api/v1/namespaces/team/configmaps?"), "{first}");
    assert!(first.contains("limit=2") && first.contains("labelSelector=app%3Dshop"), "{first}");
    assert!(!first.contains("resourceVersion"), "from the newest state: {first}");
    assert!(server.requests.recv().await.unwrap().contains("continue=more"));
    let watch = server.requests.recv().await.unwrap();
    assert!(watch.contains("watch=true") && watch.contains("resourceVersion=10"), "{watch}");
    assert!(watch.contains("timeoutSeconds=45"), "{watch}");

    server.watch.send(json!({"type": "ADDED", "object": object("d", 11, "new")})).unwrap();
    let step = cursor.next().await.unwrap();
    assert_eq!(step.new.things.get(&name("d")).unwrap().text, "new");
    token.cancel();
    tasks.close();
    tokio::time::timeout(Duration::from_secs(1), tasks.wait()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_is_found_once_it_is() {
    let server = server();
    server.kind_exists.store(false, Ordering::Relaxed);
    let (token, tasks) = (CancellationToken::new(), TaskTracker::new());
    let feeds = |_: &SourceInfo| SourceSpec::new(server.client.clone());
    let accumulator =
        Accumulator::<World>::start(&Config::default(), local(), &feeds, &token, &tasks);
    let missing = async {
        while accumulator.snapshot().things.state().as_str() != "missing" {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), missing).await.unwrap();
    assert!(accumulator.blocking(local())[0].ends_with("the kind is not served"));
    server.kind_exists.store(true, Ordering::Relaxed);
    let mut cursor = accumulator.cursor(local());
    assert_eq!(cursor.next().await.unwrap().new.things.len(), 3);
    token.cancel();
}

/// An API server whose lists are empty and whose watches return what `watch` returns, then end. It orders requests by namespace.
fn scripted(watch: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Script {
    let (sent, requests) = mpsc::unbounded_channel();
    let watch = Arc::new(watch);
    let service = tower::service_fn(move |request: Request<Body>| {
        let uri = request.uri().to_string();
        let response = if !uri.contains("configmaps") {
            answer(404, &json!({}))
        } else if uri.contains("watch=true") {
            watch(&uri)
        } else {
            let is_newest = uri.ends_with(NEWEST);
            let (version, items) =
                if is_newest { ("99", json!([object("a", 99, "x")])) } else { ("10", json!(null)) };
            let list = json!({"metadata": {"resourceVersion": version}, "items": items});
            let mut response = answer(200, &list);
            let place = if uri.contains("/namespaces/") { "of-a-namespace" } else { "of-all" };
            response.headers_mut().insert(FLOW_SCHEMA, HeaderValue::from_static(place));
            response
        };
        let _ = sent.send(uri);
        std::future::ready(Ok::<_, Infallible>(response))
    });
    Script { client: Client::new(service, "default"), requests }
}

struct Script {
    client: Client,
    requests: mpsc::UnboundedReceiver<String>,
}

impl Script {
    /// From which version the next watch continues; `None` for a list.
    async fn next(&mut self) -> Option<String> {
        loop {
            let uri = self.requests.recv().await.unwrap();
            let Some((path, query)) = uri.split_once('?') else { continue };
            // A question about the newest version alone.
            if path.ends_with("configmaps") && !query.ends_with(NEWEST) {
                let version =
                    query.split('&').find_map(|pair| pair.strip_prefix("resourceVersion="));
                return version.map(str::to_owned);
            }
        }
    }
}

fn lines(events: &[Value]) -> Answer {
    let lines = events.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
    Response::new(Full::from(lines).boxed_unsync())
}

fn start(script: &Script, token: &CancellationToken) -> Accumulator<World> {
    let feeds = |_: &SourceInfo| SourceSpec::new(script.client.clone());
    let tasks = TaskTracker::new();
    Accumulator::start(&Config::default(), local(), &feeds, token, &tasks)
}

/// Before a watch goes on: of the object that has changed last, which is asked for alone.
#[tokio::test(start_paused = true)]
async fn one_object_shows_whether_a_watch_can_go_on() {
    let mut script = scripted(|_| {
        let event = |name, version| json!({"type": "ADDED", "object": object(name, version, "x")});
        lines(&[event("a", 11), event("c", 12), event("b", 13)])
    });
    let token = CancellationToken::new();
    let _accumulator = start(&script, &token);
    let asked = loop {
        let uri = script.requests.recv().await.unwrap();
        if uri.ends_with(NEWEST) {
            break uri;
        }
    };
    assert_eq!(
        asked,
        "/api/v1/namespaces/team/configmaps?&fieldSelector=metadata.name%3Db&limit=1"
    );
    assert_eq!(script.next().await, None, "it is not there: only a list shows what is");
    token.cancel();
}

#[tokio::test(start_paused = true)]
async fn a_watch_continues_after_what_it_has_shown() {
    let mut script = scripted(|uri| {
        let event =
            |kind: &str, version| json!({"type": kind, "object": object("a", version, "x")});
        if uri.contains("resourceVersion=10") {
            lines(&[event("ADDED", 11), event("MODIFIED", 12)])
        } else if uri.contains("resourceVersion=12") {
            lines(&[event("DELETED", 13)])
        } else {
            let metadata = json!({"resourceVersion": "20"});
            let bookmark = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata});
            lines(&[json!({"type": "BOOKMARK", "object": bookmark})])
        }
    });
    let token = CancellationToken::new();
    let accumulator = start(&script, &token);
    for wanted in [None, Some("10"), Some("12"), Some("13"), Some("20"), Some("20")] {
        assert_eq!(script.next().await.as_deref(), wanted);
    }
    assert!(accumulator.snapshot().things.is_empty());
    token.cancel();
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_history_is_listed_again() {
    let mut script = scripted(|_| {
        let status =
            json!({"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410});
        lines(&[json!({"type": "ERROR", "object": status})])
    });
    let token = CancellationToken::new();
    let accumulator = start(&script, &token);
    for wanted in [None, Some("10"), None, Some("10"), None] {
        assert_eq!(script.next().await.as_deref(), wanted);
    }
    assert!(accumulator.snapshot().things.bootstrapped());
    token.cancel();
}

#[tokio::test(start_paused = true)]
async fn an_event_without_a_version_or_that_cannot_be_read_is_listed_again() {
    for object in [json!({"metadata": {"name": "a"}, "data": {"text": "x"}}), json!(7)] {
        let mut script =
            scripted(move |_| lines(&[json!({"type": "ADDED", "object": object.clone()})]));
        let token = CancellationToken::new();
        let accumulator = start(&script, &token);
        for wanted in [None, Some("10"), None] {
            assert_eq!(script.next().await.as_deref(), wanted);
        }
        assert!(accumulator.snapshot().things.is_empty());
        token.cancel();
    }
}

/// A watch that lives longer than the API server lets it live has lost its connection.
#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_replaced() {
    let silence =
        || StreamBody::new(futures::stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let mut script = scripted(move |_| Response::new(silence().boxed_unsync()));
    let token = CancellationToken::new();
    let _accumulator = start(&script, &token);
    let begun = tokio::time::Instant::now();
    for wanted in [None, Some("10")] {
        assert_eq!(script.next().await.as_deref(), wanted);
    }
    // What answers next may be an API server of another time.
    while !script.requests.recv().await.unwrap().ends_with(NEWEST) {}
    assert_eq!(script.next().await.as_deref(), Some("10"));
    let after = begun.elapsed().as_secs();
    assert!((295..=296).contains(&after), "after {after} s");
    token.cancel();
}

/// An API server whose lists are all the same, and whose watches are silent.
fn listing(list: Value) -> Script {
    let (sent, requests) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |request: Request<Body>| {
        let uri = request.uri().to_string();
        let response = if uri.contains("watch=true") {
            let silence = futures::stream::pending::<Result<Frame<Bytes>, Infallible>>();
            Response::new(StreamBody::new(silence).boxed_unsync())
        } else {
            answer(200, &list)
        };
        let _ = sent.send(uri);
        std::future::ready(Ok::<_, Infallible>(response))
    });
    Script { client: Client::new(service, "default"), requests }
}

/// Why the source of `script` was not listed after a while.
async fn blocking(script: &Script) -> String {
    let token = CancellationToken::new();
    let accumulator = start(script, &token);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let blocking = accumulator.blocking(local());
    token.cancel();
    blocking.concat()
}

#[tokio::test(start_paused = true)]
async fn a_list_without_a_version_is_a_failure() {
    let blocking = blocking(&listing(json!({"metadata": {}, "items": []}))).await;
    assert!(blocking.contains("not listed yet (no resourceVersion"), "{blocking}");
}

/// The difference is a view that loses all its objects.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_list_is_not_an_empty_list() {
    let table = json!({"kind": "Table", "metadata": {"resourceVersion": "10"}, "rows": []});
    let blocking = blocking(&listing(table)).await;
    assert!(blocking.contains("missing field `items`"), "{blocking}");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_in_an_answer_of_success_is_a_refusal() {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": "no rights", "reason": "Forbidden", "code": 403});
    let list = blocking(&listing(status.clone())).await;
    assert!(list.contains("list is forbidden") && list.contains("no rights"), "{list}");
    let watch = blocking(&scripted(move |_| lines(std::slice::from_ref(&status)))).await;
    assert!(watch.contains("watch is forbidden") && watch.contains("no rights"), "{watch}");
}

/// A watch from no version begins with what there is now, and shows no deletion before that.
#[tokio::test(start_paused = true)]
async fn a_bookmark_without_a_version_is_listed_again() {
    let metadata = json!({"resourceVersion": ""});
    let bookmark = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata});
    let event = json!({"type": "BOOKMARK", "object": bookmark});
    let mut script = scripted(move |_| lines(std::slice::from_ref(&event)));
    let token = CancellationToken::new();
    let _accumulator = start(&script, &token);
    for wanted in [None, Some("10"), None] {
        assert_eq!(script.next().await.as_deref(), wanted);
    }
    token.cancel();
}

/// What happened between two pages that show different versions is not in the first one.
#[tokio::test(start_paused = true)]
async fn a_watch_continues_from_the_first_page_of_a_list() {
    let (sent, requests) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |request: Request<Body>| {
        let uri = request.uri().to_string();
        let metadata = if uri.contains("continue=more") {
            json!({"resourceVersion": "12"})
        } else {
            json!({"resourceVersion": "10", "continue": "more"})
        };
        let response = answer(200, &json!({"metadata": metadata, "items": []}));
        let _ = sent.send(uri);
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let mut script = Script { client: Client::new(service, "default"), requests };
    let token = CancellationToken::new();
    let _accumulator = start(&script, &token);
    for wanted in [None, None, Some("10")] {
        assert_eq!(script.next().await.as_deref(), wanted);
    }
    token.cancel();
}

fleet_accumulator::wire! {
    struct Marks as metadata of ConfigMap {}
}

/// The name of a `ConfigMap`, and nothing else.
#[derive(Debug, PartialEq)]
struct Mark;

impl Tracked for Mark {
    const KIND: ResourceKind = <Thing as Tracked>::KIND;
    type Wire = Marks;
    type Index = ();

    fn project(_: Marks) -> Result<Self, String> {
        Ok(Self)
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

fleet_accumulator::views! {
    struct MarkWorld {
        /// Of the own cluster.
        local marks: Mark,
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_kind_of_which_only_metadata_is_kept_the_server_is_asked_for_no_more() {
    let (sent, mut accepted) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |request: Request<Body>| {
        let accept = request.headers().get(http::header::ACCEPT).cloned();
        if request.uri().path().ends_with("configmaps") {
            let _ = sent.send(accept.map(|accept| accept.to_str().unwrap().to_owned()));
        }
        let list = answer(200, &json!({"metadata": {"resourceVersion": "10"}, "items": []}));
        std::future::ready(Ok::<_, Infallible>(list))
    });
    let client = Client::new(service, "default");
    let feeds = |_: &SourceInfo| SourceSpec::new(client.clone());
    let (token, tasks) = (CancellationToken::new(), TaskTracker::new());
    let _accumulator = Accumulator::<MarkWorld>::start(
        &Config::default(),
        MarkWorld::all(),
        &feeds,
        &token,
        &tasks,
    );
    let list = accepted.recv().await.unwrap().unwrap();
    assert!(list.contains("as=PartialObjectMetadataList;"), "{list}");
    let watch = accepted.recv().await.unwrap().unwrap();
    assert!(watch.contains("as=PartialObjectMetadata;"), "{watch}");
    token.cancel();
}

/// The limits of the pages of a list, until it is complete. `bytes` is how much text each object has.
async fn limits_of_a_list(objects: u64, bytes: impl Fn(u64) -> usize + Send + 'static) -> Vec<u64> {
    let (sent, mut limits) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |request: Request<Body>| {
        let uri = request.uri().to_string();
        let value = |key: &str| {
            let query = request.uri().query()?;
            query.split('&').find_map(|pair| pair.strip_prefix(key)?.parse::<u64>().ok())
        };
        let response = if !uri.contains("configmaps") || uri.contains("watch=true") {
            answer(404, &json!({}))
        } else {
            let (limit, from) = (value("limit=").unwrap(), value("continue=").unwrap_or(0));
            let _ = sent.send(limit);
            let end = objects.min(from + limit);
            let of = |at| object(&format!("o{at}"), at + 1, &"x".repeat(bytes(at)));
            let items: Vec<_> = (from..end).map(of).collect();
            let more = (end < objects).then(|| end.to_string());
            let metadata = json!({"resourceVersion": "9999", "continue": more});
            answer(200, &json!({"metadata": metadata, "items": items}))
        };
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let client = Client::new(service, "default");
    let feeds = |_: &SourceInfo| SourceSpec::new(client.clone());
    let (token, tasks) = (CancellationToken::new(), TaskTracker::new());
    let accumulator =
        Accumulator::<World>::start(&Config::default(), local(), &feeds, &token, &tasks);
    let step = accumulator.cursor(local()).next().await.unwrap();
    assert_eq!(step.new.things.len() as u64, objects);
    token.cancel();
    limits.close();
    let mut seen = Vec::new();
    while let Some(limit) = limits.recv().await {
        seen.push(limit);
    }
    seen
}

/// A list of large objects would not fit into the memory that an agent may have.
#[tokio::test(start_paused = true)]
async fn pages_that_are_too_large_are_requested_with_fewer_objects() {
    let limits = limits_of_a_list(20, |_| 1 << 20).await;
    assert_eq!(limits[..5], [500, 125, 31, 7, 1]);
}

/// A large object of a user costs some requests, and not one for each object after it.
#[tokio::test(start_paused = true)]
async fn after_a_large_object_pages_become_longer_again() {
    let limits = limits_of_a_list(2000, |at| if at == 40 { 5 << 20 } else { 8 }).await;
    assert!(limits.len() < 30, "{limits:?}");
    // Each time 4 MB were read for nothing.
    let dropped = limits.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert_eq!(dropped, 4, "{limits:?}");
    assert_eq!(limits.last(), Some(&500), "{limits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_asks_for_a_pause_gets_it() {
    let began = tokio::time::Instant::now();
    let service = tower::service_fn(move |request: Request<Body>| {
        let response = if request.uri().path().ends_with("configmaps") {
            let busy = began.elapsed() < Duration::from_secs(1);
            if busy {
                let body = Full::from("Too many requests, please try again later.").boxed_unsync();
                let response = Response::builder().status(429).header("Retry-After", "17");
                response.body(body).unwrap()
            } else {
                answer(200, &json!({"metadata": {"resourceVersion": "1"}, "items": []}))
            }
        } else {
            answer(404, &json!({}))
        };
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let feeds = |_: &SourceInfo| SourceSpec::new(Client::new(service, "default"));
    let (token, tasks) = (CancellationToken::new(), TaskTracker::new());
    let accumulator =
        Accumulator::<World>::start(&Config::default(), local(), &feeds, &token, &tasks);
    let mut cursor = accumulator.cursor(local());
    cursor.next().await.unwrap();
    let after = began.elapsed().as_secs();
    assert!((17..20).contains(&after), "after {after} s");
    token.cancel();
}

#[tokio::test(start_paused = true)]
async fn discovery_that_asks_for_a_pause_gets_it() {
    let (sent, mut asked) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |request: Request<Body>| {
        let response = if request.uri().path() == "/api/v1" {
            let _ = sent.send(tokio::time::Instant::now());
            let body = Full::from("Too many requests, please try again later.").boxed_unsync();
            let response = Response::builder().status(429).header("Retry-After", "17");
            response.body(body).unwrap()
        } else {
            answer(404, &json!({"kind": "Status", "status": "Failure", "code": 404}))
        };
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let client = Client::new(service, "default");
    let feeds = |_: &SourceInfo| SourceSpec::new(client.clone());
    let (token, tasks) = (CancellationToken::new(), TaskTracker::new());
    let _accumulator =
        Accumulator::<World>::start(&Config::default(), local(), &feeds, &token, &tasks);
    let first = asked.recv().await.unwrap();
    let after = asked.recv().await.unwrap().duration_since(first).as_secs();
    assert!((17..20).contains(&after), "after {after} s");
    token.cancel();
}
