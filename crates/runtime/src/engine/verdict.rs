//! From failures to the time of the next attempt.

use super::settle::View;
use crate::queue::Verdict;
use crate::writer::{Class, Failure};

/// When a key is planned again.
pub(super) fn verdict(failures: &[Failure], view: View) -> Verdict {
    if let Some(pause) = failures.iter().filter_map(|failure| failure.retry_after).max() {
        return Verdict::Hold(pause);
    }
    let all = |is: fn(Class) -> bool| failures.iter().all(|failure| is(failure.class));
    if view == View::IsBehind {
        Verdict::Failed
    } else if failures.is_empty() && view == View::Shows {
        Verdict::Settled
    } else if all(Class::is_stale_view) {
        Verdict::Again
    } else if all(Class::is_about_content) {
        Verdict::Slow
    } else {
        Verdict::Failed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn of(classes: &[Class]) -> Verdict {
        let failure = |class: &Class| Failure {
            step: 0,
            class: *class,
            retry_after: (*class == Class::Throttled).then_some(Duration::from_secs(3)),
            message: String::new(),
        };
        verdict(&classes.iter().map(failure).collect::<Vec<_>>(), View::Shows)
    }

    #[test]
    fn each_class_has_its_pace() {
        for (classes, expected) in [
            (&[][..], Verdict::Settled),
            (&[Class::Conflict, Class::AlreadyExists, Class::NotFound], Verdict::Again),
            (&[Class::Invalid, Class::Denied], Verdict::Slow),
            // An API server that has just started forbids everything until it has read its roles.
            (&[Class::Forbidden], Verdict::Failed),
            (&[Class::Invalid, Class::Forbidden], Verdict::Failed),
            (&[Class::Transient], Verdict::Failed),
            (&[Class::Unauthorized], Verdict::Failed),
            (&[Class::NamespaceMissing], Verdict::Failed),
            (&[Class::NotLeader], Verdict::Failed),
            // One that may soon succeed is not slowed down by a hopeless one, nor hurried.
            (&[Class::Forbidden, Class::Transient], Verdict::Failed),
            (&[Class::Forbidden, Class::Conflict], Verdict::Failed),
            (&[Class::Conflict, Class::Throttled], Verdict::Hold(Duration::from_secs(3))),
        ] {
            assert_eq!(of(classes), expected, "{classes:?}");
        }
    }

    #[test]
    fn a_view_that_is_behind_is_not_settled() {
        assert_eq!(verdict(&[], View::IsBehind), Verdict::Failed);
    }

    #[test]
    fn a_server_that_says_something_else_is_planned_on_again() {
        assert_eq!(verdict(&[], View::Differs), Verdict::Again);
    }
}
