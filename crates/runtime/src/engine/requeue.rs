//! From failures to the time of the next attempt.

use super::freshness::Freshness;
use crate::queue::Requeue;
use crate::writer::{Class, Failure};

/// When a key is planned again.
pub(super) fn requeue(failures: &[Failure], freshness: Freshness) -> Requeue {
    if let Some(pause) = failures.iter().filter_map(|failure| failure.retry_after).max() {
        return Requeue::After(pause);
    }
    let all = |is: fn(Class) -> bool| failures.iter().all(|failure| is(failure.class));
    if freshness == Freshness::Stale {
        Requeue::Backoff
    } else if failures.is_empty() && freshness == Freshness::Current {
        Requeue::Forget
    } else if all(Class::is_stale_view) {
        Requeue::Immediate
    } else if all(Class::is_about_content) {
        Requeue::MaxBackoff
    } else {
        Requeue::Backoff
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn of(classes: &[Class]) -> Requeue {
        let failure = |class: &Class| Failure {
            step: 0,
            class: *class,
            retry_after: (*class == Class::Throttled).then_some(Duration::from_secs(3)),
            message: String::new(),
        };
        requeue(&classes.iter().map(failure).collect::<Vec<_>>(), Freshness::Current)
    }

    #[test]
    fn each_class_has_its_pace() {
        for (classes, expected) in [
            (&[][..], Requeue::Forget),
            (&[Class::Conflict, Class::AlreadyExists, Class::NotFound], Requeue::Immediate),
            (&[Class::Invalid, Class::Denied], Requeue::MaxBackoff),
            // An API server that has just started forbids everything until it has read its roles.
            (&[Class::Forbidden], Requeue::Backoff),
            (&[Class::Invalid, Class::Forbidden], Requeue::Backoff),
            (&[Class::Transient], Requeue::Backoff),
            (&[Class::Occupied], Requeue::Backoff),
            (&[Class::Unauthorized], Requeue::Backoff),
            (&[Class::NamespaceMissing], Requeue::Backoff),
            (&[Class::NotLeader], Requeue::Backoff),
            // One that may soon succeed is not slowed down by a hopeless one, nor hurried.
            (&[Class::Forbidden, Class::Transient], Requeue::Backoff),
            (&[Class::Forbidden, Class::Conflict], Requeue::Backoff),
            (&[Class::Conflict, Class::Throttled], Requeue::After(Duration::from_secs(3))),
        ] {
            assert_eq!(of(classes), expected, "{classes:?}");
        }
    }

    #[test]
    fn a_view_that_is_behind_is_not_settled() {
        assert_eq!(requeue(&[], Freshness::Stale), Requeue::Backoff);
    }

    #[test]
    fn a_server_that_says_something_else_is_planned_on_again() {
        assert_eq!(requeue(&[], Freshness::Diverged), Requeue::Immediate);
    }
}
