//! A Pod that is not being deleted.

use fleet_api::conditions::offload_reasons as reasons;
use fleet_api::events;
use fleet_api::offload::{
    PodExportSpec, PodPhase, Refusal, RemoteLoss, RemoteStatus, VirtualNodePhase,
};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::decision::{Action, Decision, Notice};
use super::export::{not_taken, refused, wanted};
use super::observed::{ExportState, Observed, is_unreported};
use crate::pod::{LocalPod, Rejection};
use crate::status::{pending, translate};

pub(super) fn decide(
    observed: &Observed<'_>,
    pod: &LocalPod,
    export: Option<&ExportState>,
    now: Timestamp,
) -> Decision {
    match export {
        _ if pod.phase.is_terminal() => ended(export),
        Some(export) if export.deleting || export.released => lost(observed, pod, export, now),
        Some(export) => exported(observed, pod, export, now),
        None => not_exported(observed, pod, now),
    }
}

/// A Pod that has failed or succeeded stays so. What is left of one that was lost is stopped, since its replacement needs the place.
fn ended(export: Option<&ExportState>) -> Decision {
    let remote = export.filter(|export| !export.deleting).and_then(|one| one.remote.as_ref());
    match remote.and_then(|remote| remote.loss) {
        Some(_) => Decision::of([Action::Stop { grace_seconds: 0 }]),
        None => Decision::default(),
    }
}

/// Another client has deleted the export: once the executor has stopped the Pod, it has failed. It is not exported again.
fn lost(observed: &Observed<'_>, pod: &LocalPod, export: &ExportState, now: Timestamp) -> Decision {
    if !export.released {
        // Its containers are ending, and get no traffic any more.
        return Decision::of(shown(observed, pod, export, now));
    }
    let last = export.remote.clone().unwrap_or_default();
    let loss = last.loss.or(Some(RemoteLoss::Deleted));
    let remote = RemoteStatus { loss, ..last };
    Decision::of(status(observed, pod, &remote, now))
}

fn not_exported(observed: &Observed<'_>, pod: &LocalPod, now: Timestamp) -> Decision {
    // It may be on the hub: an export would be a conflict, but no second Pod.
    if observed.views.exports.is_none() {
        return Decision::default();
    }
    // One that has run there is exported again, since the hub has lost it; a new one is not.
    let is_new = pod.start_time.is_none();
    if is_new && observed.node.phase != VirtualNodePhase::Accepted {
        return refused(pod, &Rejection::new(Refusal::NotOffered, "spec.nodeName"), now);
    }
    match wanted(observed, pod, now) {
        Ok(spec) => export_it(pod, spec, now),
        // A hub that was built anew may have no terms yet.
        Err(_) if !is_new && observed.node.phase == VirtualNodePhase::Offered => {
            Decision::default()
        }
        Err(obstacle) => obstacle,
    }
}

fn export_it(pod: &LocalPod, spec: PodExportSpec, now: Timestamp) -> Decision {
    let text = format!("waits for cluster {}", spec.executor);
    let message = format!("exported to cluster {}", spec.executor);
    let status = pending(pod, reasons::WAITING_FOR_EXECUTOR, &text, now);
    let notice = Notice { reason: events::EXPORTED, warning: false, message };
    let export = Action::Export(Box::new(spec));
    let status = status.map(|status| Action::Status(Box::new(status)));
    Decision::of([export].into_iter().chain(status).chain([Action::Notify(notice)]))
}

fn exported(
    observed: &Observed<'_>,
    pod: &LocalPod,
    export: &ExportState,
    now: Timestamp,
) -> Decision {
    let wanted = match wanted(observed, pod, now) {
        Ok(wanted) => wanted,
        // What runs goes on: a source that was deleted, or terms that were changed, stop no Pod.
        Err(_) if export.accepted => return Decision::of(shown(observed, pod, export, now)),
        Err(obstacle) => return obstacle,
    };
    // What a silent executor may be doing is known only while it cannot know of two agreements.
    if is_unreported(export) && wanted.disconnect != export.spec.disconnect {
        return Decision::default();
    }
    // A hub that was restored may have it as it was before the Pod ran.
    if wanted.resumed && !export.spec.resumed && !export.accepted {
        return Decision::of([Action::Update(Box::new(wanted))]);
    }
    if wanted.spec_hash != export.spec.spec_hash {
        let resized =
            export.remote.is_some() && resources(&wanted.pod.0).ne(resources(&export.spec.pod.0));
        let message =
            format!("resources of a Pod that runs do not change in cluster {}", wanted.executor);
        let resized = resized.then(|| notice(events::REJECTED_BY_POLICY, message));
        let update = Action::Update(Box::new(wanted));
        let shown = shown(observed, pod, export, now);
        return Decision::of([update].into_iter().chain(shown).chain(resized));
    }
    match &export.rejected {
        Some(report) if report.hash == wanted.spec_hash => {
            let rejection = Rejection::reported(report);
            // What was refused of a Pod that runs is the change: it goes on as it was, and is shown as it is.
            if export.remote.as_ref().is_some_and(has_begun) {
                let shown = shown(observed, pod, export, now);
                return Decision::of(shown.into_iter().chain([not_taken(&rejection)]));
            }
            refused(pod, &rejection, now)
        }
        _ => Decision::of(shown(observed, pod, export, now)),
    }
}

/// Whether a node has it there, or had it: a Pod that only waits there for its config maps waits for what is refused.
fn has_begun(remote: &RemoteStatus) -> bool {
    remote.start_time.is_some() || remote.phase != PodPhase::Pending || remote.loss.is_some()
}

/// What its containers request, which no executor changes in place.
fn resources(spec: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let containers = spec.get("containers").and_then(Value::as_array).into_iter().flatten();
    containers.map(|container| &container["resources"])
}

fn shown(
    observed: &Observed<'_>,
    pod: &LocalPod,
    export: &ExportState,
    now: Timestamp,
) -> Vec<Action> {
    match &export.remote {
        Some(remote) => status(observed, pod, remote, now).collect(),
        None => Vec::new(),
    }
}

fn status(
    observed: &Observed<'_>,
    pod: &LocalPod,
    remote: &RemoteStatus,
    now: Timestamp,
) -> impl Iterator<Item = Action> + use<> {
    let node = observed.node;
    let desired = translate(pod, remote, &node.executor, &node.ranges, node.link, now);
    let refused = desired.as_ref().and_then(|desired| desired.refused_address.as_ref());
    let refused = refused.map(|address| {
        let executor = &node.executor;
        let message = format!("address {address} is not in a range of cluster {executor}");
        notice(events::REMOTE_ADDRESS_REFUSED, message)
    });
    let failed =
        desired.as_ref().filter(|desired| remote.loss.is_some() && desired.phase.is_terminal());
    let failed = failed
        .map(|desired| notice(events::REMOTE_FAILED, desired.message.clone().unwrap_or_default()));
    let status = desired.map(|desired| Action::Status(Box::new(desired)));
    status.into_iter().chain(refused).chain(failed)
}

fn notice(reason: &'static str, message: String) -> Action {
    Action::Notify(Notice { reason, warning: true, message })
}
