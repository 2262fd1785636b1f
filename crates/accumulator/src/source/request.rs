//! Requests of the sources.

use std::io;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures::{AsyncBufRead, AsyncReadExt as _, TryFutureExt as _, TryStreamExt as _};
use http::HeaderMap;
use http::header::RETRY_AFTER;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use kube::core::response::StatusDetails;
use serde::de::DeserializeOwned;

/// How long an API server may take to start an answer. It ends requests after 60 s itself; a
/// watch is answered at once.
const ANSWER_WITHIN: Duration = Duration::from_mins(1);
/// So much of a refusal is read.
const REFUSAL_BYTES: u64 = 64 << 10;

/// The body of an answer.
pub(super) type Answer = Pin<Box<dyn AsyncBufRead + Send>>;

/// Sends a request, and returns the body of the answer.
pub(super) async fn send(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> kube::Result<Answer> {
    Ok(send_headed(client, request).await?.1)
}

/// Sends a request, and returns headers and body of the answer. Unlike `Client::request`, it logs no body,
/// and keeps what the API server asks for with `Retry-After`.
pub(super) async fn send_headed(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> kube::Result<(HeaderMap, Answer)> {
    let request = request.map_err(kube::Error::BuildRequest)?.map(Body::from);
    let response = in_time(client.send(request)).await?;
    let (head, body) = response.into_parts();
    let body = body.into_data_stream().map_err(io::Error::other).into_async_read();
    if head.status.is_success() {
        return Ok((head.headers, Box::pin(body)));
    }
    let mut text = Vec::new();
    let mut body = pin!(body.take(REFUSAL_BYTES));
    in_time(body.read_to_end(&mut text).map_err(kube::Error::ReadEvents)).await?;
    Err(kube::Error::Api(refusal(&head, &text).boxed()))
}

/// Sends a request, and decodes an answer of at most so many bytes: a longer one is cut, which no JSON survives.
pub(super) async fn read<T: DeserializeOwned>(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    limit: u64,
) -> kube::Result<T> {
    decode(send(client, request).await?, limit).await
}

/// Decodes an answer as [`read`] does.
pub(super) async fn decode<T: DeserializeOwned>(answer: Answer, limit: u64) -> kube::Result<T> {
    let mut answer = answer.take(limit);
    let mut body = Vec::new();
    let read = answer.read_to_end(&mut body).map_err(kube::Error::ReadEvents);
    in_time(read).await?;
    serde_json::from_slice(&body).map_err(kube::Error::SerdeError)
}

/// As [`read`], from a path.
pub(super) async fn get<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    limit: u64,
) -> kube::Result<T> {
    let request = http::Request::get(path).body(Vec::new());
    read(client, request.map_err(kube::core::request::Error::BuildRequest), limit).await
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
pub(super) async fn in_time<T>(answer: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    let seconds = ANSWER_WITHIN.as_secs();
    let late = |_| kube::Error::Service(format!("no answer within {seconds} s").into());
    tokio::time::timeout(ANSWER_WITHIN, answer).await.map_err(late)?
}
