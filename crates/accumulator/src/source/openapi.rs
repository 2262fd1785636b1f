//! The API server's description of the kinds of a group, as a source with one object: its `OpenAPI` document (version
//! 3).
//!
//! Every authenticated client may read it, while definitions of kinds take a right of their own. The index of all
//! documents names each by a hash of its content: a look costs one small answer, and a document is read when its name
//! has changed.

use std::borrow::Cow;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use http::Request;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ClusterResourceScope;
use kube::runtime::watcher::{Error, Event};
use kube::{Client, Resource};
use serde::Deserialize;
use serde_json::Value;

use super::feed::{Discovered, Events, Feed, ReadOptions, WatchItem};

/// Pause between two looks at the index. Definitions change when an administrator installs others.
const EVERY: Duration = Duration::from_secs(30);
/// Limit of one look.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The `OpenAPI` document of one group and version, in the form of an object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Document {
    /// Named after the group and version; the resource version is where the server has the document.
    pub metadata: ObjectMeta,
    /// The document.
    pub document: Value,
}

impl Resource for Document {
    type DynamicType = ();
    type Scope = ClusterResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "OpenAPI".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v3".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "openapi".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Polls the document of one group and version (`group/version`). A server that has none shows no object.
pub struct OpenApiFeed {
    client: Client,
    group_version: &'static str,
}

impl OpenApiFeed {
    /// Reads with a client without retries.
    pub fn new(client: Client, group_version: &'static str) -> Self {
        Self { client, group_version }
    }
}

impl Feed<Document> for OpenApiFeed {
    fn open(&mut self, _: &ReadOptions) -> Events<Document> {
        let (client, group_version) = (self.client.clone(), self.group_version);
        let poll = Poll { client, group_version, location: None, failed: false };
        let turns = stream::unfold(poll, async |mut poll| Some((poll.turn().await, poll)));
        turns.flat_map(stream::iter).boxed()
    }

    /// The index is there on every server that agents support.
    fn discover(&mut self) -> BoxFuture<'_, kube::Result<Discovered>> {
        Box::pin(std::future::ready(Ok(Discovered::Served)))
    }
}

struct Poll {
    client: Client,
    group_version: &'static str,
    /// Where the document was when it was read last; empty if the server had none, `None` before the first look.
    location: Option<String>,
    /// Whether the last look failed: the source has paused then.
    failed: bool,
}

impl Poll {
    /// Waits until it is time, looks, and returns what that brings.
    async fn turn(&mut self) -> Vec<WatchItem<Document>> {
        if self.location.is_some() && !self.failed {
            tokio::time::sleep(EVERY).await;
        }
        let look = tokio::time::timeout(TIMEOUT, self.look()).await;
        let timeout = || {
            let seconds = TIMEOUT.as_secs();
            kube::Error::Service(format!("no answer within {seconds} s").into())
        };
        let events = look.unwrap_or_else(|_| Err(timeout()));
        self.failed = events.is_err();
        match events {
            Ok(events) => {
                let events = events.into_iter().map(|event| WatchItem::Event(Ok(event)));
                events.chain([WatchItem::WatchStarted]).collect()
            }
            // A look just after a change may fail: the index still names the document that was, and the server answers
            // with a redirection or with nothing at all (the front of the API server lists the group, and the part
            // behind it that writes the document does not have it yet).
            Err(error) => vec![WatchItem::Event(Err(Error::InitialListFailed(error)))],
        }
    }

    /// The first look is a list, later ones bring what has changed.
    async fn look(&mut self) -> kube::Result<Vec<Event<Document>>> {
        let index = self.get("/openapi/v3").await?;
        let entry = format!("apis/{}", self.group_version);
        let location = index["paths"][entry]["serverRelativeURL"].as_str().unwrap_or_default();
        if self.location.as_deref() == Some(location) {
            return Ok(Vec::new());
        }
        let document = if location.is_empty() { None } else { Some(self.get(location).await?) };
        let known = self.location.replace(location.to_owned());
        let object = self.object(location, document);
        Ok(match (known, object) {
            (None, object) => {
                let list = object.map(Event::InitApply);
                [Event::Init].into_iter().chain(list).chain([Event::InitDone]).collect()
            }
            (Some(known), object) => {
                let group_version = self.group_version;
                tracing::info!(group_version, "OpenAPI schema changed");
                let gone = || Event::Delete(self.named(&known));
                vec![object.map_or_else(gone, Event::Apply)]
            }
        })
    }

    fn object(&self, location: &str, document: Option<Value>) -> Option<Document> {
        Some(Document { document: document?, ..self.named(location) })
    }

