//! What a failure of a watch means for its source.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use super::feed::WatchError;
use crate::error_text::one_line;

/// What to conclude from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// 403 on `list` or `watch`, or on the question to discovery.
    Forbidden(&'static str),
    /// 404: perhaps the kind is not served.
    NotFound,
    /// The watch cannot continue from the version that is known: only a list helps.
    Expired,
    /// An event that cannot be read is lost, and one without a version cannot be continued from:
    /// only a fresh list brings back what is missed.
    Undecodable,
    /// The list cannot be read.
    UndecodableList,
    /// The connection failed while a watch was running.
    Interrupted,
    /// Everything else: may heal by itself.
    Failed,
}

impl Class {
    /// Label value.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden(_) => "forbidden",
            Self::NotFound => "not_found",
            Self::Expired => "expired",
            Self::Undecodable | Self::UndecodableList => "undecodable",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// An API server cannot silence a source for longer.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Of a longer text the beginning is kept: a refusal may have the page of a proxy in it.
const MESSAGE_CHARS: usize = 1000;

/// A failure of a list or a watch.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) class: Class,
    pub(crate) message: Arc<str>,
    /// How long the API server asks to wait.
    pub(crate) retry_after: Option<Duration>,
}

impl Failure {
    /// A failure that no API server reported.
    pub(crate) fn new(class: Class, message: impl Into<Arc<str>>) -> Self {
        Self { class, message: message.into(), retry_after: None }
    }
}

impl From<&WatchError> for Failure {
    fn from(error: &WatchError) -> Self {
        let cause = match error {
            WatchError::List(cause) | WatchError::WatchStart(cause) | WatchError::Watch(cause) => {
                Some(cause)
            }
            WatchError::NoResourceVersion | WatchError::OtherServer => None,
        };
        let class = match error {
            WatchError::List(error) => match (error, code(error)) {
                (_, Some(403)) => Class::Forbidden("list"),
                (_, Some(404)) => Class::NotFound,
                (kube::Error::SerdeError(_), _) => Class::UndecodableList,
                _ => Class::Failed,
            },
            WatchError::WatchStart(error) => match code(error) {
                Some(403) => Class::Forbidden("watch"),
                Some(404) => Class::NotFound,
                Some(400 | 410 | 422) => Class::Expired,
                _ => Class::Failed,
            },
            WatchError::Watch(error) => match (error, code(error)) {
                (_, Some(403)) => Class::Forbidden("watch"),
                (_, Some(404)) => Class::NotFound,
                (_, Some(410)) => Class::Expired,
                (_, Some(_)) => Class::Failed,
                (kube::Error::SerdeError(_), _) => Class::Undecodable,
                _ => Class::Interrupted,
            },
            WatchError::NoResourceVersion => Class::Undecodable,
            WatchError::OtherServer => Class::Expired,
        };
        let retry_after = cause.and_then(retry_after);
        Self { class, message: message(error), retry_after }
    }
}

/// A failure of discovery.
impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        let retry_after = retry_after(&error);
        let class = match code(&error) {
            Some(403) => Class::Forbidden("discovery"),
            _ => Class::Failed,
        };
        Self { class, message: message(&error), retry_after }
    }
}

/// Its text, of which each source keeps one, and readiness has those of all.
fn message(error: &(dyn Error + 'static)) -> Arc<str> {
    let text = one_line(error);
    match text.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// How long the API server asks to wait, within reason.
fn retry_after(error: &kube::Error) -> Option<Duration> {
    let kube::Error::Api(status) = error else { return None };
    let seconds = status.details.as_ref()?.retry_after_seconds;
    (seconds > 0).then(|| Duration::from_secs(seconds.into()).min(LONGEST_WAIT))
}

/// HTTP status of an answer of the API server.
fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn api(code: u16) -> kube::Error {
        kube::Error::Api(Box::new(Status { code, ..Status::default() }))
    }

    fn class(error: &WatchError) -> Class {
        Failure::from(error).class
    }

    #[test]
    fn of_a_long_text_the_beginning_is_kept() {
        let long = Status { message: "é".repeat(1 << 16), ..Status::default() };
        let failure = Failure::from(kube::Error::Api(Box::new(long)));
        assert_eq!(failure.message.chars().count(), MESSAGE_CHARS + 1);
    }

    #[test]
    fn every_refusal_has_its_meaning() {
        use WatchError::{List, NoResourceVersion, Watch, WatchStart};
        assert_eq!(class(&List(api(403))), Class::Forbidden("list"));
        assert_eq!(class(&List(api(404))), Class::NotFound);
        assert_eq!(class(&List(api(500))), Class::Failed);
        assert_eq!(class(&List(api(410))), Class::Failed);
        assert_eq!(class(&WatchStart(api(403))), Class::Forbidden("watch"));
        for code in [400, 410, 422] {
            assert_eq!(class(&WatchStart(api(code))), Class::Expired);
        }
        assert_eq!(class(&Watch(api(410))), Class::Expired);
        assert_eq!(class(&Watch(api(500))), Class::Failed);
        assert_eq!(class(&NoResourceVersion), Class::Undecodable);
        let bad = || kube::Error::SerdeError(serde_json::from_str::<u8>("x").unwrap_err());
        assert_eq!(class(&Watch(bad())), Class::Undecodable);
        assert_eq!(class(&List(bad())), Class::UndecodableList);
        let cut = std::io::Error::other("connection reset");
        assert_eq!(class(&Watch(kube::Error::ReadEvents(cut))), Class::Interrupted);
    }
}
