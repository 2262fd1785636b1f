//! A bearer token in a file that another process writes and replaces.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, StatusCode};
use parking_lot::Mutex;
use tower::{Layer, Service};

use super::answers::Trial;

/// How often the file is looked at, at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often its absence at start is looked at.
const WAIT_STEP: Duration = Duration::from_millis(100);
/// How often its absence at start is logged.
const WAIT_LOG: Duration = Duration::from_secs(30);

/// The token as last read. The last good one stays in force while the file is missing, empty or
/// half written.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    /// Its name in logs.
    called: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    header: HeaderValue,
    /// The token before this one: a file that still has it is not up to date yet.
    superseded: Option<HeaderValue>,
    /// What the file looked like when it was last read; `None` forces a read.
    stamp: Option<Stamp>,
    looked: Option<Instant>,
}

/// What changes when a file is rewritten or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    size: u64,
    inode: u64,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let meta = fs::metadata(path).ok()?;
        Some(Self { modified: meta.modified().ok(), size: meta.len(), inode: meta.ino() })
    }
}

/// Reads the header value; the reason why not in one phrase.
fn read(path: &Path) -> Result<HeaderValue, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let token = text.trim();
    if token.is_empty() {
        return Err("the file is empty".to_owned());
    }
    bearer(token)
}

/// A token as it is sent.
pub(super) fn bearer(token: &str) -> Result<HeaderValue, String> {
    let mut header = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| "the token has characters that no HTTP header may have".to_owned())?;
    header.set_sensitive(true);
    Ok(header)
}

impl TokenFile {
    /// Waits until the file holds a token: in a Pod a side container writes it.
    pub async fn open(path: &Path) -> Arc<Self> {
        Self::open_as(path, path.display().to_string()).await
    }

    /// As [`open`](Self::open), with another name in logs: a path of a kubeconfig may be the token itself, in the wrong field.
    pub(super) async fn open_as(path: &Path, called: String) -> Arc<Self> {
        let mut logged: Option<Instant> = None;
        loop {
            let stamp = Stamp::of(path);
            match read(path) {
                Ok(header) => {
                    let state = Mutex::new(State {
                        header,
                        superseded: None,
                        stamp,
                        looked: Some(Instant::now()),
                    });
                    return Arc::new(Self { path: path.to_owned(), called, state });
                }
                Err(reason) if logged.is_none_or(|at| at.elapsed() >= WAIT_LOG) => {
                    tracing::info!(path = called, reason, "Waiting for the token file");
                    logged = Some(Instant::now());
                }
                Err(_) => {}
            }
            tokio::time::sleep(WAIT_STEP).await;
        }
    }

    /// The header to send. Reading is blocking, but the file is small, local and read only when it
    /// changed.
    pub(super) fn header(&self, now: Instant) -> HeaderValue {
        let mut state = self.state.lock();
        let due = |at: Instant| now.saturating_duration_since(at) >= LOOK_EVERY;
        if state.looked.is_none_or(due) {
            state.looked = Some(now);
            let stamp = Stamp::of(&self.path);
            if state.stamp.is_none() || stamp != state.stamp {
                match read(&self.path) {
                    Ok(header) if state.superseded.as_ref() == Some(&header) => {}
                    Ok(header) => {
                        state.header = header;
                        state.superseded = None;
                    }
                    Err(reason) => tracing::warn!(
                        path = self.called,
                        reason,
                        "Cannot read the token file, keeping the last token"
                    ),
                }
                // Also after a failure: logged once, and read again when the file changes.
                state.stamp = stamp.or(state.stamp);
            }
        }
        state.header.clone()
    }

    /// Another token, which is on its way into the file. A kubelet takes a minute or two for that.
    pub(super) fn replace(&self, header: HeaderValue) {
        let mut state = self.state.lock();
        let old = std::mem::replace(&mut state.header, header);
        // What the file has, if it has not shown the last one yet either.
        state.superseded.get_or_insert(old);
    }

    /// The server refused the token: the next request reads the file whatever it looks like.
    fn refused(&self) {
        let mut state = self.state.lock();
        state.stamp = None;
        state.looked = None;
    }
}

/// Puts the token of a file on each request.
#[derive(Clone, Debug)]
pub(super) struct TokenLayer(pub(super) Arc<TokenFile>);

impl<S> Layer<S> for TokenLayer {
    type Service = TokenAuth<S>;

    fn layer(&self, inner: S) -> Self::Service {
        TokenAuth { inner, file: Arc::clone(&self.0) }
    }
}

/// See [`TokenLayer`].
#[derive(Clone, Debug)]
pub(super) struct TokenAuth<S> {
    inner: S,
    file: Arc<TokenFile>,
}

impl<S, B, R> Service<Request<B>> for TokenAuth<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if let Some(Trial(token)) = request.extensions().get().cloned() {
            request.headers_mut().insert(AUTHORIZATION, token);
            return self.inner.call(request).boxed();
        }
        request.headers_mut().insert(AUTHORIZATION, self.file.header(Instant::now()));
        let file = Arc::clone(&self.file);
        self.inner
            .call(request)
            .inspect_ok(move |response| {
                if response.status() == StatusCode::UNAUTHORIZED {
                    file.refused();
                }
            })
            .boxed()
    }
}

#[cfg(test)]
mod tests;
