//! When the status of an import is written.

use std::time::Duration;

use fleet_api::offload::{PodImportStatus, RemoteStatus};

/// Least time between two writes for one Pod that can wait.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a status waits: not at all if traffic or a controller depends on it, else for a second after the last write.
pub(super) fn rest(
    before: &PodImportStatus,
    after: &PodImportStatus,
    since_last: Option<Duration>,
) -> Option<Duration> {
    let is_ready = |status: &RemoteStatus| {
        status.conditions.iter().any(|one| one.type_ == "Ready" && one.status)
    };
    let short = |status: &PodImportStatus| {
        let remote = status.remote.as_ref();
        let ready = remote.is_some_and(is_ready);
        let shown = remote.map(|remote| (remote.phase, remote.loss, remote.pod_ips.clone()));
        (status.rejected.clone(), status.released, shown, ready)
    };
    let rest = since_last.and_then(|since| PAUSE.checked_sub(since))?;
    (short(before) == short(after) && !rest.is_zero()).then_some(rest)
}
