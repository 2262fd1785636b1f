//! What each path answers.

use std::fmt;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use prometheus::{Registry, TEXT_FORMAT, TextEncoder};

/// Sentences about what is wrong; none if nothing is.
type Reasons = dyn Fn() -> Vec<String> + Send + Sync;

/// What the probes ask. Both are asked on each request and have to be cheap.
#[derive(Clone)]
pub struct Probes {
    blocking: Arc<Reasons>,
    wedged: Arc<Reasons>,
}

impl Probes {
    /// `blocking` returns why the agent is not ready, and `wedged` why it has to be restarted: one
    /// sentence for each reason.
    pub fn new(
        blocking: impl Fn() -> Vec<String> + Send + Sync + 'static,
        wedged: impl Fn() -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        Self { blocking: Arc::new(blocking), wedged: Arc::new(wedged) }
    }
}

/// What one address serves.
#[derive(Clone)]
pub(super) struct Routes {
    pub(super) registry: Option<Registry>,
    pub(super) probes: Option<Probes>,
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes")
            .field("metrics", &self.registry.is_some())
            .field("health", &self.probes.is_some())
            .finish()
    }
}

impl Routes {
    /// Serves what `other` serves, too.
    pub(super) fn join(&mut self, other: &Self) {
        self.registry = self.registry.take().or_else(|| other.registry.clone());
        self.probes = self.probes.take().or_else(|| other.probes.clone());
    }

    pub(super) fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
        }
        match (request.uri().path(), &self.registry, &self.probes) {
            ("/metrics", Some(registry), _) => metrics(registry),
            ("/readyz", _, Some(probes)) => verdict(&(probes.blocking)()),
            // A task that dies takes the process with it, and if all threads are blocked there is no answer.
            ("/livez" | "/healthz", _, Some(probes)) => verdict(&(probes.wedged)()),
            _ => text(StatusCode::NOT_FOUND, "not found\n"),
        }
    }
}

fn verdict(reasons: &[String]) -> Response<Full<Bytes>> {
    if reasons.is_empty() {
        return text(StatusCode::OK, "ok\n");
    }
    let mut lines = reasons.join("\n");
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
