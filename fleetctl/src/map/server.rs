//! Answers the browser.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Query as Fields, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::{Stream, stream};

use super::guard::{Guard, Refused};
use super::page::page;
use super::query;
use super::source::Source;
use crate::output::terminal;

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/script.js");

/// Time after which a browser is sent something, so that each notices when the other is gone.
const ALIVE: Duration = Duration::from_secs(15);

/// Nothing of the page comes from elsewhere, and nothing of it goes there.
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; connect-src 'self'; \
         form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// All answers, for requests that the guard lets pass.
pub(super) fn router(source: Arc<Source>, guard: Guard) -> Router {
    let at = |name: &str| format!("{}{name}", guard.path());
    Router::new()
        .route(&at(""), get(show))
        .route(&at("events"), get(events))
        .route(&at("style.css"), get(style))
        .route(&at("script.js"), get(script))
        .with_state(source)
        .layer(middleware::from_fn_with_state(Arc::new(guard), guarded))
}

async fn guarded(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let checked = guard.check(request.method(), request.uri().path(), request.headers());
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(Refused::Token) => StatusCode::NOT_FOUND.into_response(),
        Err(Refused::Method) => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        Err(Refused::Host | Refused::Origin) => StatusCode::FORBIDDEN.into_response(),
    };
    for (name, value) in HEADERS {
        let headers = response.headers_mut();
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

async fn show(
    State(source): State<Arc<Source>>,
    Fields(fields): Fields<query::Fields>,
) -> Response {
    match shown(&source, fields.into()).await {
        Ok(page) => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response(),
        Err(error) => {
            let text = terminal::line(&format!("{error:#}")).into_owned();
            (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
        }
    }
}

/// The page of a large fleet takes a while, and other answers are not to wait for it.
async fn shown(source: &Source, query: query::Query) -> anyhow::Result<String> {
    let shown = source.shown(&query).await?;
    let page = move || page(&shown, &query).into_string();
    Ok(tokio::task::spawn_blocking(page).await?)
}

/// The number of the newest frame, now and whenever there is another one. A recording has no other one.
async fn events(State(source): State<Arc<Source>>) -> Response {
    let Some(mut changes) = source.changes() else { return StatusCode::NO_CONTENT.into_response() };
    changes.mark_changed();
    Sse::new(numbers(changes)).keep_alive(KeepAlive::new().interval(ALIVE)).into_response()
}

fn numbers(
    changes: tokio::sync::watch::Receiver<usize>,
) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(changes, async |mut changes| {
        changes.changed().await.ok()?;
        let number = changes.borrow_and_update().to_string();
        Some((Ok(Event::default().event("frame").data(number)), changes))
    })
}

async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)
}

async fn script() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT)
}
