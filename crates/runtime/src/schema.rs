//! What an API server says about the kinds of a group: its `OpenAPI` document (version 3).
//!
//! Everybody who is authenticated may read it, while the definitions of kinds take a right of their
//! own. The index of all documents names each by a hash of its content, so that looking costs one
//! small answer, and a document is read when it is another one.

use std::time::Duration;

use http::Request;
use kube::Client;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::clients::one_line;

/// How often to look. Definitions change when somebody installs others.
const EVERY: Duration = Duration::from_secs(30);
/// How soon to look again after a look that failed. One that comes just after a change may: the index
/// still names the document that was, and the server answers with a redirection, or with nothing at all
/// (the front of the API server lists the group, and the part behind it that writes the document does not
/// have it yet).
const AGAIN: Duration = Duration::from_secs(5);
/// How soon somebody who waits looks again after such an answer, and how often.
const SOON: Duration = Duration::from_millis(250);
const TRIES: u32 = 20;
/// Limit of one look.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Tells `changed` the document of a group and version (`group/version`): at start, and each time it
/// is another one; `None` where the server has none. Says nothing while the server does not answer.
pub(crate) async fn follow(
    client: Client,
    group_version: &str,
    cancel: CancellationToken,
    mut changed: impl FnMut(Option<&Value>),
) {
    let mut follower = Follower { client, entry: format!("apis/{group_version}"), seen: None };
    loop {
        let look = tokio::time::timeout(TIMEOUT, follower.look(&mut changed));
        let pause = match cancel.run_until_cancelled(look).await {
            None => return,
            Some(Ok(Ok(()))) => EVERY,
            Some(Ok(Err(error))) => {
                tracing::debug!(group_version, error = one_line(&error), "Cannot read the schema");
                AGAIN
            }
            Some(Err(_)) => AGAIN,
        };
        if cancel.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
    }
}

/// The document of a group and version (`group/version`) as it is now; `None` where the server has none.
///
/// # Errors
/// If the server does not answer.
pub async fn read(client: Client, group_version: &str) -> Result<Option<Value>, kube::Error> {
    let mut follower = Follower { client, entry: format!("apis/{group_version}"), seen: None };
    let mut found = None;
    let mut tries = 1;
    loop {
        match follower.look(&mut |document| found = document.cloned()).await {
            Err(kube::Error::SerdeError(_)) if tries < TRIES => tokio::time::sleep(SOON).await,
            Err(error) => return Err(error),
            Ok(()) => return Ok(found),
        }
        tries += 1;
    }
}

struct Follower {
    client: Client,
    /// The document's name in the index.
    entry: String,
    /// Where the document was when it was read last; empty if the server had none.
    seen: Option<String>,
}

impl Follower {
    async fn look(&mut self, changed: &mut impl FnMut(Option<&Value>)) -> Result<(), kube::Error> {
        let index = self.get("/openapi/v3").await?;
        let at = index["paths"][&self.entry]["serverRelativeURL"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if self.seen.as_ref() == Some(&at) {
            return Ok(());
        }
        if at.is_empty() {
            changed(None);
        } else {
            changed(Some(&self.get(&at).await?));
        }
        self.seen = Some(at);
        Ok(())
    }

    async fn get(&self, url: &str) -> Result<Value, kube::Error> {
        let request = Request::get(url).body(Vec::new()).map_err(kube::Error::HttpError)?;
        self.client.request(request).await
    }
}

#[cfg(test)]
mod tests {
    use http::Response;
    use kube::client::Body;
    use serde_json::json;
    use tokio::sync::mpsc;

    use super::*;

    type Handle = tower_test::mock::Handle<Request<Body>, Response<Body>>;

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

    #[tokio::test(start_paused = true)]
    async fn the_document_is_read_when_the_index_names_another() {
        let (service, mut server) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
        let (sender, mut told) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let task = tokio::spawn(async move {
            let client = Client::new(service, "default");
            follow(client, "g/v1", token, |document| sender.send(document.cloned()).unwrap()).await;
        });

        answer(&mut server, "/openapi/v3", None).await;
        answer(&mut server, "/openapi/v3", Some(index("1"))).await;
        answer(&mut server, "/openapi/v3/apis/g/v1?hash=1", Some(json!({ "at": 1 }))).await;
        assert_eq!(told.recv().await.unwrap(), Some(json!({ "at": 1 })));

        answer(&mut server, "/openapi/v3", Some(index("1"))).await;
        answer(&mut server, "/openapi/v3", None).await;
        answer(&mut server, "/openapi/v3", Some(index("2"))).await;
        // Read again until it was read.
        answer(&mut server, "/openapi/v3/apis/g/v1?hash=2", None).await;
        answer(&mut server, "/openapi/v3", Some(index("2"))).await;
        answer(&mut server, "/openapi/v3/apis/g/v1?hash=2", Some(json!({ "at": 2 }))).await;
        assert_eq!(told.recv().await.unwrap(), Some(json!({ "at": 2 })));

        answer(&mut server, "/openapi/v3", Some(json!({ "paths": {} }))).await;
        assert_eq!(told.recv().await.unwrap(), None);
        cancel.cancel();
        task.await.unwrap();
        assert!(told.recv().await.is_none(), "nothing was told twice");
    }
    #[tokio::test(start_paused = true)]
    async fn a_document_that_is_just_being_made_is_read_again() {
        let (service, mut server) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
        let client = Client::new(service, "default");
        let task = tokio::spawn(async move { read(client, "g/v1").await });

        answer(&mut server, "/openapi/v3", Some(index("1"))).await;
        answer_nothing(&mut server).await;
        answer(&mut server, "/openapi/v3", Some(index("2"))).await;
        answer(&mut server, "/openapi/v3/apis/g/v1?hash=2", Some(json!({ "at": 2 }))).await;
        assert_eq!(task.await.unwrap().unwrap(), Some(json!({ "at": 2 })));
    }

    #[tokio::test(start_paused = true)]
    async fn reading_gives_up_where_the_document_never_comes() {
        let (service, mut server) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
        let client = Client::new(service, "default");
        let task = tokio::spawn(async move { read(client, "g/v1").await });

        for _ in 0..TRIES {
            answer(&mut server, "/openapi/v3", Some(index("1"))).await;
            answer_nothing(&mut server).await;
        }
        assert!(matches!(task.await.unwrap(), Err(kube::Error::SerdeError(_))));
    }
}
