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
use tower::{BoxError, Layer, Service};

use super::answers::Trial;

/// How often the file is looked at, at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long the start waits for it: a side container may write it, which starts at the same time.
const WAIT: Duration = Duration::from_secs(3);
/// How often it is looked at meanwhile.
const WAIT_STEP: Duration = Duration::from_millis(100);
/// How often it is logged that there is no token yet.
const WAIT_LOG: Duration = Duration::from_secs(30);

/// The token as last read. The last good one stays in force while the file is missing, empty or
/// half written. Before the first one no request is sent.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    /// Its name in logs.
    called: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The token as it is sent, or why there is none yet.
    header: Result<HeaderValue, String>,
    /// The token before this one: a file that still has it is not up to date yet.
    superseded: Option<HeaderValue>,
    /// What the file looked like when it was last read; `None` forces a read.
    stamp: Option<Stamp>,
    looked: Option<Instant>,
    /// When it was logged last that there is none yet.
    logged: Option<Instant>,
}

/// Why a request is not sent: without a token the API server would only reject it.
#[derive(Debug, thiserror::Error)]
#[error("no token yet in {called}: {reason}")]
pub(super) struct NoToken {
    called: String,
    reason: String,
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
    /// Waits a moment for a token in the file. Where none comes, requests fail until there is one: what needs no token works
    /// meanwhile.
    pub async fn open(path: &Path) -> Arc<Self> {
        Self::open_as(path, path.display().to_string()).await
    }

    /// As [`open`](Self::open), with another name in logs: a path of a kubeconfig may be the token itself, in the wrong field.
    pub(super) async fn open_as(path: &Path, called: String) -> Arc<Self> {
        let header = Err("it has not been read".to_owned());
        let state = State { header, superseded: None, stamp: None, looked: None, logged: None };
        let file = Self { path: path.to_owned(), called, state: Mutex::new(state) };
        let found = async {
            while !file.look(&mut file.state.lock(), Instant::now()) {
                tokio::time::sleep(WAIT_STEP).await;
            }
        };
        // Requests show whether there is one.
        let _ = tokio::time::timeout(WAIT, found).await;
        Arc::new(file)
    }

    /// The header to send. Reading is blocking, but the file is small, local and read only when it
    /// changed, or while there is no token.
    pub(super) fn header(&self, now: Instant) -> Result<HeaderValue, NoToken> {
        let mut state = self.state.lock();
        let due = |at: Instant| now.saturating_duration_since(at) >= LOOK_EVERY;
        if state.looked.is_none_or(due) {
            self.look(&mut state, now);
        }
        let missing = |reason| NoToken { called: self.called.clone(), reason };
        state.header.clone().map_err(missing)
    }

    /// Reads the file if it may have changed. Returns whether there is a token.
    fn look(&self, state: &mut State, now: Instant) -> bool {
        state.looked = Some(now);
        let stamp = Stamp::of(&self.path);
        if state.header.is_err() || state.stamp.is_none() || stamp != state.stamp {
            match read(&self.path) {
                Ok(header) if state.superseded.as_ref() == Some(&header) => {}
                Ok(header) => {
                    state.header = Ok(header);
                    state.superseded = None;
                }
                Err(reason) if state.header.is_ok() => tracing::warn!(
                    path = self.called,
                    reason,
                    "Cannot read the token file, keeping the last token"
                ),
                Err(reason) => self.lacks(state, reason, now),
            }
            // Also after a failure: logged once, and read again when the file changes.
            state.stamp = stamp.or(state.stamp);
        }
        state.header.is_ok()
    }

    /// There is no token yet.
    fn lacks(&self, state: &mut State, reason: String, now: Instant) {
        let due = |at: Instant| now.saturating_duration_since(at) >= WAIT_LOG;
        if state.logged.is_none_or(due) {
            tracing::info!(path = self.called, reason, "Waiting for the token file");
            state.logged = Some(now);
        }
        state.header = Err(reason);
    }

    /// Another token, which is on its way into the file. A kubelet takes a minute or two for that.
    pub(super) fn replace(&self, header: HeaderValue) {
        let mut state = self.state.lock();
        if let Ok(old) = std::mem::replace(&mut state.header, Ok(header)) {
            // What the file has, if it has not shown the last one yet either.
            state.superseded.get_or_insert(old);
        }
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
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if let Some(Trial(token)) = request.extensions().get().cloned() {
            request.headers_mut().insert(AUTHORIZATION, token);
            return self.inner.call(request).err_into().boxed();
        }
        match self.file.header(Instant::now()) {
            Ok(token) => request.headers_mut().insert(AUTHORIZATION, token),
            Err(missing) => return async { Err(missing.into()) }.boxed(),
        };
        let file = Arc::clone(&self.file);
        self.inner
            .call(request)
            .inspect_ok(move |response| {
                if response.status() == StatusCode::UNAUTHORIZED {
                    file.refused();
                }
            })
            .err_into()
            .boxed()
    }
}

#[cfg(test)]
mod tests;
