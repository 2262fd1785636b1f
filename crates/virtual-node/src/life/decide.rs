//! The decision about one uid.

use jiff::Timestamp;

use super::decision::{Action, Decision};
use super::observed::{Observed, SETTLED, is_settled};
use super::{deleting, living};

/// What is to be done about one uid.
pub fn decide(observed: &Observed<'_>, now: Timestamp) -> Decision {
    // Without a list of Pods, each export would be one without a Pod.
    if observed.views.pods.is_none() {
        return Decision::default();
    }
    match (observed.local(), observed.export) {
        (Some(pod), export) => match pod.deletion {
            Some(deletion) => deleting::decide(observed, pod, deletion, export, now),
            None => living::decide(observed, pod, export, now),
        },
        (None, Some(export)) if !export.deleting => without_pod(observed),
        (None, _) => Decision::default(),
    }
}

/// An export without a Pod: a user has removed the Pod without waiting, or it went while the agent was away. How many of these are
/// stopped at once is limited by [`leftover`](super::leftover).
fn without_pod(observed: &Observed<'_>) -> Decision {
    if is_settled(observed.views.pods) {
        Decision::of([Action::Stop { grace_seconds: 0 }])
    } else {
        Decision::wait(SETTLED.saturating_sub(observed.views.pods.unwrap_or_default()))
    }
}
