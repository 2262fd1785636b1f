//! A Pod that is being deleted. It is removed once nothing of it runs, and not before.

use std::time::Duration;

use fleet_api::events;
use jiff::Timestamp;

use super::decision::{Action, Decision, Notice};
use super::observed::{ExportState, Observed, SETTLED, is_settled};
use super::stop_after;
use crate::pod::{Deletion, LocalPod};
use crate::status::translate;

/// Time between two Events about a Pod whose end is not confirmed.
const REMINDER: Duration = Duration::from_mins(5);

pub(super) fn decide(
    observed: &Observed<'_>,
    pod: &LocalPod,
    deletion: Deletion,
    export: Option<&ExportState>,
    now: Timestamp,
) -> Decision {
    match export {
        None => without_export(observed, pod),
        Some(export) if export.released => released(observed, pod, export, now),
        Some(_) if has_ended(observed) => remove(pod),
        Some(export) if is_asked(export, deletion) => wait(observed, deletion, now),
        Some(_) => Decision::of([stop(deletion)]),
    }
}

/// Whether the executor is to stop it within this time already.
fn is_asked(export: &ExportState, deletion: Deletion) -> bool {
    let asked = export.spec.stop_grace_seconds;
    export.deleting && asked.is_some_and(|asked| asked <= deletion.grace_seconds)
}

fn stop(deletion: Deletion) -> Action {
    Action::Stop { grace_seconds: deletion.grace_seconds.max(0) }
}

/// A Pod that never started there is removed at once. Of any other the hub would have the export, unless it has lost it: so the
/// absence has to last.
fn without_export(observed: &Observed<'_>, pod: &LocalPod) -> Decision {
    let exports = observed.views.exports;
    if exports.is_some_and(|_| pod.start_time.is_none()) || is_settled(exports) {
        return remove(pod);
    }
    if observed.node.abandoned {
        return remove(pod);
    }
    Decision::wait(SETTLED.saturating_sub(exports.unwrap_or_default()))
}

fn remove(pod: &LocalPod) -> Decision {
    Decision::of([Action::Remove { uid: pod.uid.clone() }])
}

/// Its last status is written first: how its containers ended.
fn released(
    observed: &Observed<'_>,
    pod: &LocalPod,
    export: &ExportState,
    now: Timestamp,
) -> Decision {
    let node = observed.node;
    let last = export
        .remote
        .as_ref()
        .and_then(|remote| translate(pod, remote, &node.executor, &node.ranges, node.link, now));
    let last = last.map(|status| Action::Status(Box::new(status)));
    let message = format!("cluster {} has nothing of it any more", node.executor);
    let notice = Action::Notify(Notice { reason: events::RELEASED, warning: false, message });
    let remove = Action::Remove { uid: pod.uid.clone() };
    Decision::of(last.into_iter().chain([notice, remove]))
}

/// Whether it has ended although the executor has not confirmed that.
fn has_ended(observed: &Observed<'_>) -> bool {
    let node = observed.node;
    node.abandoned || stop_after::has_ended(node.terms.disconnect, node.silent)
}

fn wait(observed: &Observed<'_>, deletion: Deletion, now: Timestamp) -> Decision {
    let node = observed.node;
    let ends = stop_after::ends_in(node.terms.disconnect, node.silent);
    let grace = Duration::from_secs(deletion.grace_seconds.max(0).unsigned_abs());
    let since = Duration::try_from(now.duration_since(deletion.requested)).unwrap_or_default();
    let waited = since.saturating_sub(grace);
    let since_last = Duration::from_secs(waited.as_secs() % REMINDER.as_secs());
    let next = REMINDER.saturating_sub(since_last);
    let next = ends.map_or(next, |ends| ends.min(next));
    if waited < REMINDER {
        return Decision::wait(next);
    }
    let message = format!("cluster {} has not confirmed that it has ended", node.executor);
    let notice = Notice { reason: events::WAITING_FOR_EXECUTOR, warning: true, message };
    Decision::of([Action::Notify(notice)]).again(next)
}
