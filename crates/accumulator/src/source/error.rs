//! What a failure of a watch means for its source.

use std::sync::Arc;

use kube::runtime::watcher;

/// What to conclude from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// 403 on `list` or `watch`.
    Forbidden(&'static str),
    /// 404: perhaps the kind is not served.
    NotFound,
    /// The watch ran out of history and lists again by itself.
    Expired,
    /// The watch cannot be resumed: only a fresh list helps. `watcher` would retry for ever.
    Unresumable,
    /// An event that cannot be read is lost; only a fresh list brings it back.
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
            Self::Unresumable => "unresumable",
            Self::Undecodable | Self::UndecodableList => "undecodable",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// A failure of a list or a watch.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) class: Class,
    pub(crate) message: Arc<str>,
}

const LIST: &str = "list";
const WATCH: &str = "watch";

impl From<&watcher::Error> for Failure {
    fn from(error: &watcher::Error) -> Self {
        let class = match error {
            watcher::Error::InitialListFailed(error) => match code(error) {
                Some(403) => Class::Forbidden(LIST),
                Some(404) => Class::NotFound,
                None if matches!(error, kube::Error::SerdeError(_)) => Class::UndecodableList,
                _ => Class::Failed,
            },
            watcher::Error::WatchStartFailed(error) => match code(error) {
                Some(403) => Class::Forbidden(WATCH),
                Some(404) => Class::NotFound,
                Some(400 | 410 | 422) => Class::Unresumable,
                _ => Class::Failed,
            },
            watcher::Error::WatchError(status) => match status.code {
                403 => Class::Forbidden(WATCH),
                404 => Class::NotFound,
                410 => Class::Expired,
                _ => Class::Failed,
            },
            watcher::Error::WatchFailed(error) => match (error, code(error)) {
                (kube::Error::SerdeError(_), _) => Class::Undecodable,
                (_, Some(403)) => Class::Forbidden(WATCH),
                _ => Class::Interrupted,
            },
            watcher::Error::NoResourceVersion => Class::Unresumable,
        };
        Self { class, message: describe(error).into() }
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        Self { class: Class::Failed, message: describe(&error).into() }
    }
}

/// The text of an error and of what caused it: of a refused connection or certificate the error
/// itself contains "client error (Connect)" only.
fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        source = error.source();
    }
    text
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

    fn class(error: &watcher::Error) -> Class {
        Failure::from(error).class
    }

    #[test]
    fn the_cause_is_told() {
        let refused = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "port 1 is shut");
        let wrapped = std::io::Error::other(refused);
        let error = watcher::Error::WatchFailed(kube::Error::ReadEvents(wrapped));
        let text = describe(&error);
        assert_eq!(text.matches("port 1 is shut").count(), 1, "{text}");
    }

    #[test]
    fn every_refusal_has_its_meaning() {
        use watcher::Error::{InitialListFailed, WatchError, WatchFailed, WatchStartFailed};
        assert_eq!(class(&InitialListFailed(api(403))), Class::Forbidden("list"));
        assert_eq!(class(&InitialListFailed(api(404))), Class::NotFound);
        assert_eq!(class(&InitialListFailed(api(500))), Class::Failed);
        assert_eq!(class(&InitialListFailed(api(410))), Class::Failed);
        assert_eq!(class(&WatchStartFailed(api(403))), Class::Forbidden("watch"));
        for code in [400, 410, 422] {
            assert_eq!(class(&WatchStartFailed(api(code))), Class::Unresumable);
        }
        let gone = Status { code: 410, ..Status::default() };
        assert_eq!(class(&WatchError(Box::new(gone))), Class::Expired);
        let bad = serde_json::from_str::<u8>("x").unwrap_err();
        assert_eq!(class(&WatchFailed(kube::Error::SerdeError(bad))), Class::Undecodable);
    }
}
