//! When a status is written.

use std::time::Duration;

use super::translate::DesiredStatus;
use crate::pod::LocalPod;

/// Least time between two writes for one Pod that can wait.
const PAUSE: Duration = Duration::from_secs(1);

/// When a status is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Now.
    Now,
    /// After this time.
    After(Duration),
}

/// When a new status of a Pod is written, by the time since the last write. At once if traffic or a controller depends on it: a
/// Pod that is not ready any more, or another phase.
pub fn pace(pod: &LocalPod, desired: &DesiredStatus, since_last: Option<Duration>) -> Pace {
    let was_ready = pod.conditions.iter().any(|one| one.type_ == "Ready" && one.status);
    let urgent = pod.phase != desired.phase || (was_ready && !desired.is_ready());
    let rest = since_last.and_then(|since| PAUSE.checked_sub(since));
    match rest.filter(|rest| !urgent && !rest.is_zero()) {
        Some(rest) => Pace::After(rest),
        None => Pace::Now,
    }
}
