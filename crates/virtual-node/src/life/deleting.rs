//! A Pod that is being deleted. It is removed once nothing of it runs, and not before.

use std::time::Duration;

use fleet_api::conditions::offload_reasons::WAITING_FOR_CONFIG;
use fleet_api::events;
use fleet_api::offload::{Disconnect, Refusal};
use jiff::Timestamp;

use super::decision::{Action, Decision, Notice};
use super::export::to_be_stopped;
use super::observed::{ExportState, Observed, SETTLED, is_settled, is_unreported};
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
        None => without_export(observed, pod, deletion),
        Some(export) if export.released => released(observed, pod, export, now),
        Some(export) if has_ended(observed, export) => unconfirmed(observed, pod),
        Some(export) if is_asked(export, deletion) => wait(observed, export, deletion, now),
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

/// A Pod that was never given to the executor is removed at once. Of any other the hub would have the export, unless it has lost
/// it: so the absence has to last. After that the executor of one that has started is asked once more, since only that knows
/// whether anything of it runs.
fn without_export(observed: &Observed<'_>, pod: &LocalPod, deletion: Deletion) -> Decision {
    let exports = observed.views.exports;
    if observed.node.abandoned || exports.is_some_and(|_| !was_exported(pod)) {
        return remove(pod);
    }
    if !is_settled(exports) {
        return Decision::wait(SETTLED.saturating_sub(exports.unwrap_or_default()));
    }
    if pod.start_time.is_some() && !pod.phase.is_terminal() {
        let export = to_be_stopped(observed, pod, deletion.grace_seconds);
        return Decision::of([Action::Export(Box::new(export))]);
    }
    remove(pod)
}

/// Whether a Pod was given to the executor, as its status shows: that has the agent's conditions, and is not that of a Pod which
/// does not cross.
fn was_exported(pod: &LocalPod) -> bool {
    let reason = pod.reason.as_deref().unwrap_or_default();
    let is_held = reason == WAITING_FOR_CONFIG
        || Refusal::ALL.iter().any(|refusal| refusal.as_str() == reason);
    let is_shown = pod.conditions.iter().any(|condition| condition.type_ == "ContainersReady");
    pod.start_time.is_some() || is_shown && !is_held
}

fn remove(pod: &LocalPod) -> Decision {
    Decision::of([Action::Remove { uid: pod.uid.clone() }])
}

/// It is removed although its executor has not confirmed that it has ended.
fn unconfirmed(observed: &Observed<'_>, pod: &LocalPod) -> Decision {
    let node = observed.node;
    let why = if node.abandoned { "is given up" } else { "stops it by itself" };
    let message = format!("removed without a confirmation: cluster {} {why}", node.executor);
    let notice = Notice { reason: events::RELEASED, warning: true, message };
    Decision::of([Action::Notify(notice), Action::Remove { uid: pod.uid.clone() }])
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
fn has_ended(observed: &Observed<'_>, export: &ExportState) -> bool {
    let node = observed.node;
    node.abandoned || stop_after::has_ended(agreed(export), node.silent)
}

/// What was agreed on for this Pod. An executor that has reported an earlier version of it may not know the present one. One that has
/// reported nothing knows none that agrees on something else: before the first report that [is not changed](is_unreported). But it
/// may run the Pod on what was agreed on another hub, or after it had refused another version.
fn agreed(export: &ExportState) -> Disconnect {
    let is_known = match &export.remote {
        Some(remote) => remote.observed_hash == export.spec.spec_hash,
        None => is_unreported(export) && !export.spec.resumed,
    };
    if is_known { export.spec.disconnect } else { Disconnect::default() }
}

fn wait(
    observed: &Observed<'_>,
    export: &ExportState,
    deletion: Deletion,
    now: Timestamp,
) -> Decision {
    let node = observed.node;
    let ends = stop_after::ends_in(agreed(export), node.silent);
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
