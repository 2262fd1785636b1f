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
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ClusterResourceScope;
use kube::{Client, Resource};
use serde::Deserialize;
use serde_json::Value;

use super::feed::{Discovered, Events, Feed, ReadOptions, WatchError, WatchItem};
use super::request;
use crate::ResourceVersion;

/// Pause between two looks at the index. Definitions change when an administrator installs others.
const EVERY: Duration = Duration::from_secs(30);
/// Limit of one look.
const TIMEOUT: Duration = Duration::from_secs(10);
/// No index and no document of a group is longer; a hub that is not ours to trust may send what it likes.
const BYTES: u64 = 8 << 20;

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
    fn open(&mut self, _: &ReadOptions, from: Option<&ResourceVersion>) -> Events<Document> {
        let (client, group_version) = (self.client.clone(), self.group_version);
        let location = from.map(ToString::to_string);
        let poll = Poll { client, group_version, location, turn: Turn::First };
        let turns = stream::unfold(poll, async |mut poll| Some((poll.turn().await?, poll)));
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
    turn: Turn,
}

/// When a look is due.
enum Turn {
    /// At once: a stream has begun.
    First,
    Later,
    /// Not in this stream: a look has failed.
    None,
}

impl Poll {
    /// Waits until it is time, looks, and returns what that brings; `None` after a failure.
    async fn turn(&mut self) -> Option<Vec<WatchItem<Document>>> {
        match std::mem::replace(&mut self.turn, Turn::Later) {
            Turn::First => {}
            Turn::Later => tokio::time::sleep(EVERY).await,
            Turn::None => return None,
        }
        let look = tokio::time::timeout(TIMEOUT, self.look()).await;
        let timeout = || {
            let seconds = TIMEOUT.as_secs();
            kube::Error::Service(format!("no answer within {seconds} s").into())
        };
        let seen = look.unwrap_or_else(|_| Err(timeout()));
        Some(seen.unwrap_or_else(|error| {
            // A look just after a change may fail: the index still names the document that was, and the server answers
            // with a redirection or with nothing at all (the front of the API server lists the group, and the part
            // behind it that writes the document does not have it yet).
            self.turn = Turn::None;
            vec![WatchItem::Failed(WatchError::List(error))]
        }))
    }

    /// The first look is a list, later ones bring what has changed.
    async fn look(&mut self) -> kube::Result<Vec<WatchItem<Document>>> {
        let index = self.get("/openapi/v3").await?;
        let entry = format!("apis/{}", self.group_version);
        let location = index["paths"][entry]["serverRelativeURL"].as_str().unwrap_or_default();
        if self.location.as_deref() == Some(location) {
            return Ok(vec![WatchItem::WatchStarted]);
        }
        let document = if location.is_empty() { None } else { Some(self.get(location).await?) };
        let is_list = self.location.replace(location.to_owned()).is_none();
        let object = document.map(|document| Document { document, ..self.named(location) });
        let seen =
            if is_list { list(location, object) } else { vec![self.change(location, object)] };
        Ok(seen.into_iter().chain([WatchItem::WatchStarted]).collect())
    }

    fn change(&self, location: &str, object: Option<Document>) -> WatchItem<Document> {
        tracing::info!(group_version = self.group_version, "OpenAPI schema changed");
        object.map_or_else(|| WatchItem::Deleted(self.named(location)), WatchItem::Applied)
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
        request::get(&self.client, url, BYTES).await
    }
}

/// A list of one object, or of none.
fn list(location: &str, object: Option<Document>) -> Vec<WatchItem<Document>> {
    let completed = WatchItem::ListCompleted(location.into());
    let objects = object.map(WatchItem::Listed);
    [WatchItem::ListStarted].into_iter().chain(objects).chain([completed]).collect()
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use prometheus::{Histogram, HistogramOpts};
    use serde_json::json;

    use super::*;

    type Handle = tower_test::mock::Handle<Request<Body>, Response<Body>>;

    /// Reads the feed as its source does: after a failure it opens the feed again, from where it was.
    struct Reader {
        feed: OpenApiFeed,
        options: ReadOptions,
        from: Option<ResourceVersion>,
        events: Option<Events<Document>>,
    }

    fn open() -> (Reader, Handle) {
        let (service, server) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
        let decoding = Histogram::with_opts(HistogramOpts::new("decoding", "unused")).unwrap();
        let feed = OpenApiFeed::new(Client::new(service, "default"), "g/v1");
        let options = ReadOptions { page_size: 1, decoding };
        (Reader { feed, options, from: None, events: None }, server)
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

    fn version(object: &Document) -> Option<ResourceVersion> {
        object.metadata.resource_version.clone().map(Into::into)
    }

    impl Reader {
        /// The next item, in few words.
        async fn next(&mut self) -> String {
            let open = || self.feed.open(&self.options, self.from.as_ref());
            let item = self.events.get_or_insert_with(open).next().await.unwrap();
            match item {
                WatchItem::ListStarted => "list".to_owned(),
                WatchItem::Listed(object) => format!("listed {}", object.document),
                WatchItem::ListCompleted(version) => {
                    self.from = Some(version);
                    "done".to_owned()
                }
                WatchItem::Applied(object) => {
                    self.from = version(&object);
                    format!("applied {}", object.document)
                }
                WatchItem::Deleted(object) => {
                    self.from = version(&object);
                    "deleted".to_owned()
                }
                WatchItem::Failed(_) => {
                    assert!(self.events.take().unwrap().next().await.is_none());
                    "failed".to_owned()
                }
                WatchItem::WatchStarted => "well".to_owned(),
                other => panic!("unexpected: {other:?}"),
            }
        }

        async fn expect(&mut self, wanted: &[&str]) {
            for wanted in wanted {
                assert_eq!(self.next().await, *wanted);
            }
        }
    }

    /// Whatever a hub sends.
    #[tokio::test(start_paused = true)]
    async fn what_is_too_long_is_not_read_to_its_end() {
        let (mut reader, mut server) = open();
        let answers = tokio::spawn(async move {
            let long = " ".repeat(usize::try_from(BYTES).unwrap());
            answer(&mut server, "/openapi/v3", Some(json!({ "long": long }))).await;
            answer(&mut server, "/openapi/v3", Some(index("1"))).await;
            answer(&mut server, "/openapi/v3/apis/g/v1?hash=1", Some(json!({ "at": 1 }))).await;
        });
        reader.expect(&["failed", "list"]).await;
        answers.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_document_is_read_when_the_index_names_another() {
        let (mut reader, mut server) = open();
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
        reader.expect(&["failed", "list", "listed {\"at\":1}", "done", "well"]).await;
        let again = ["well", "failed", "failed", "applied {\"at\":2}", "well"];
        reader.expect(&again).await;
        reader.expect(&["deleted", "well"]).await;
        answers.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_document_that_is_just_being_made_is_read_again() {
        let (mut reader, mut server) = open();
        tokio::spawn(async move {
            answer(&mut server, "/openapi/v3", Some(index("1"))).await;
            answer_nothing(&mut server).await;
            answer(&mut server, "/openapi/v3", Some(index("2"))).await;
            answer(&mut server, "/openapi/v3/apis/g/v1?hash=2", Some(json!({ "at": 2 }))).await;
        });
        reader.expect(&["failed", "list", "listed {\"at\":2}", "done"]).await;
    }
}