    fn named(&self, location: &str) -> Document {
        let metadata = ObjectMeta {
            name: Some(self.group_version.to_owned()),
            uid: Some(self.group_version.to_owned()),
            resource_version: Some(location.to_owned()),
            ..ObjectMeta::default()
        };
        Document { metadata, document: Value::Null }
    }

    async fn get(&self, url: &str) -> kube::Result<Value> {
        let request = Request::get(url).body(Vec::new()).map_err(kube::Error::HttpError)?;
        self.client.request(request).await
    }
}

#[cfg(test)]
mod tests {
    use http::Response;
    use kube::client::Body;
    use prometheus::{Histogram, HistogramOpts};
    use serde_json::json;

    use super::*;

    type Handle = tower_test::mock::Handle<Request<Body>, Response<Body>>;

    fn open() -> (Events<Document>, Handle) {
        let (service, server) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
        let decoding = Histogram::with_opts(HistogramOpts::new("decoding", "unused")).unwrap();
        let mut feed = OpenApiFeed::new(Client::new(service, "default"), "g/v1");
        (feed.open(&ReadOptions { page_size: 1, decoding }), server)
    }

    async fn answer(server: &mut Handle, path: &str, body: Option<Value>) {
        let (request, reply) = server.next_request().await.unwrap();
        assert_eq!(request.uri().path_and_query().unwrap().as_str(), path);
        let response = Response::builder().status(if body.is_some() { 200 } else { 503 });
        let body = body.unwrap_or_default().to_string();
        reply.send_response(response.body(Body::from(body.into_bytes())).unwrap());
    }

    /// Answers as kube-apiserver does where it cannot make the document: success, and nothing.
    async fn answer_nothing(server: &mut Handle) {
        let (_, reply) = server.next_request().await.unwrap();
        reply.send_response(Response::new(Body::empty()));
    }

    fn index(hash: &str) -> Value {
        let url = format!("/openapi/v3/apis/g/v1?hash={hash}");
        json!({ "paths": { "api/v1": {}, "apis/g/v1": { "serverRelativeURL": url } } })
    }

    /// The next item, in few words.
    async fn next(events: &mut Events<Document>) -> String {
        match events.next().await.unwrap() {
            WatchItem::Event(Ok(Event::Init)) => "init".to_owned(),
            WatchItem::Event(Ok(Event::InitApply(object))) => format!("listed {}", object.document),
            WatchItem::Event(Ok(Event::InitDone)) => "done".to_owned(),
            WatchItem::Event(Ok(Event::Apply(object))) => format!("applied {}", object.document),
            WatchItem::Event(Ok(Event::Delete(_))) => "deleted".to_owned(),
            WatchItem::Event(Err(_)) => "failed".to_owned(),
            WatchItem::Requested => "requested".to_owned(),
            WatchItem::WatchStarted => "well".to_owned(),
        }
    }

    async fn all(events: &mut Events<Document>, wanted: &[&str]) {
        for wanted in wanted {
            assert_eq!(next(events).await, *wanted);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_document_is_read_when_the_index_names_another() {
        let (mut events, mut server) = open();
        let answers = tokio::spawn(async move {
            answer(&mut server, "/openapi/v3", None).await;
            answer(&mut server, "/openapi/v3", Some(index("1"))).await;
            answer(&mut server, "/openapi/v3/apis/g/v1?hash=1", Some(json!({ "at": 1 }))).await;

            answer(&mut server, "/openapi/v3", Some(index("1"))).await;
            answer(&mut server, "/openapi/v3", None).await;
            answer(&mut server, "/openapi/v3", Some(index("2"))).await;
            // Read again until it was read.
            answer(&mut server, "/openapi/v3/apis/g/v1?hash=2", None).await;
            answer(&mut server, "/openapi/v3", Some(index("2"))).await;
            answer(&mut server, "/openapi/v3/apis/g/v1?hash=2", Some(json!({ "at": 2 }))).await;

            answer(&mut server, "/openapi/v3", Some(json!({ "paths": {} }))).await;
            server
        });
        all(&mut events, &["failed", "init", "listed {\"at\":1}", "done", "well"]).await;
        let again = ["well", "failed", "failed", "applied {\"at\":2}", "well"];
        all(&mut events, &again).await;
        all(&mut events, &["deleted", "well"]).await;
        answers.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_document_that_is_just_being_made_is_read_again() {
        let (mut events, mut server) = open();
        tokio::spawn(async move {
            answer(&mut server, "/openapi/v3", Some(index("1"))).await;
            answer_nothing(&mut server).await;
            answer(&mut server, "/openapi/v3", Some(index("2"))).await;
            answer(&mut server, "/openapi/v3/apis/g/v1?hash=2", Some(json!({ "at": 2 }))).await;
        });
        all(&mut events, &["failed", "init", "listed {\"at\":2}", "done"]).await;
    }
}
