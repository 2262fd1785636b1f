//! What the answers of an API server show: whether it accepts the credential, and what time it is there.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use http::header::{AUTHORIZATION, DATE};
use http::{HeaderValue, Request, Response, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use parking_lot::Mutex;
use tower::{Layer, Service};

use crate::clock::BootClock;

/// How often the time is read, at most.
const READ_EVERY: Duration = Duration::from_secs(1);

/// What was seen of the answers of one API server.
#[derive(Debug)]
pub(super) struct Answers {
    clock: BootClock,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The credential that the last answer to it has rejected.
    rejected: Option<HeaderValue>,
    /// The time at the API server, and when it was read.
    time: Option<(Timestamp, Duration)>,
}

/// Goes with a request whose credential is tried only: its answer is not about the one in use.
#[derive(Clone, Debug)]
pub(super) struct Trial(pub(super) HeaderValue);

impl Default for Answers {
    fn default() -> Self {
        Self { clock: BootClock::system(), seen: Mutex::default() }
    }
}

impl Answers {
    /// Whether the API server has rejected a credential since it last accepted it; if none is given, the last one that was
    /// sent.
    pub(super) fn rejects(&self, credential: Option<&HeaderValue>) -> bool {
        let seen = self.seen.lock();
        seen.rejected.as_ref().is_some_and(|rejected| credential.is_none_or(|it| it == rejected))
    }

    /// What time it is at the API server, if an answer contained it: exact to about a second.
    pub(super) fn time(&self) -> Option<Timestamp> {
        let (time, read) = self.seen.lock().time?;
        time.saturating_add(self.clock.now().saturating_sub(read)).ok()
    }

    fn note<B>(&self, credential: HeaderValue, is_trial: bool, response: &Response<B>) {
        let now = self.clock.now();
        let mut seen = self.seen.lock();
        if seen.time.is_none_or(|(_, read)| now.saturating_sub(read) >= READ_EVERY) {
            seen.time = date(response).map(|time| (time, now)).or(seen.time);
        }
        if is_trial {
            return;
        }
        if response.status() == StatusCode::UNAUTHORIZED {
            seen.rejected = Some(credential);
        } else if seen.rejected.as_ref() == Some(&credential) {
            seen.rejected = None;
        }
    }
}

fn date<B>(response: &Response<B>) -> Option<Timestamp> {
    let text = response.headers().get(DATE)?.to_str().ok()?;
    DateTimeParser::new().parse_timestamp(text).ok()
}

/// Notes the answers to all requests.
#[derive(Clone, Debug)]
pub(super) struct AnswersLayer(pub(super) Arc<Answers>);

impl<S> Layer<S> for AnswersLayer {
    type Service = Noting<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Noting { inner, answers: Arc::clone(&self.0) }
    }
}

/// See [`AnswersLayer`].
#[derive(Clone, Debug)]
pub(super) struct Noting<S> {
    inner: S,
    answers: Arc<Answers>,
}

impl<S, B, R> Service<Request<B>> for Noting<S>
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

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let credential = request.headers().get(AUTHORIZATION).cloned();
        // A certificate is no header.
        let credential = credential.unwrap_or_else(|| HeaderValue::from_static(""));
        let is_trial = request.extensions().get::<Trial>().is_some();
        let answers = Arc::clone(&self.answers);
        let noted = move |response: &Response<R>| answers.note(credential, is_trial, response);
        self.inner.call(request).inspect_ok(noted).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, date: &str) -> Response<()> {
        Response::builder().status(status).header(DATE, date).body(()).unwrap()
    }

    fn header(text: &'static str) -> HeaderValue {
        HeaderValue::from_static(text)
    }

    const DATE_1: &str = "Mon, 23 Nov 2026 09:30:00 GMT";

    #[test]
    fn the_last_answer_to_a_credential_decides() {
        let answers = Answers::default();
        let (old, new) = (header("old"), header("new"));
        answers.note(old.clone(), false, &answer(401, DATE_1));
        assert!(answers.rejects(Some(&old)) && answers.rejects(None));
        assert!(!answers.rejects(Some(&new)), "another one has not been tried yet");
        // An answer to another one is not about it.
        answers.note(new.clone(), false, &answer(200, DATE_1));
        assert!(answers.rejects(Some(&old)));
        answers.note(old.clone(), false, &answer(403, DATE_1));
        assert!(!answers.rejects(Some(&old)) && !answers.rejects(None));
        answers.note(new.clone(), true, &answer(401, DATE_1));
        assert!(!answers.rejects(Some(&new)), "a trial");
    }

    #[test]
    fn the_time_of_the_server_goes_on() {
        let answers = Answers { clock: BootClock::by_hand(), seen: Mutex::default() };
        assert_eq!(answers.time(), None);
        answers.note(header(""), false, &answer(200, "yesterday"));
        assert_eq!(answers.time(), None);
        answers.note(header(""), false, &answer(401, DATE_1));
        let then: Timestamp = "2026-11-23T09:30:00Z".parse().unwrap();
        assert_eq!(answers.time(), Some(then));
        answers.clock.advance(Duration::from_mins(5));
        assert_eq!(answers.time(), Some(then + Duration::from_mins(5)));
        answers.note(header(""), false, &answer(200, "Mon, 23 Nov 2026 09:40:00 GMT"));
        assert_eq!(answers.time(), Some(then + Duration::from_mins(10)));
    }
}
