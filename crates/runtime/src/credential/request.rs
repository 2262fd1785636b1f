//! Requests whose bodies are secret: nothing of them is logged, which the client library might do.

use std::time::Duration;

use fleet_accumulator::one_line;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Limited};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// Limit of one request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Longest answer: a Secret has at most 1 MiB, in base64.
const LONGEST: usize = 4 << 20;
const JSON: &str = "application/json";

/// A request; its body is empty where it is `None`.
///
/// # Errors
/// If the path is none.
pub(super) fn build(
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Request<Body>, String> {
    let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    let request = Request::builder().method(method).uri(path).header(ACCEPT, JSON);
    let request = request.header(CONTENT_TYPE, JSON).body(Body::from(body));
    request.map_err(|error| error.to_string())
}

/// Sends a request and decodes the answer.
///
/// # Errors
/// One line without anything of the bodies but the message of a refusal.
pub(super) async fn send(client: &Client, request: Request<Body>) -> Result<Value, String> {
    let exchange = async {
        let response = client.send(request).await.map_err(|error| one_line(&error))?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, LONGEST).collect().await;
        let body = body.map_err(|_| "the answer cannot be read".to_owned())?.to_bytes();
        let answer = serde_json::from_slice::<Value>(&body);
        if head.status.is_success() {
            return answer.map_err(|_| "the answer is not JSON".to_owned());
        }
        let message = answer.unwrap_or_default()["message"].as_str().unwrap_or_default().to_owned();
        Err(if message.is_empty() { head.status.to_string() } else { message })
    };
    let late = |_| format!("no answer within {} s", TIMEOUT.as_secs());
    tokio::time::timeout(TIMEOUT, exchange).await.map_err(late)?
}
