//! What each path answers.

use std::fmt;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use prometheus::{Registry, TEXT_FORMAT, TextEncoder};

/// Reasons for not being ready.
type Blocking = dyn Fn() -> Vec<String> + Send + Sync;

/// What one address serves.
#[derive(Clone)]
pub(super) struct Routes {
    pub(super) registry: Option<Registry>,
    pub(super) blocking: Option<Arc<Blocking>>,
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes")
            .field("metrics", &self.registry.is_some())
            .field("health", &self.blocking.is_some())
            .finish()
    }
}

impl Routes {
    /// Serves what `other` serves, too.
    pub(super) fn join(&mut self, other: &Self) {
        self.registry = self.registry.take().or_else(|| other.registry.clone());
        self.blocking = self.blocking.take().or_else(|| other.blocking.clone());
    }

    pub(super) fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
        }
        match (request.uri().path(), &self.registry, &self.blocking) {
            ("/metrics", Some(registry), _) => metrics(registry),
            ("/readyz", _, Some(blocking)) => ready(&blocking()),
            // A task that dies takes the process with it, so whoever can answer is alive.
            ("/livez" | "/healthz", _, Some(_)) => text(StatusCode::OK, "ok\n"),
            _ => text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }
}

fn ready(blocking: &[String]) -> Response<Full<Bytes>> {
    if blocking.is_empty() {
        return text(StatusCode::OK, "ok\n");
    }
    let mut lines = blocking.join("\n");
    lines.push('\n');
    text(StatusCode::SERVICE_UNAVAILABLE, lines)
}

fn metrics(registry: &Registry) -> Response<Full<Bytes>> {
    match TextEncoder::new().encode_to_string(&registry.gather()) {
        Ok(body) => {
            let mut answer = text(StatusCode::OK, body);
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(TEXT_FORMAT));
            answer
        }
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, plain);
    answer
}
